// What a server can do to the client for addresses that customers choose: no answer holds it for ever, or much of its memory.
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import type { ClientRequest } from 'node:http'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createOutbound, OutboundError } from '../../../runtime/outbound.ts'
import { eventually } from '../../setup/eventually.ts'

let server: Server
let port = 0
let reply: (socket: Socket) => void = () => undefined
const open = new Set<Socket>()

beforeAll(async () => {
  server = createServer((socket) => {
    open.add(socket)
    socket.on('error', () => undefined)
    socket.once('data', () => reply(socket))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  port = (server.address() as AddressInfo).port
})
afterAll(() => {
  for (const socket of open) socket.destroy()
  server.close()
})

const get = (more: { bytesMax?: number; signal?: AbortSignal } = {}) =>
  createOutbound({ mayConnect: () => true })({
    method: 'GET',
    url: new URL(`http://127.0.0.1:${port}/`),
    headers: {},
    body: null,
    timeout_ms: 60_000,
    bytesMax: 1_000,
    ...more,
  })

test('an answer that changes the protocol is none', async () => {
  reply = (socket) =>
    socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n')
  const fault = await get().catch((err: unknown) => err instanceof OutboundError && err.fault)
  expect(fault).toBe('connection')
})

test('a body that ends with its connection is whole', async () => {
  reply = (socket) => socket.end(`HTTP/1.1 200 OK\r\n\r\n${'x'.repeat(300_000)}`)
  const { body, isCut } = await get({ bytesMax: 300_000 })
  expect([body.length, isCut]).toEqual([300_000, false])
})

test('who has given up already gets no answer', async () => {
  const lookup = () => new Promise<string[]>(() => undefined)
  const asked = createOutbound({ mayConnect: () => true, lookup })({
    method: 'GET',
    url: new URL('http://a.test/'),
    headers: {},
    body: null,
    timeout_ms: 60_000,
    bytesMax: 1_000,
    signal: AbortSignal.abort(new Error('enough')),
  })
  await expect(asked).rejects.toThrow('enough')
})

test('a body in very many parts takes no more memory than one in few', async () => {
  const requests: ClientRequest[] = []
  const onRequest = (message: unknown) =>
    void requests.push((message as { request: ClientRequest }).request)
  subscribe('http.client.request.start', onRequest)
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as () => void
  const bytes = 200_000
  const parts = '1\r\nx\r\n'.repeat(bytes)
  reply = (socket) => socket.write(`HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${parts}`)
  gc()
  const before = process.memoryUsage().heapUsed
  const asked = get({ bytesMax: 256 * 1024 })
  await eventually(() => expect(requests[0]?.socket?.bytesRead ?? 0).toBeGreaterThan(parts.length))
  gc()
  const kept = process.memoryUsage().heapUsed - before
  for (const socket of open) socket.end('0\r\n\r\n')
  const { body } = await asked
  unsubscribe('http.client.request.start', onRequest)
  expect(body.equals(Buffer.alloc(bytes, 'x'))).toBe(true)
  expect(kept).toBeLessThan(5_000_000)
})
