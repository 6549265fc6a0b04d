// Strangers on the port with TLS from the first byte who do not end their handshakes: they have the places and the time of strangers.
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { connect as tlsConnect } from 'node:tls'
import { expect, onTestFinished, test } from 'vitest'
import { guardRules } from '../../inbound/submission/guard.ts'
import { listenerRules } from '../../inbound/submission/listener.ts'
import { createTestApi } from '../setup/api.ts'
import { startTestSubmission } from '../setup/submission.ts'
import { certificateFiles } from '../unit/inbound/certificate.ts'

const api = await createTestApi()

async function listen(stranger_ms: number) {
  const { files, certificate } = certificateFiles()
  const listen = { tlsCert: files.cert, tlsKey: files.key, tlsPort: 0 }
  const times = { stranger_ms, message_ms: 60_000 }
  const { tlsPort } = await startTestSubmission(api, { ...listen, times }, onTestFinished)
  return { port: tlsPort ?? 0, ca: certificate }
}

/** Connections that say nothing. */
async function crowdOf(count: number, port: number, localAddress: string): Promise<Socket[]> {
  const crowd = Array.from({ length: count }, () => {
    const socket = connect({ port, host: '127.0.0.1', localAddress })
    return socket.on('error', () => undefined)
  })
  onTestFinished(() => {
    for (const socket of crowd) socket.destroy()
  })
  await Promise.all(crowd.map((socket) => once(socket, 'connect')))
  return crowd
}

test('many of one client take no place from another client', { timeout: 60_000 }, async () => {
  const { port, ca } = await listen(60_000)
  const crowd = await crowdOf(listenerRules.connectionsMax, port, '127.0.0.2')
  const socket = tlsConnect({ port, host: '127.0.0.1', ca, servername: 'localhost' })
  onTestFinished(() => void socket.destroy())
  const [banner] = (await once(socket, 'data')) as [Buffer]
  expect(banner.toString()).toMatch(/^220 /)
  const left = () => crowd.filter((one) => !one.destroyed).length
  await expect.poll(left).toBe(guardRules.strangersPerClientMax)
})

test('one that lasts is ended, whatever it trickles, and its place is free', {
  timeout: 60_000,
}, async () => {
  const { port } = await listen(1_000)
  for (let round = 0; round < 2; round++) {
    const crowd = await crowdOf(guardRules.strangersPerClientMax, port, '127.0.0.3')
    // The beginning of a record of TLS that never ends.
    for (const socket of crowd) socket.write(Buffer.from([22, 3, 1, 1]))
    for (const socket of crowd) if (!socket.destroyed) await once(socket, 'close')
  }
})

test('one whose handshake is over has the time of a stranger too', {
  timeout: 60_000,
}, async () => {
  const { port, ca } = await listen(1_000)
  const socket = tlsConnect({ port, host: '127.0.0.1', ca, servername: 'localhost' })
  onTestFinished(() => void socket.destroy())
  socket.on('error', () => undefined).resume()
  await once(socket, 'secureConnect')
  await once(socket, 'close')
})
