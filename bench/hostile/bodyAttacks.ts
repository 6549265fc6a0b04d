// Attacks by bodies and sockets: shapes that take minutes to parse, large html, slow bodies, sockets that say nothing.
import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { type Attack, inLoops } from './attack.ts'
import { createAgent, send } from './client.ts'

const MEGABYTE = 1_000_000
const SHAPE_BYTES = 120 * MEGABYTE
const HTML_BYTES = 39 * MEGABYTE
const LARGE_AT_ONCE = 12
const LARGE_EVERY_MS = 20_000
const IDLE_SOCKETS = 500
const SLOW_SOCKETS = 100
const TURN_MS = 1_000

const filled = (unit: string, bytes: number) => unit.repeat(Math.floor(bytes / unit.length))

/** Bodies of 120 MB that hold nothing but brackets. */
export const emptyShapes: Attack = async ({ port, key, from }, count, stop) => {
  const list = `[${filled('{},', SHAPE_BYTES)}{}]`
  const metadata = `{"from":${JSON.stringify(from)},"to":"x@example.test","subject":"x","text":"x","metadata":[${filled('[],', SHAPE_BYTES)}[]]}`
  const bodies = [Buffer.from(list), Buffer.from(metadata)]
  const agent = createAgent(3)
  await inLoops(3, stop, async (serial) => {
    const body = bodies[serial % bodies.length] ?? ''
    count((await send(agent, { port, path: '/v1/emails', key, body })).status)
  })
  agent.destroy()
}

/** Twelve mails of 39 MB at a time. Each is a mail that may be sent. */
export const largeMails: Attack = async ({ port, key, from }, count, stop) => {
  const line = '<p class="note">A line of a long newsletter, "quoted" and all that.</p>\n'
  const html = filled(line, HTML_BYTES)
  const mail = { from, to: 'large@example.test', subject: 'large', html }
  const body = Buffer.from(JSON.stringify(mail))
  const agent = createAgent(LARGE_AT_ONCE)
  while (!stop.aborted) {
    const answers = Array.from({ length: LARGE_AT_ONCE }, () =>
      send(agent, { port, path: '/v1/emails', key, body }),
    )
    for (const { status } of await Promise.all(answers)) count(status)
    await pause(LARGE_EVERY_MS, undefined, { signal: stop }).catch(() => undefined)
  }
  agent.destroy()
}

/** Sockets that send nothing, or a body of a byte each second, and are opened again when the service cuts them. */
export const slowSockets: Attack = async ({ port, key }, count, stop) => {
  const head = `POST /v1/emails HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n`
  const open = (text: string, name: string): Socket => {
    const socket = connect({ port, host: '127.0.0.1' })
    socket.on('error', () => undefined)
    socket.on('data', (answer) => count(`${name} ${answer.toString('latin1', 9, 12)}`))
    socket.on('close', () => count(`${name} cut`))
    if (text !== '') socket.write(text)
    return socket
  }
  const opened = [
    ...Array.from({ length: IDLE_SOCKETS }, () => ({ text: '', name: 'idle' })),
    ...Array.from({ length: SLOW_SOCKETS }, () => ({ text: head, name: 'slow' })),
  ].map((kind) => ({ ...kind, socket: open(kind.text, kind.name) }))
  while (!stop.aborted) {
    await pause(TURN_MS)
    for (const one of opened) {
      if (one.socket.destroyed) one.socket = open(one.text, one.name)
      else if (one.text !== '') one.socket.write(' ')
    }
  }
  for (const { socket } of opened) socket.destroy()
}
