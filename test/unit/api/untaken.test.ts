// Answers that their clients do not read: the connection is cut, and others of the workspace wait.
import { connect, type Socket } from 'node:net'
import type { HttpBindings } from '@hono/node-server'
import { Hono } from 'hono'
import { afterEach, describe, expect, it } from 'vitest'
import { type AnswerRules, createAnswers } from '../../../api/http/answers.ts'
import { ApiError } from '../../../api/http/errors.ts'
import { serverRules } from '../../../api/http/server.ts'
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
function ask(port: number, path = '/', { method = 'GET', times = 1 } = {}): Socket {
  const socket = connect(port, '127.0.0.1').on('error', () => undefined)
  closers.push(() => socket.destroy())
  socket.write(`${method} ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n`.repeat(times))
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
  /** Made only as fast as it is taken, and never whole. */
  const endless = () =>
    new Response(
      new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(64 * 1024)) }),
    )

  it.each([
    ['takes nothing', large, undefined],
    ['takes nothing and goes on writing', large, '\r\n'],
    ['takes nothing of an answer that is being made', endless, undefined],
  ])('that %s is closed', async (_, answer, written) => {
    const { port, open, close } = await serve(answer, { untaken_ms: 400 })
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

describe('requests on one connection', () => {
  it('are answered while few wait for each other, and end it when they are too many', async () => {
    const { port, close } = await serve(() => new Response('x'))
    closers.push(close)
    const { requestsPerConnectionMax: max } = serverRules
    const served = async (times: number) => {
      const socket = ask(port, '/', { times })
      let text = ''
      let isClosed = false
      socket.on('data', (bytes: Buffer) => {
        text += bytes.toString('latin1')
      })
      socket.on('close', () => {
        isClosed = true
      })
      const count = () => text.split('HTTP/1.1 200').length - 1
      await eventually(() => expect(count() === times || isClosed).toBe(true))
      return isClosed
    }
    expect([await served(max), await served(max + 1)]).toEqual([false, true])
  })
})

describe('the memory of answers', () => {
  /** Answers `/workspace/bytes`; of `slow` ones when `finish` was called. */
  async function serveAnswers(rules: Partial<AnswerRules> = {}) {
    const answers = createAnswers({
      untakenBytesMax: 30 * MEBIBYTE,
      untakenBytesMaxOfAll: 50 * MEBIBYTE,
      alwaysBytes: 0,
      unmadeBytes: 4 * MEBIBYTE,
      untakenWait_ms: 500,
      untakenFreeBytes: 64 * 1024,
      untakenWaitersMax: 10,
      untakenLook_ms: 50,
      ...rules,
    })
    let finish: () => void = () => undefined
    const finished = new Promise<void>((resolve) => {
      finish = resolve
    })
    const app = new Hono<{ Bindings: HttpBindings }>()
    app.all('/:workspace/:bytes', async (c) => {
      const { workspace, bytes } = c.req.param()
      await answers.begin(workspace, c.env.outgoing, c.req.method === 'GET')
      if (bytes === 'slow') await finished
      return c.text('x'.repeat(bytes === 'slow' ? 10 : Number(bytes)))
    })
    app.onError((err, c) => c.text(err.message, err instanceof ApiError ? err.status : 500))
    const { port, close } = await serve(app.fetch)
    closers.push(close)
    return { port, state: answers.state, finish }
  }
  const mebibytes = (wanted: number) => ({ untaken: wanted * MEBIBYTE, waiting: 0 })

  it('keeps who has not read its answers from being made more, and nobody else', async () => {
    const { port, state } = await serveAnswers()
    const sockets = [ask(port, `/a/${LARGE_BYTES}`), ask(port, `/a/${LARGE_BYTES}`)]
    await eventually(() => expect(state().untaken).toBeGreaterThan(30 * MEBIBYTE))
    expect(await statusOf(ask(port, '/a/10'))).toBe(503)
    expect(await statusOf(ask(port, '/a/10', { method: 'POST' })), 'one that writes').toBe(200)
    expect(await statusOf(ask(port, '/b/10'))).toBe(200)
    const waits = ask(port, '/a/10')
    await eventually(() => expect(state().waiting).toBe(1))
    const gone = ask(port, '/a/10')
    await eventually(() => expect(state().waiting).toBe(2))
    gone.destroy()
    await eventually(() => expect(state().waiting).toBe(1))
    sockets[0]?.destroy()
    expect(await statusOf(waits)).toBe(200)
    sockets[1]?.destroy()
    await eventually(() => expect(state()).toEqual(mebibytes(0)))
  })

  it('counts what a request that writes is answered as well', async () => {
    const { port, state } = await serveAnswers()
    ask(port, `/a/${LARGE_BYTES}`, { method: 'POST' })
    await eventually(() => expect(state().untaken).toBeGreaterThan(20 * MEBIBYTE))
    ask(port, `/a/${LARGE_BYTES}`, { method: 'POST' })
    await eventually(() => expect(state().untaken).toBeGreaterThan(40 * MEBIBYTE))
    expect(await statusOf(ask(port, '/a/10'))).toBe(503)
  })

  it('counts an answer that is not made yet, so that not all of them begin at once', async () => {
    const { port, state, finish } = await serveAnswers({ untakenWait_ms: 20_000 })
    const sockets = Array.from({ length: 10 }, () => ask(port, '/a/slow'))
    await eventually(() => expect(state()).toEqual({ untaken: 28 * MEBIBYTE, waiting: 3 }))
    const other = ask(port, '/b/slow')
    await eventually(() => expect(state()).toEqual({ untaken: 32 * MEBIBYTE, waiting: 3 }))
    finish()
    const statuses = await Promise.all([...sockets, other].map(statusOf))
    expect(new Set(statuses)).toEqual(new Set([200]))
    await eventually(() => expect(state()).toEqual(mebibytes(0)))
  })

  it('leaves each workspace one answer, however much the others have not taken', async () => {
    const { port, state, finish } = await serveAnswers()
    for (const workspace of ['a', 'b']) ask(port, `/${workspace}/${LARGE_BYTES}`)
    await eventually(() => expect(state().untaken).toBeGreaterThan(47 * MEBIBYTE))
    const first = ask(port, '/c/slow')
    await eventually(() => expect(state().untaken).toBeGreaterThan(51 * MEBIBYTE))
    expect(await statusOf(ask(port, '/c/10'))).toBe(503)
    finish()
    expect(await statusOf(first)).toBe(200)
    expect(await statusOf(ask(port, '/c/10'))).toBe(200)
  })

  it('leaves each workspace what is always its own, however much the others have not taken', async () => {
    const { port, state, finish } = await serveAnswers({ alwaysBytes: 16 * MEBIBYTE })
    for (const workspace of ['a', 'b']) ask(port, `/${workspace}/${LARGE_BYTES}`)
    await eventually(() => expect(state().untaken).toBeGreaterThan(47 * MEBIBYTE))
    const sockets = Array.from({ length: 4 }, () => ask(port, '/c/slow'))
    await eventually(() => expect(state().untaken).toBeGreaterThan(63 * MEBIBYTE))
    expect(await statusOf(ask(port, '/c/10'))).toBe(503)
    finish()
    expect(await Promise.all(sockets.map(statusOf))).toEqual([200, 200, 200, 200])
  })

  it('counts at most a share of all for one workspace', async () => {
    const { port, state } = await serveAnswers({ untakenBytesMax: 20 * MEBIBYTE })
    ask(port, `/a/${2 * LARGE_BYTES}`)
    await eventually(() => expect(state().untaken).toBeGreaterThan(47 * MEBIBYTE))
    const sockets = [ask(port, '/b/slow'), ask(port, '/b/slow')]
    await eventually(() => expect(state().untaken).toBeGreaterThan(55 * MEBIBYTE))
    expect(sockets.map(({ destroyed }) => destroyed)).toEqual([false, false])
  })

  it('lets few of one workspace wait, and refuses further ones at once', async () => {
    const { port, state } = await serveAnswers({ untakenWait_ms: 60_000, untakenWaitersMax: 2 })
    for (let i = 0; i < 9; i++) ask(port, '/a/slow')
    await eventually(() => expect(state().waiting).toBe(2))
    expect(await statusOf(ask(port, '/a/10'))).toBe(503)
  })

  it('has everything back when a connection ends on which answers wait for each other', async () => {
    const { port, state } = await serveAnswers()
    const socket = ask(port, `/a/${LARGE_BYTES / 4}`, { times: 4 })
    await eventually(() => expect(state().untaken).toBeGreaterThan(20 * MEBIBYTE))
    socket.destroy()
    await eventually(() => expect(state()).toEqual(mebibytes(0)))
  })
})
