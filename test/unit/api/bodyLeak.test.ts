// Memory for bodies is given back whole, whatever becomes of a request: answered, refused, broken off, or waiting.
import type { AddressInfo } from 'node:net'
import { Hono } from 'hono'
import { expect, it } from 'vitest'
import { createBodyReader } from '../../../api/http/bodies/read.ts'
import { bodyRules } from '../../../api/http/bodies/rules.ts'
import type { ApiEnv } from '../../../api/http/env.ts'
import { createHttpServer } from '../../../api/http/server.ts'
import { limits } from '../../../rules/limits.ts'
import { eventually } from '../../setup/eventually.ts'
import { head, openRaw } from '../../setup/rawHttp.ts'

const MEBIBYTE = 1024 * 1024
const REQUESTS = 2_000
const AT_ONCE = 50

it('is whole again after thousands of bodies that were broken off in every way', async () => {
  const reader = createBodyReader({
    ...bodyRules,
    processBytesMax: 40 * MEBIBYTE,
    workspaceBytesMax: 40 * MEBIBYTE,
  })
  const seen = { used: 0, waiting: 0 }
  const rules = { bodyBytesMax: limits.emailRequestBytesMax }
  const app = new Hono<ApiEnv>()
  app.post('*', async (c) => {
    const body = await reader.read(c, c.req.path, rules)
    const { used, waiting } = reader.budget.state()
    seen.used = Math.max(seen.used, used)
    seen.waiting = Math.max(seen.waiting, waiting)
    body.release()
    return c.text('read')
  })
  app.onError((_err, c) => c.text('refused', 400))
  const server = createHttpServer(app.fetch).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo

  const breakOff = async (i: number) => {
    const connection = await openRaw(port)
    const isChunked = i % 3 === 0
    const length = isChunked
      ? { 'transfer-encoding': 'chunked' }
      : { 'content-length': 70_000 + (i % 5) * MEBIBYTE }
    const begun = head(`/${i % 4}`, 'key', length) + (isChunked ? '20000\r\n' : '')
    await connection.write(begun + ' '.repeat(1 + (i % 8) * 15_000))
    if (i % 2) connection.socket.destroy()
    else connection.socket.end()
    await connection.closed()
  }
  for (let i = 0; i < REQUESTS; i += AT_ONCE) {
    await Promise.all(Array.from({ length: AT_ONCE }, (_, k) => breakOff(i + k)))
  }
  await eventually(() => expect(reader.budget.state()).toEqual({ used: 0, waiting: 0 }))
  expect(seen.used).toBeGreaterThan(0)
  server.close()
  server.closeAllConnections()
})
