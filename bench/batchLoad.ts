// A process that posts batches and repeated requests to the API over connections that it keeps open.
import { createConnections, postRequest } from './httpConnection.ts'
import { type LoadBounds, type LoadResult, runLoad } from './load.ts'
import { BATCH, batchEmailJson, emailBody, eventBody } from './payloads.ts'
import { serve } from './remote.ts'

/** The JSON of an event, in pieces. */
const eventJson = (serial: number) => [Buffer.from(JSON.stringify(eventBody(serial)))]

const batches = {
  emails: { path: '/v1/emails/batch', item: batchEmailJson, status: 200 },
  events: { path: '/v1/automation/events/batch', item: eventJson, status: 202 },
} as const

export type BatchKind = keyof typeof batches

const COMMA = Buffer.from(',')
const END = Buffer.from(']}')

const connectionsOf = createConnections()

/** The bytes of a request with an Idempotency-Key. */
function keyedRequest(key: string, name: string, body: string): string {
  const plain = postRequest({ path: '/v1/emails', key }, body).toString('latin1')
  return plain.replace('\r\n', `\r\nIdempotency-Key: ${name}\r\n`)
}

const handlers = {
  /** Posts batches of `BATCH`. @returns how many of them */
  async batches(input: {
    kind: BatchKind
    port: number
    key: string
    bounds: LoadBounds
    /** Number of the first item. */
    from: number
  }): Promise<LoadResult> {
    const { kind, port, key, bounds, from } = input
    const { path, item, status } = batches[kind]
    const open = await connectionsOf(port, bounds.loops)
    return runLoad(bounds, async (serial, loop) => {
      const pieces: Buffer[] = [Buffer.from(`{"${kind}":[`)]
      for (let i = 0; i < BATCH; i++) {
        if (i > 0) pieces.push(COMMA)
        pieces.push(...item(from + serial * BATCH + i))
      }
      const request = postRequest({ path, key }, [...pieces, END])
      const answer = await open[loop]?.send(request)
      if (answer?.status !== status) throw new Error(`${path}: ${answer?.body.slice(0, 300)}`)
    })
  },

  /** Posts emails with keys of their own, one at a time. @returns ms of one, on average */
  async keyed(input: { port: number; key: string; from: number; count: number }): Promise<number> {
    const [connection] = await connectionsOf(input.port, 1)
    const begin = performance.now()
    for (let serial = input.from; serial < input.from + input.count; serial++) {
      const body = JSON.stringify(emailBody(serial))
      const answer = await connection?.send(keyedRequest(input.key, `bench-${serial}`, body))
      if (answer?.status !== 200) throw new Error(`a keyed email: ${answer?.body.slice(0, 300)}`)
    }
    return (performance.now() - begin) / input.count
  },
}

export type BatchLoad = typeof handlers

serve(handlers)
