// A process that posts to the API over kept connections, as many at a time as it is told.
import { type HttpConnection, openHttp, postRequest } from './httpConnection.ts'
import { type LoadBounds, type LoadResult, runLoad } from './load.ts'
import { emailBody, eventBody } from './payloads.ts'
import { serve } from './remote.ts'

const kinds = {
  events: { path: '/v1/automation/events', body: eventBody, status: 202 },
  emails: { path: '/v1/emails', body: emailBody, status: 200 },
} as const

export type LoadKind = keyof typeof kinds

/** Kept from run to run, as an application keeps its own. */
let connections: HttpConnection[] = []

async function keepConnections(port: number, wanted: number): Promise<void> {
  connections = connections.filter((connection) => connection.isOpen())
  while (connections.length < wanted) connections.push(await openHttp(port))
}

const handlers = {
  /** Posts until the bound, to one port all the time; any answer but the expected one ends the run with an error. */
  async run(input: {
    kind: LoadKind
    port: number
    key: string
    bounds: LoadBounds
    /** Number of the first body; no two runs of a benchmark share one. */
    from: number
  }): Promise<LoadResult> {
    const { kind, port, key, bounds, from } = input
    const { path, body, status } = kinds[kind]
    await keepConnections(port, bounds.loops)
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
