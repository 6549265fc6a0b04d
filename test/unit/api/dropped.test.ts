// Connections that are closed because there are too many are counted, and told of once a minute.
import type { AddressInfo } from 'node:net'
import { connect, Socket } from 'node:net'
import { afterEach, expect, test, vi } from 'vitest'
import { createDropped, type Dropped, type DroppedBy } from '../../../api/http/dropped.ts'
import { createHttpServer, serverRules } from '../../../api/http/server.ts'
import { eventually } from '../../setup/eventually.ts'

afterEach(() => void vi.useRealTimers())

test('the first one is told at once, and all others of a minute at its end', () => {
  vi.useFakeTimers()
  const told: Dropped[] = []
  const dropped = createDropped((counts) => void told.push(counts))
  dropped('process')
  for (let i = 0; i < 100; i++) dropped(i % 2 === 0 ? 'process' : 'address')
  expect(told).toEqual([{ process: 1, address: 0, requests: 0 }])
  vi.advanceTimersByTime(60_000)
  expect(told.slice(1)).toEqual([{ process: 50, address: 50, requests: 0 }])
  vi.advanceTimersByTime(3 * 60_000)
  expect(told).toHaveLength(2)
  dropped('address')
  expect(told.slice(2)).toEqual([{ process: 0, address: 1, requests: 0 }])
})

test.each<[DroppedBy, object]>([
  ['process', { connectionsMax: 1 }],
  ['address', { connectionsPerClientMax: 1 }],
])('the server says that there were too many of the %s', async (by, rules) => {
  const dropped: DroppedBy[] = []
  const server = createHttpServer(() => new Response('x'), {
    rules: { ...serverRules, ...rules },
    onDropped: (which) => void dropped.push(which),
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const sockets = [0, 1].map(() => connect(port, '127.0.0.1').on('error', () => undefined))
  await eventually(() => expect(dropped).toEqual([by]))
  for (const socket of sockets) socket.destroy()
  await new Promise((resolve) => server.close(resolve))
})

test('nearly too many: one between two requests makes room, one that has just come does not', async () => {
  const server = createHttpServer(() => new Response('x'), {
    rules: { ...serverRules, connectionsMax: 2 },
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const open = () => {
    const socket = connect(port, '127.0.0.1').on('error', () => undefined)
    const seen = { answers: 0, isClosed: false }
    socket.on('data', () => {
      seen.answers += 1
    })
    socket.on('close', () => {
      seen.isClosed = true
    })
    return { seen, ask: () => socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n'), socket }
  }
  const idle = open()
  idle.ask()
  await eventually(() => expect(idle.seen.answers).toBe(1))
  const fresh = open()
  await eventually(() => expect(idle.seen.isClosed).toBe(true))
  fresh.ask()
  await eventually(() => expect(fresh.seen.answers).toBe(1))
  fresh.socket.destroy()
  await new Promise((resolve) => server.close(resolve))
})

test('all addresses of a /64 together have the connections of one client', () => {
  const dropped: DroppedBy[] = []
  const server = createHttpServer(() => new Response('x'), {
    rules: { ...serverRules, connectionsPerClientMax: 3 },
    onDropped: (which) => void dropped.push(which),
  })
  const open = (remoteAddress: string) => {
    const socket = Object.defineProperty(new Socket(), 'remoteAddress', { value: remoteAddress })
    server.emit('connection', socket)
  }
  for (let i = 1; i < 6; i++) open(`2001:db8:0:1::${i}`)
  expect(dropped).toEqual(['address', 'address'])
  open('2001:db8:0:2::1')
  expect(dropped).toHaveLength(2)
})
