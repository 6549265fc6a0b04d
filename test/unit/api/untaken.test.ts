// Answers that their clients do not read: the connection is cut, and others of the workspace wait.
import { connect, type Socket } from 'node:net'
import type { HttpBindings } from '@hono/node-server'
import { Hono } from 'hono'
import { afterEach, describe, expect, it } from 'vitest'
import { createAnswers } from '../../../api/http/answers.ts'
import { ApiError } from '../../../api/http/errors.ts'
import { MEBIBYTE } from '../../../rules/limits.ts'
import { eventually } from '../../setup/eventually.ts'
import { serve } from '../../setup/serving.ts'

/** More than the system keeps for a connection. */
const LARGE_BYTES = 24 * MEBIBYTE

const closers: (() => void)[] = []
afterEach(() => {
  for (const close of closers.splice(0)) close()
})

/** Asks for a path, and reads nothing. */
function ask(port: number, path = '/'): Socket {
  const socket = connect(port, '127.0.0.1').on('error', () => undefined)
  closers.push(() => socket.destroy())
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`)
  return socket
}

/** The status of the answer, once its head was read. */
async function statusOf(socket: Socket): Promise<number> {
  let text = ''
  socket.on('data', (bytes: Buffer) => {
    if (text.length < 100) text += bytes.toString('latin1')
  })
  await eventually(() => expect(text).toMatch(/^HTTP/))
  return Number(text.slice(9, 12))
}

describe('the connection of a client', () => {
  const large = () => new Response('x'.repeat(LARGE_BYTES))

  it.each([
    ['takes nothing', undefined],
    ['takes nothing and goes on writing', '\r\n'],
  ])('that %s is closed', async (_, written) => {
    const { port, open, close } = await serve(large, { untaken_ms: 400 })
    closers.push(close)
    const socket = ask(port)
    const writing = setInterval(() => written && socket.write(written), 50)
    closers.push(() => clearInterval(writing))
    await eventually(async () => expect(await open()).toBe(1))
    await eventually(async () => expect(await open()).toBe(0), { deadline_ms: 5_000 })
  })

  it('that reads slowly stays open', async () => {
    const { port, close } = await serve(large, { untaken_ms: 1_000 })
    closers.push(close)
    const socket = ask(port)
    let bytes = 0
    let isClosed = false
    socket.on('close', () => {
      isClosed = true
    })
    const began = performance.now()
    socket.on('data', (piece: Buffer) => {
      bytes += piece.length
      socket.pause()
      setTimeout(() => socket.resume(), 10)
    })
    await eventually(() => expect(bytes > LARGE_BYTES || isClosed).toBe(true))
    expect(bytes).toBeGreaterThan(LARGE_BYTES)
    expect(performance.now() - began, 'slower than what is asked for').toBeGreaterThan(2_000)
  })
})

describe('the memory of answers', () => {
  /** Answers `/workspace/bytes`; `?known` asks for room for them before. */
  async function serveAnswers() {
    const answers = createAnswers({
      untakenBytesMax: 30 * MEBIBYTE,
      untakenBytesMaxOfAll: 50 * MEBIBYTE,
      untakenWait_ms: 500,
      untakenFreeBytes: 64 * 1024,
    })
    const app = new Hono<{ Bindings: HttpBindings }>()
    app.get('/:workspace/:bytes', async (c) => {
      const { workspace, bytes } = c.req.param()
      const answer = answers.of(workspace, c.env.outgoing)
      await answer.room(0)
      if (c.req.query('known') !== undefined) await answer.room(Number(bytes))
      return c.text('x'.repeat(Number(bytes)))
    })
    app.onError((err, c) => c.text(err.message, err instanceof ApiError ? err.status : 500))
    const { port, close } = await serve(app.fetch)
    closers.push(close)
    return { port, state: answers.state }
  }
  const untaken = (wanted: number) => ({ untaken: wanted, waiting: 0 })

  it('keeps who has not read its answers from being made more, and nobody else', async () => {
    const { port, state } = await serveAnswers()
    const sockets = [ask(port, `/a/${LARGE_BYTES}`), ask(port, `/a/${LARGE_BYTES}`)]
    await eventually(() => expect(state().untaken).toBeGreaterThan(30 * MEBIBYTE))
    expect(await statusOf(ask(port, '/a/10'))).toBe(503)
    expect(await statusOf(ask(port, '/b/10'))).toBe(200)
    const waits = ask(port, '/a/10')
    await eventually(() => expect(state().waiting).toBe(1))
    sockets[0]?.destroy()
    expect(await statusOf(waits)).toBe(200)
    sockets[1]?.destroy()
    await eventually(() => expect(state()).toEqual(untaken(0)))
  })

  it('is asked for before an answer that is known to be large is made', async () => {
    const { port, state } = await serveAnswers()
    const first = ask(port, `/a/${LARGE_BYTES}?known`)
    await eventually(() => expect(state()).toEqual(untaken(LARGE_BYTES)))
    expect(await statusOf(ask(port, `/a/${LARGE_BYTES}?known`)), 'of its workspace').toBe(503)
    const other = ask(port, `/b/${LARGE_BYTES}?known`)
    await eventually(() => expect(state()).toEqual(untaken(2 * LARGE_BYTES)))
    expect(await statusOf(ask(port, `/c/${LARGE_BYTES}?known`)), 'of all').toBe(503)
    expect(await statusOf(ask(port, '/c/10'))).toBe(200)
    const gone = ask(port, `/a/${LARGE_BYTES}?known`)
    await eventually(() => expect(state().waiting).toBe(1))
    gone.destroy()
    await eventually(() => expect(state().waiting).toBe(0))
    const waits = ask(port, `/a/${LARGE_BYTES}?known`)
    await eventually(() => expect(state().waiting).toBe(1))
    first.destroy()
    expect(await statusOf(waits)).toBe(200)
    for (const socket of [other, waits]) socket.destroy()
    await eventually(() => expect(state()).toEqual(untaken(0)))
  })
})
