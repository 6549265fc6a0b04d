// A process with endpoints for webhooks: one that answers 200, and one that never answers. It is fast enough not to limit the
// measurement.
import { createServer, type Server, type Socket } from 'node:net'
import { serve } from './remote.ts'

const ANSWER = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'
const HEAD_END = Buffer.from('\r\n\r\n', 'latin1')
/** Of the data of an event, when it was told of, in ms. */
const TOLD_AT = /"told_at": ?(\d+)/

let received = 0
let awaited: { count: number; resolve: () => void } | null = null
/** From when an event was told of until it came, ms; of those alone that say when. */
let latencies: number[] = []
const silent = new Set<Socket>()

function note(body: string): void {
  received += 1
  const told = TOLD_AT.exec(body)?.[1]
  if (told !== undefined) latencies.push(Date.now() - Number(told))
  if (!awaited || received < awaited.count) return
  awaited.resolve()
  awaited = null
}

function answerAll(socket: Socket): void {
  let rest: Buffer = Buffer.alloc(0)
  socket.setNoDelay(true)
  socket.on('error', () => undefined)
  socket.on('data', (chunk: Buffer) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    for (;;) {
      const end = rest.indexOf(HEAD_END)
      if (end < 0) return
      const head = rest.toString('latin1', 0, end)
      const from = end + HEAD_END.length
      const until = from + Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0)
      if (rest.length < until) return
      note(rest.toString('latin1', from, until))
      rest = rest.subarray(until)
      socket.write(ANSWER)
    }
  })
}

function answerNothing(socket: Socket): void {
  silent.add(socket)
  socket.on('error', () => undefined)
  socket.on('close', () => silent.delete(socket))
  socket.resume()
}

function listen(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      resolve(typeof address === 'object' && address ? address.port : 0)
    })
  })
}

const handlers = {
  /** Listens on two free loopback ports. */
  async start(_input: object): Promise<{ port: number; silentPort: number }> {
    return {
      port: await listen(createServer(answerAll)),
      silentPort: await listen(createServer(answerNothing)),
    }
  },
  /** Counts from nothing again. */
  async reset(_input: object): Promise<void> {
    received = 0
    latencies = []
  },
  /** Resolves when so many requests have come since `reset`. */
  async reached({ count }: { count: number }): Promise<void> {
    if (received >= count) return
    await new Promise<void>((resolve) => {
      awaited = { count, resolve }
    })
  },
  /** Of the events since `reset` that say when they were told of. */
  async latencies(_input: object): Promise<number[]> {
    return latencies
  },
  /** Connections that wait for an answer. */
  async silent(_input: object): Promise<number> {
    return silent.size
  },
  /** Ends them. */
  async endSilent(_input: object): Promise<void> {
    for (const socket of silent) socket.destroy()
  },
}

export type WebhookReceiver = typeof handlers

serve(handlers)
