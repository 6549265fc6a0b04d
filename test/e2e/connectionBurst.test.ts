// Many clients connect in the same moment, while the API is frozen: none is kept waiting by the queue of new connections.
import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, inject, onTestFinished, test } from 'vitest'
import { createTestDatabase } from '../setup/database.ts'
import { eventually } from '../setup/eventually.ts'
import { startApi } from '../setup/processes.ts'

const database = await createTestDatabase()

/** More than the queue that Node asks for unless it is told otherwise (511). The system's own bound must be higher. */
const CLIENTS = 1_200

test(`${CLIENTS} clients connect while the API is frozen, and then each is answered`, {
  timeout: 60_000,
}, async () => {
  const api = await startApi({
    databaseUrl: database.url,
    temporalAddress: inject('temporalAddress'),
    temporalNamespace: 'default',
    smtpUrl: 'smtp://127.0.0.1:1',
    env: { API_METRICS_PORT: '0' },
  })
  api.freeze()
  const sockets = Array.from({ length: CLIENTS }, () => connect(api.port, '127.0.0.1'))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
  })
  let connected = 0
  for (const socket of sockets) {
    socket.once('connect', () => {
      connected += 1
    })
  }
  // The system accepts for a frozen process, as many as fit into the queue.
  const text = 'net.core.somaxconn, or the backlog of the API, is too small'
  await eventually(() => expect(connected, text).toBe(CLIENTS), { deadline_ms: 20_000 })
  api.thaw()
  const answers = sockets.map(async (socket) => {
    socket.write('GET /healthz HTTP/1.1\r\nHost: api.test\r\n\r\n')
    const [answer] = await once(socket, 'data')
    return String(answer).slice(0, 15)
  })
  expect(new Set(await Promise.all(answers))).toEqual(new Set(['HTTP/1.1 200 OK']))
})
