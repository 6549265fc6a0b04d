// Connections that end because a body was answered before it was read: the client is told, and loses nothing by it.
import { Agent, request } from 'node:http'
import { Hono } from 'hono'
import { afterEach, expect, it } from 'vitest'
import { eventually } from '../../setup/eventually.ts'
import { head, openRaw } from '../../setup/rawHttp.ts'
import { serve } from '../../setup/serving.ts'

const closers: (() => void)[] = []
afterEach(() => {
  for (const close of closers.splice(0)) close()
})

/** Answers without reading any body, and counts what it was asked. */
async function serveEarly() {
  const asked: string[] = []
  const app = new Hono()
  app.all('*', (c) => {
    asked.push(c.req.path)
    return c.json({ message: 'too large' }, c.req.method === 'GET' ? 200 : 413)
  })
  const served = await serve(app.fetch)
  closers.push(served.close)
  return { ...served, asked }
}

it('says so in the answer, and serves nothing more that comes on the connection', async () => {
  const { port, asked } = await serveEarly()
  const connection = await openRaw(port)
  await connection.write(`${head('/first', '', { 'content-length': 1_000_000 })}begun`)
  await connection.answers()
  expect(connection.received()).toMatch(/^connection: close/im)
  expect(connection.received()).not.toMatch(/^keep-alive:/im)
  await connection.write(' '.repeat(999_995) + head('/second', '', { 'content-length': 0 }))
  await connection.closed()
  expect([asked, connection.statuses()]).toEqual([['/first'], [413]])
})

it('is not said where the body came with its head', async () => {
  const { port } = await serveEarly()
  const connection = await openRaw(port)
  for (let i = 1; i <= 2; i++) {
    await connection.write(`${head('/small', '', { 'content-length': 5 })}12345`)
    await connection.answers(i)
  }
  expect(connection.received()).not.toMatch(/^connection: close/im)
  expect([connection.statuses(), connection.isClosed()]).toEqual([[413, 413], false])
  connection.socket.destroy()
})

it('lets a client that keeps its connections ask again without an error', async () => {
  const { port } = await serveEarly()
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  closers.push(() => agent.destroy())
  const ask = (method: string, bytes: number) =>
    new Promise<number | undefined>((resolve, reject) => {
      const sent = request({ port, host: '127.0.0.1', method, path: '/', agent }, (answer) => {
        answer.resume()
        answer.on('end', () => resolve(answer.statusCode))
      })
      sent.on('error', reject)
      sent.end(bytes > 0 ? Buffer.alloc(bytes) : undefined)
    })
  const statuses: unknown[] = []
  for (let round = 0; round < 10; round++) {
    statuses.push(await ask('POST', 4_000_000), await ask('GET', 0))
  }
  expect(statuses).toEqual(Array(10).fill([413, 200]).flat())
})

it('answers an Expect that nobody knows with 417, and leaves nothing behind', async () => {
  const { port, open, asked } = await serveEarly()
  const connection = await openRaw(port)
  const expectation = { 'content-length': 1_000_000, expect: 'banana', 'x-request-id': 'mine' }
  await connection.write(`${head('/', '', expectation)}begun`)
  await connection.answers()
  expect(connection.statuses()).toEqual([417])
  expect(connection.received()).toMatch(/^connection: close/im)
  expect(connection.received()).toMatch(/^x-request-id: mine\r$/im)
  expect(connection.received()).toContain('{"message":"Expect must be 100-continue, or absent"}')
  await connection.closed()
  await eventually(async () => expect(await open()).toBe(0))
  expect(asked).toEqual([])
})

it('makes an id for a request with such an Expect that has none', async () => {
  const { port } = await serveEarly()
  for (const given of [{}, { 'x-request-id': 'two words' }]) {
    const connection = await openRaw(port)
    await connection.write(head('/', '', { 'content-length': 0, expect: 'banana', ...given }))
    await connection.answers()
    expect(connection.received()).toMatch(/^x-request-id: req_[\w-]{16,}\r$/im)
    await connection.closed()
  }
})
