// Connections are accepted many at a time, each is a usual one of the server, and none is taken after the end.
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { listen } from '../../../api/http/listen.ts'

const CLIENTS = 64

/** Opens connections, all of which wait for the server when the next turn of the event loop begins. */
const open = (port: number) => Array.from({ length: CLIENTS }, () => connect(port, '127.0.0.1'))

async function start() {
  const server = createServer((_, outgoing) => void outgoing.end('hello'))
  const listening = await listen(server, { port: 0, host: '127.0.0.1', backlog: 1_000 })
  return { server, listening, port: (server.address() as AddressInfo).port }
}

test('a crowd is accepted within few turns of the event loop, not one in each', async () => {
  const { server, listening, port } = await start()
  let turn = 0
  let isCounting = true
  const count = () => {
    turn += 1
    if (isCounting) setImmediate(count)
  }
  const turns = new Set<number>()
  let accepted = 0
  const all = new Promise<void>((resolve) => {
    server.on('connection', () => {
      turns.add(turn)
      accepted += 1
      if (accepted === CLIENTS) resolve()
    })
  })
  const sockets = open(port)
  onTestFinished(() => {
    isCounting = false
  })
  count()
  await all
  isCounting = false
  // By one in a turn it would be 64.
  expect(turns.size).toBeLessThan(CLIENTS / 3)
  for (const socket of sockets) socket.destroy()
  await listening.close()
})

test('every one of them is answered, and after the end nobody is accepted', async () => {
  const { server, listening, port } = await start()
  const answers = open(port).map(async (socket) => {
    socket.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
    const [answer] = await once(socket, 'data')
    socket.destroy()
    return String(answer)
  })
  for (const answer of await Promise.all(answers)) expect(answer).toMatch(/^HTTP\/1\.1 200 OK/)
  const ended = listening.close()
  server.closeAllConnections()
  await ended
  const [refused] = await once(connect(port, '127.0.0.1'), 'error')
  expect(refused).toMatchObject({ code: 'ECONNREFUSED' })
})

test('a port that somebody has is said', async () => {
  const { listening, port } = await start()
  const second = listen(createServer(), { port, host: '127.0.0.1', backlog: 10 })
  await expect(second).rejects.toMatchObject({ code: 'EADDRINUSE' })
  await listening.close()
})
