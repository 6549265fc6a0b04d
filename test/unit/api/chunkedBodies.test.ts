// Bodies in chunks, whose size nobody knows: what they are counted with, and clients that go away while they wait.
import { Hono } from 'hono'
import { afterEach, describe, expect, it } from 'vitest'
import { createBodyReader } from '../../../api/http/bodies/read.ts'
import { type BodyRules, bodyRules } from '../../../api/http/bodies/rules.ts'
import type { ApiEnv } from '../../../api/http/env.ts'
import { ApiError } from '../../../api/http/errors.ts'
import { limits, MEBIBYTE } from '../../../rules/limits.ts'
import { eventually } from '../../setup/eventually.ts'
import { head, openRaw, type RawConnection } from '../../setup/rawHttp.ts'
import { serve } from '../../setup/serving.ts'

const closers: (() => void)[] = []
afterEach(() => {
  for (const close of closers.splice(0)) close()
})

/** A server that reads bodies as the API does. The path is the workspace. */
async function serveBodies(rules: Partial<BodyRules> = {}) {
  const reader = createBodyReader({ ...bodyRules, ...rules })
  const app = new Hono<ApiEnv>()
  const bodyBytesMax = limits.emailRequestBytesMax
  app.post('*', async (c) => {
    const body = await reader.read(c, c.req.path, { bodyBytesMax })
    body.release()
    return c.text('read')
  })
  app.onError((err, c) => c.text(err.message, err instanceof ApiError ? err.status : 500))
  const { port, close } = await serve(app.fetch)
  closers.push(close)
  return {
    state: reader.budget.state,
    /** Begins a request and sends the first bytes of its body. */
    async begin(workspace: string, length: number | 'chunked', bytes: number) {
      const connection = await openRaw(port)
      const isChunked = length === 'chunked'
      const headers = isChunked ? { 'transfer-encoding': 'chunked' } : { 'content-length': length }
      await connection.write(head(workspace, 'key', headers))
      await connection.write(isChunked ? chunk(bytes) : ' '.repeat(bytes))
      return connection
    },
  }
}

const chunk = (bytes: number) => `${bytes.toString(16)}\r\n${' '.repeat(bytes)}\r\n`
const END = '0\r\n\r\n'
const used = (wanted: number) => ({ used: wanted * MEBIBYTE, waiting: 0 })

describe('a body in chunks', () => {
  it('is counted as a small one while little of it has come', async () => {
    const { begin, state } = await serveBodies({ wait_ms: 2_000 })
    const slow = [await begin('/a', 'chunked', 100_000), await begin('/b', 'chunked', 100_000)]
    await eventually(() => expect(state()).toEqual(used(4)))
    const other = await begin('/c', 10 * MEBIBYTE, 10 * MEBIBYTE)
    await other.answers()
    expect(other.statuses()).toEqual([200])
    for (const one of slow) {
      await one.write(END)
      await one.answers()
      expect(one.statuses()).toEqual([200])
    }
    expect(state()).toEqual(used(0))
  })

  it('passes two of the largest bodies while it is small', async () => {
    const { begin, state } = await serveBodies({ wait_ms: 2_000 })
    const max = limits.emailRequestBytesMax
    await begin('/a', max, 100_000)
    await begin('/b', max, 100_000)
    await eventually(() => expect(state()).toEqual(used(270)))
    const small = await begin('/c', 'chunked', 100_000)
    await small.write(END)
    await small.answers()
    expect(small.statuses()).toEqual([200])
  })

  it('asks for the rest when more has come, and is told 503 when there is none for it', async () => {
    const { begin, state } = await serveBodies({ workspaceBytesMax: 20 * MEBIBYTE, wait_ms: 500 })
    const first = await begin('/a', 10 * MEBIBYTE, 100_000)
    await eventually(() => expect(state()).toEqual(used(17)))
    const second = await begin('/a', 'chunked', 400_000)
    await second.answers()
    expect([second.statuses(), state()]).toEqual([[503], used(17)])
    first.socket.destroy()
    await eventually(() => expect(state()).toEqual(used(0)))
    const third = await begin('/a', 'chunked', 400_000)
    await eventually(() => expect(state()).toEqual(used(20)))
    await third.write(chunk(3 * MEBIBYTE) + END)
    await third.answers()
    expect([third.statuses(), state()]).toEqual([[200], used(0)])
  })
})

describe('a client that goes away while its body waits for memory', () => {
  /** A workspace whose share is used up. */
  async function full() {
    const served = await serveBodies({ workspaceBytesMax: 20 * MEBIBYTE })
    const first = await served.begin('/a', 13 * MEBIBYTE, 100_000)
    await eventually(() => expect(served.state()).toEqual(used(20)))
    const waits = async (length: number | 'chunked', bytes: number): Promise<RawConnection> => {
      const { waiting } = served.state()
      const connection = await served.begin('/a', length, bytes)
      await eventually(() => expect(served.state().waiting).toBe(waiting + 1))
      return connection
    }
    return { ...served, first, waits }
  }

  it.each([
    ['with its length', 10 * MEBIBYTE],
    ['in chunks', 'chunked'],
  ] as const)('leaves the line, %s', async (_, length) => {
    const { state, waits } = await full()
    const gone = await waits(length, 100_000)
    gone.socket.destroy()
    await eventually(() => expect(state().waiting).toBe(0), { deadline_ms: 5_000 })
  })

  it('gives its turn away at once if it sent so much that nobody could notice', async () => {
    const { begin, state, first, waits } = await full()
    const gone = await waits(10 * MEBIBYTE, 1_000_000)
    gone.socket.destroy()
    const next = begin('/a', 300_000, 300_000)
    await eventually(() => expect(state().waiting).toBe(2))
    first.socket.destroy()
    const answered = await next
    await answered.answers()
    expect([answered.statuses(), state()]).toEqual([[200], used(0)])
  })
})
