// One HTTP request of the load beside attacks and of the attacks themselves; a failed connection is an answer too.
import { Agent, request } from 'node:http'
import type { Socket } from 'node:net'

/** What a client saw: a status, or what became of the connection. */
export interface Seen {
  /** 0: there was no answer. */
  status: number
  body: string
  /** From the call to the end of the answer. */
  took_ms: number
}

export interface Post {
  port: number
  path: string
  key: string
  body?: string | Buffer
  method?: string
  /** The client goes away after this time. */
  leaveAfter_ms?: number
}

/** Connections that are kept open between requests, as applications do. */
export const createAgent = (maxSockets: number) => new Agent({ keepAlive: true, maxSockets })

/**
 * A service that refuses a large body early closes the connection while the client still writes. Between two requests
 * nobody hears of that, and an error that nobody hears of would end this process.
 */
const heard = new WeakSet<Socket>()

function hearErrors(socket: Socket): void {
  if (heard.has(socket)) return
  heard.add(socket)
  socket.on('error', () => undefined)
}

/** Makes one request. Never fails: no answer is status 0, with the fault as body. */
export function send(agent: Agent, post: Post): Promise<Seen> {
  const { port, path, key, body = '', method = 'POST', leaveAfter_ms } = post
  const began = performance.now()
  return new Promise((resolve) => {
    const settle = (status: number, text: string) => {
      clearTimeout(timer)
      resolve({ status, body: text, took_ms: performance.now() - began })
    }
    const made = request({
      agent,
      host: '127.0.0.1',
      port,
      path,
      method,
      headers: {
        authorization: `Bearer ${key}`,
        ...(body.length > 0
          ? { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
          : {}),
      },
    })
    const timer =
      leaveAfter_ms === undefined ? undefined : setTimeout(() => made.destroy(), leaveAfter_ms)
    made.on('socket', hearErrors)
    made.on('error', (err) => settle(0, err.message))
    made.on('response', (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', (err) => settle(0, err.message))
      response.on('end', () => settle(response.statusCode ?? 0, Buffer.concat(chunks).toString()))
    })
    made.end(body)
  })
}
