// Answers through a real listener: sizes, chunks, HEAD, and clients that disconnect.
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { connect } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterAll, expect, it } from 'vitest'
import { createHttpServer } from '../../api/http/server.ts'
import { limits } from '../../rules/limits.ts'
import { createTestApi, insertTestDomain } from '../setup/api.ts'
import { eventually } from '../setup/eventually.ts'
import { listen } from '../setup/listening.ts'
import { head, openRaw, told } from '../setup/rawHttp.ts'
import { describeTables } from '../setup/tables.ts'

const api = await createTestApi()
await insertTestDomain(api, 'sender.test')
const server = createHttpServer(api.app.fetch).listen(0, '127.0.0.1')
await new Promise((resolve) => server.once('listening', resolve))
const { port } = server.address() as AddressInfo
afterAll(() => server.close())

interface Told {
  status: number
  headers: IncomingHttpHeaders
  text: string
}

/** Makes one request; `write` sends its body, and may stop in the middle. */
function ask(
  method: string,
  path: string,
  headers: Record<string, string | number>,
  write: (chunk: (text: string) => void, end: () => void) => void = (_, end) => end(),
): Promise<Told> {
  return new Promise((resolve, reject) => {
    const auth = { authorization: `Bearer ${api.key}`, 'content-type': 'application/json' }
    const sent = httpRequest(
      { host: '127.0.0.1', port, method, path, headers: { ...auth, ...headers } },
      (answer) => {
        let text = ''
        answer.on('data', (chunk) => {
          text += chunk
        })
        answer.on('end', () =>
          resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text }),
        )
      },
    )
    sent.on('error', reject)
    write(
      (text) => sent.write(text),
      () => sent.end(),
    )
  })
}

it.each(['/v1/emails', '/v1/audiences', '/v1/automation/events'])(
  'says 413 to a stated length over the limit of %s before anything is sent',
  async (path) => {
    const max = path === '/v1/emails' ? limits.emailRequestBytesMax : limits.requestBytesMax
    const answer = await ask('POST', path, { 'content-length': max + 1 }, (write) => write('{'))
    expect([answer.status, JSON.parse(answer.text).code]).toEqual([413, 'body_too_large'])
    expect(answer.headers['x-request-id']).toMatch(/./)
  },
)

it('answers 413 to chunks that exceed the limit', async () => {
  const chunk = ' '.repeat(64 * 1024)
  const answer = await ask('POST', '/v1/audiences', {}, (write, end) => {
    for (let bytes = 0; bytes <= limits.requestBytesMax; bytes += chunk.length) write(chunk)
    end()
  })
  expect([answer.status, JSON.parse(answer.text).code]).toEqual([413, 'body_too_large'])
})

it('accepts chunks that make a valid body', async () => {
  const body = '{"from":"a@sender.test","to":"b@example.test","subject":"Hi","text":"é"}'
  const answer = await ask('POST', '/v1/emails', {}, (write, end) => {
    for (const letter of body) write(letter)
    end()
  })
  expect([answer.status, JSON.parse(answer.text).status]).toEqual([200, 'queued'])
})

it('answers 415 to a body of another type, but not to a request without a body', async () => {
  const text = { 'content-type': 'text/plain' }
  const refused = await ask('POST', '/v1/audiences', text, (write, end) => {
    write('{"name":"x"}')
    end()
  })
  expect([refused.status, JSON.parse(refused.text).code]).toEqual([415, 'unsupported_media_type'])
  expect((await ask('GET', '/v1/audiences', text)).status).toBe(200)
  const empty = await ask('POST', '/v1/audiences', { ...text, 'content-length': 0 })
  expect([empty.status, JSON.parse(empty.text).code]).toEqual([415, 'unsupported_media_type'])
  const auth = { authorization: `Bearer ${api.key}` }
  const url = `http://127.0.0.1:${port}/v1/audiences`
  const bare = await fetch(url, { method: 'POST', headers: auth })
  expect([bare.status, await bare.json()]).toEqual([
    400,
    { message: 'Invalid JSON payload', code: 'invalid_json' },
  ])
})

it.each([
  'application/json;',
  'application/json ; charset=utf-8',
  'application/json; a="b;c"',
  'application/problem2+json',
])('takes JSON as %j on every route', async (type) => {
  const statuses = await Promise.all(
    ['/v1/audiences', '/v1/emails'].map(async (path) => {
      const answer = await ask('POST', path, { 'content-type': type }, (write, end) => {
        write('{"name":"x","from":"a@sender.test","to":"b@example.test","subject":"Hi","text":"x"}')
        end()
      })
      return answer.status
    }),
  )
  expect(statuses).toEqual([201, 200])
})

it('says 415 to a body that is compressed, before it looks for JSON in it', async () => {
  for (const path of ['/v1/audiences', '/v1/emails']) {
    const zipped = gzipSync('{"name":"x"}')
    const refused = await fetch(`http://127.0.0.1:${port}${path}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${api.key}`,
        'content-type': 'application/json',
        'content-encoding': 'gzip',
      },
      body: zipped,
    })
    expect([refused.status, await refused.json()]).toEqual([
      415,
      {
        message: 'Content-Encoding must be absent, not "gzip": bodies are sent as they are',
        code: 'unsupported_media_type',
      },
    ])
  }
  const plain = { 'content-encoding': 'identity' }
  const taken = await ask('POST', '/v1/audiences', plain, (write, end) => {
    write('{"name":"x"}')
    end()
  })
  expect(taken.status).toBe(201)
})

it('answers HTTP/1.0 without Host, as load balancers ask for health', async () => {
  const connection = await openRaw(port)
  await connection.write('GET /healthz HTTP/1.0\r\n\r\n')
  await connection.closed()
  expect([connection.statuses(), connection.received()]).toEqual([
    [200],
    expect.stringMatching(/\r\n\r\n\{"status":"ok"\}$/),
  ])
})

it.each(['* HTTP/1.1\r\nhost: x', '/healthz HTTP/1.1\r\nhost: a b', '/\\ HTTP/1.1\r\nhost: x'])(
  'says what is wrong with an address that cannot be read: GET %j',
  async (request) => {
    const connection = await openRaw(port)
    await connection.write(`GET ${request}\r\nx-request-id: mine\r\nconnection: close\r\n\r\n`)
    await connection.closed()
    expect([connection.statuses(), connection.received()]).toEqual([
      [400],
      expect.stringMatching(/x-request-id: mine\r\n/i),
    ])
    expect(told(connection).code).toBe('invalid_request')
  },
)

it.each(['host: a.test\r\nHost: b.test', 'Host: a.test\r\nHOST: a.test'])(
  'refuses a request with two headers Host, and does nothing of it: %j',
  async (hosts) => {
    const before = await describeTables(api.db)
    const body = '{"name":"x"}'
    const one = head('/v1/audiences', api.key, { 'content-length': body.length }) + body
    const two = one.replace('host: api.test', `${hosts}\r\nx-request-id: mine`)
    const connection = await openRaw(port)
    // Where a client and a proxy read two requests differently, what comes after them is not to be trusted.
    await connection.write(two + one)
    await connection.closed()
    expect(connection.statuses()).toEqual([400])
    expect(connection.received()).toMatch(/^x-request-id: mine\r\n/im)
    expect(connection.received()).toMatch(/^connection: close\r\n/im)
    expect(told(connection).code).toBe('invalid_request')
    expect(await describeTables(api.db)).toEqual(before)
  },
)

it('sees a second header Host behind however many others', async () => {
  const others = 'a:\r\n'.repeat(3_000)
  const connection = await openRaw(port)
  await connection.write(
    `GET /healthz HTTP/1.1\r\nhost: a.test\r\n${others}host: b.test\r\nconnection: close\r\n\r\n`,
  )
  await connection.closed()
  expect(connection.statuses()).toEqual([400])
  expect(told(connection).code).toBe('invalid_request')
})

it('answers HEAD as GET, without the body', async () => {
  const get = await ask('GET', '/v1/audiences', {})
  const head = await ask('HEAD', '/v1/audiences', {})
  expect([head.status, head.text]).toEqual([200, ''])
  expect(head.headers['content-type']).toBe(get.headers['content-type'])
  expect((await ask('HEAD', '/v1/nothing', {})).status).toBe(404)
})

it('writes nothing if the client disconnects in the middle of a request', async () => {
  const before = await describeTables(api.db)
  for (const head of ['content-length: 500', 'transfer-encoding: chunked']) {
    await new Promise<void>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => {
        const lines = [
          'POST /v1/audiences HTTP/1.1',
          'host: x',
          `authorization: Bearer ${api.key}`,
          'content-type: application/json',
          head,
        ]
        const part = head.startsWith('transfer') ? '10\r\n{"name":"half of' : '{"name":"half of'
        socket.end(`${lines.join('\r\n')}\r\n\r\n${part}`)
      })
      socket.on('close', () => resolve())
      socket.resume()
    })
  }
  expect((await ask('GET', '/v1/audiences', {})).status).toBe(200)
  expect(await describeTables(api.db)).toBe(before)
})

it('shows in its metrics the memory of a body while it comes', async () => {
  const { port, close } = await listen(api)
  const connection = await openRaw(port)
  await connection.write(head('/v1/audiences', api.key, { 'content-length': 200_000 }))
  await connection.write(' '.repeat(100_000))
  const bytes = () => api.registry.getSingleMetricAsString('dripline_api_body_bytes')
  await eventually(async () => expect(await bytes()).toMatch(/dripline_api_body_bytes [1-9]/))
  connection.socket.destroy()
  await eventually(async () => expect(await bytes()).toMatch(/dripline_api_body_bytes 0$/))
  await close()
})
