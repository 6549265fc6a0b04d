// What a server can do to the client for addresses that customers choose: no answer holds it for ever, or much of its memory.
import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createOutbound, OutboundError } from '../../../runtime/outbound.ts'
import { keepConnections } from '../../../runtime/outboundConnections.ts'
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
  let written = false
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as () => void
  const bytes = 200_000
  const parts = '1\r\nx\r\n'.repeat(bytes)
  const head = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n'
  reply = (socket) =>
    socket.write(head + parts, () => {
      written = true
    })
  gc()
  const before = process.memoryUsage().heapUsed
  const asked = get({ bytesMax: 256 * 1024 })
  await eventually(() => expect(written).toBe(true))
  gc()
  const kept = process.memoryUsage().heapUsed - before
  for (const socket of open) socket.end('0\r\n\r\n')
  const { body } = await asked
  expect(body.equals(Buffer.alloc(bytes, 'x'))).toBe(true)
  expect(kept).toBeLessThan(5_000_000)
})

test.each<[string, string]>([
  ['nothing of HTTP', 'SSH-2.0-x\r\n'],
  ['a status that is none', 'HTTP/1.1 abc OK\r\n\r\n'],
  ['a head that never ends', `HTTP/1.1 200 OK\r\n${'x: y\r\n'.repeat(10_000)}`],
  ['two lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab'],
  [
    'a length and parts',
    'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
  ],
  ['parts of no length', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n'],
  ['100 alone', 'HTTP/1.1 100 Continue\r\n\r\n'],
])('an answer of %s is none', async (_, text) => {
  reply = (socket) => socket.end(text)
  const fault = await get().catch((err: unknown) => err instanceof OutboundError && err.fault)
  expect(fault).toBe('connection')
})

test('what comes before an answer is no answer', async () => {
  reply = (socket) =>
    socket.end('HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n')
  expect(await get()).toMatchObject({ status: 204, isCut: false })
})

test('headers that are named like parts of an object harm nothing', async () => {
  const names = ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty']
  for (const name of names) {
    reply = (socket) => socket.end(`HTTP/1.1 200 OK\r\n${name}: a\r\n${name}: b\r\n\r\n`)
    await get().catch((err: unknown) => expect(err).toBeInstanceOf(OutboundError))
  }
  expect(Object.keys(Object.prototype)).toEqual([])
})

test('what a server says after its answer ends its connection, and is no answer to the next request', async () => {
  const connections = keepConnections()
  const post = () =>
    createOutbound({ mayConnect: () => true })({
      ...{ method: 'POST', url: new URL(`http://127.0.0.1:${port}/`), headers: {}, body: 'x' },
      ...{ timeout_ms: 60_000, bytesMax: 100, isStatusEnough: true, connections },
    })
  const whole = 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'
  reply = (socket) => socket.write(whole + whole.replace('200', '410'))
  expect(await post()).toMatchObject({ status: 200 })
  reply = (socket) => socket.write(whole.replace('200', '201'))
  expect(await post()).toMatchObject({ status: 201 })
  connections.close()
})
