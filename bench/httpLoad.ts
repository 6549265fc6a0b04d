// A process that posts requests to the API over a given number of connections, which it keeps open.
import { createConnections, postRequest } from './httpConnection.ts'
import { type LoadBounds, type LoadResult, runLoad } from './load.ts'
import { emailBody, eventBody } from './payloads.ts'
import { serve } from './remote.ts'

const kinds = {
  events: { path: '/v1/automation/events', body: eventBody, status: 202 },
  emails: { path: '/v1/emails', body: emailBody, status: 200 },
} as const

export type LoadKind = keyof typeof kinds

const connectionsOf = createConnections()

const handlers = {
  /**
   * Posts until a bound is reached. An unexpected answer ends the run with an error. All runs must use the same
   * port.
   */
  async run(input: {
    kind: LoadKind
    port: number
    key: string
    bounds: LoadBounds
    /** Number of the first body. No two runs of a benchmark may use the same numbers. */
    from: number
  }): Promise<LoadResult> {
    const { kind, port, key, bounds, from } = input
    const { path, body, status } = kinds[kind]
    const connections = await connectionsOf(port, bounds.loops)
    return runLoad(bounds, async (serial, loop) => {
      const connection = connections[loop]
      if (!connection) throw new Error('more loops than connections')
      const request = postRequest({ path, key }, JSON.stringify(body(from + serial)))
      const answer = await connection.send(request)
      if (answer.status !== status) {
        throw new Error(`${path} answered ${answer.status}: ${answer.body.slice(0, 300)}`)
      }
    })
  },
}

export type HttpLoad = typeof handlers

serve(handlers)
