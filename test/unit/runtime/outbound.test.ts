// The client for addresses that customers choose: which it connects to, and what it says when it does not.
// Long because each way in which an address can be wrong is tried.
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isPublicAddress } from '../../../mail/dns/publicAddresses.ts'
import { createOutbound, type OutboundDeps, OutboundError } from '../../../runtime/outbound.ts'
import { keepConnections } from '../../../runtime/outboundConnections.ts'

let server: Server
let port = 0
const seen: { method: string; url: string; headers: IncomingMessage['headers']; body: string }[] =
  []
let answer: (res: ServerResponse) => void = (res) => res.end('ok')

beforeAll(async () => {
  server = createServer(async (req, res) => {
    let body = ''
    for await (const part of req) body += part
    const { method = '', url = '', headers } = req
    seen.push({ method, url, headers, body })
    answer(res)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  port = (server.address() as AddressInfo).port
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

const anything: OutboundDeps = { mayConnect: () => true }
const usual = { method: 'GET', headers: {}, body: null, timeout_ms: 60_000, bytesMax: 1_000 }
const get = (url: string, deps = anything, more = {}) =>
  createOutbound(deps)({ ...usual, url: new URL(url), ...more })
const faultOf = async (asked: Promise<unknown>) => {
  const err = await asked.then(
    () => null,
    (thrown: unknown) => thrown,
  )
  if (!(err instanceof OutboundError)) throw new Error(`no OutboundError: ${err}`)
  return err.fault
}

test('a request arrives as it was described, and its answer comes back', async () => {
  answer = (res) =>
    res.writeHead(201, { 'x-one': 'a', 'set-cookie': ['b=1', 'c=2'] }).end('{"ok":true}')
  const came = await get(`http://127.0.0.1:${port}/a%20b?c=d`, anything, {
    method: 'PUT',
    headers: { 'x-key': 'k' },
    body: 'grüße',
  })
  expect(seen.at(-1)).toMatchObject({
    method: 'PUT',
    url: '/a%20b?c=d',
    headers: { host: `127.0.0.1:${port}`, 'x-key': 'k', 'content-length': '7' },
    body: 'grüße',
  })
  expect(came).toMatchObject({ status: 201, isCut: false })
  expect(came.headers).toMatchObject({ 'x-one': 'a', 'set-cookie': 'b=1, c=2' })
  expect(came.body.toString()).toBe('{"ok":true}')
})

test('a redirect is an answer like any other', async () => {
  const before = seen.length
  answer = (res) => res.writeHead(302, { location: '/elsewhere' }).end()
  expect(await get(`http://127.0.0.1:${port}/`)).toMatchObject({ status: 302 })
  expect(seen).toHaveLength(before + 1)
})

test.each([
  [999, false],
  [1_000, false],
  [1_001, true],
  [500_000, true],
])('of a body of %d bytes up to 1000 are kept', async (bytes, isCut) => {
  answer = (res) => res.end('x'.repeat(bytes))
  const came = await get(`http://127.0.0.1:${port}/`)
  expect([came.body.length, came.isCut]).toEqual([Math.min(bytes, 1_000), isCut])
})

describe('faults', () => {
  test('a server that says nothing', async () => {
    answer = () => undefined
    expect(await faultOf(get(`http://127.0.0.1:${port}/`, anything, { timeout_ms: 50 }))).toBe(
      'timeout',
    )
  })
  test('a server that begins its answer and says no more', async () => {
    answer = (res) => void res.writeHead(200).write('begun')
    expect(await faultOf(get(`http://127.0.0.1:${port}/`, anything, { timeout_ms: 50 }))).toBe(
      'timeout',
    )
  })
  test('a name server that says nothing', async () => {
    const lookup = () => new Promise<string[]>(() => undefined)
    const deps = { ...anything, lookup }
    expect(await faultOf(get('http://a.test/', deps, { timeout_ms: 50 }))).toBe('timeout')
  })
  test('a connection that ends within the answer', async () => {
    answer = (res) => {
      res.writeHead(200, { 'content-length': '50' }).write('begun', () => res.destroy())
    }
    expect(await faultOf(get(`http://127.0.0.1:${port}/`))).toBe('connection')
  })
  test('a port at which nobody listens', async () => {
    const free = createServer()
    await new Promise<void>((resolve) => free.listen(0, '127.0.0.1', resolve))
    const { port: unused } = free.address() as AddressInfo
    await new Promise((resolve) => free.close(resolve))
    expect(await faultOf(get(`http://127.0.0.1:${unused}/`))).toBe('connection')
  })
  test('a host that nobody knows', async () => {
    const lookup = () => Promise.reject(new Error('ENOTFOUND'))
    expect(await faultOf(get('http://a.test/', { ...anything, lookup }))).toBe('unknown_host')
    expect(await faultOf(get('http://a.test/', { ...anything, lookup: async () => [] }))).toBe(
      'unknown_host',
    )
  })
  test('of who asks is thrown as it is', async () => {
    answer = () => undefined
    const stop = new AbortController()
    const asked = get(`http://127.0.0.1:${port}/`, anything, { signal: stop.signal })
    stop.abort(new Error('enough'))
    await expect(asked).rejects.toThrow('enough')
  })
})

describe('addresses that are not public', () => {
  const guarded: OutboundDeps = { mayConnect: isPublicAddress }
  test.each([
    'http://127.0.0.1:PORT/',
    'http://127.1:PORT/',
    'http://2130706433:PORT/',
    'http://0x7f000001:PORT/',
    'http://0177.0.0.1:PORT/',
    'http://0.0.0.0:PORT/',
    'http://[::1]:PORT/',
    'http://[::]:PORT/',
    'http://[::ffff:127.0.0.1]:PORT/',
    'http://[::ffff:7f00:1]:PORT/',
    'http://[64:ff9b::7f00:1]/',
    'http://[2002:7f00:1::]/',
    'http://[fe80::1]/',
    'http://[fd00:ec2::254]/',
    'http://10.0.0.1/',
    'http://100.64.0.1/',
    'http://172.16.0.1/',
    'http://192.168.0.1/',
    'http://169.254.169.254/latest/meta-data/',
    'https://169.254.169.254/',
    'http://224.0.0.1/',
    'http://255.255.255.255/',
    'http://localhost:PORT/',
  ])('%s is refused, and nothing arrives', async (url) => {
    const before = seen.length
    expect(await faultOf(get(url.replace('PORT', String(port)), guarded))).toBe('forbidden')
    expect(seen).toHaveLength(before)
  })

  test.each([
    [['127.0.0.1']],
    [['::1']],
    [['::ffff:127.0.0.1']],
    [['fd12::1', '10.0.0.1']],
    [['not an address']],
  ])('a name that leads to %j is refused', async (addresses) => {
    const deps = { ...guarded, lookup: async () => addresses }
    expect(await faultOf(get(`http://inside.test:${port}/`, deps))).toBe('forbidden')
  })

  test.each([22, 25, 465, 587, 993, 2049, 6667])(
    'port %i of a public host is refused',
    async (other) => {
      const asked: string[] = []
      const lookup = async (host: string) => {
        asked.push(host)
        return ['127.0.0.1']
      }
      expect(await faultOf(get(`http://a.test:${other}/`, { ...anything, lookup }))).toBe(
        'forbidden',
      )
      expect(asked).toEqual([])
    },
  )

  test('a name is looked up once, and what was judged is connected to', async () => {
    answer = (res) => res.end('ok')
    const asked: string[] = []
    const lookup = async (host: string) => {
      asked.push(host)
      // A name server that changes its answer once it has been judged.
      return asked.length === 1 ? ['192.0.2.1', '127.0.0.1'] : ['192.0.2.1']
    }
    const judged: string[] = []
    const mayConnect = (address: string) => {
      judged.push(address)
      return address === '127.0.0.1'
    }
    const came = await get(`http://rebinding.test:${port}/`, { mayConnect, lookup })
    expect(came.status).toBe(200)
    expect(asked).toEqual(['rebinding.test'])
    expect(judged).toEqual(['192.0.2.1', '127.0.0.1'])
    expect(seen.at(-1)?.headers.host).toBe(`rebinding.test:${port}`)
  })
})

describe('an answer whose status is enough', () => {
  const post = (more = {}) =>
    get(`http://127.0.0.1:${port}/`, anything, { isStatusEnough: true, bytesMax: 10, ...more })

  test.each<[string, (res: ServerResponse) => void]>([
    [
      'ends early',
      (res) => res.writeHead(200, { 'content-length': '100' }).write('ab', () => res.destroy()),
    ],
    ['never ends', (res) => res.writeHead(200, { 'content-length': '100' }).flushHeaders()],
    ['is longer than it may be', (res) => res.writeHead(200).end('x'.repeat(100))],
  ])('is one though its body %s', async (_, behave) => {
    answer = behave
    expect(await post()).toMatchObject({ status: 200, isCut: true })
    answer = (res) => res.end('ok')
    expect(await post()).toMatchObject({ status: 200, isCut: false })
  })

  test('is made again on a new connection when the one that was kept has ended', async () => {
    const connections = keepConnections()
    const ask = () => post({ connections })
    answer = (res) => res.end('ok')
    await ask()
    const before = seen.length
    answer = (res) => {
      answer = (next) => next.end('ok')
      res.destroy()
    }
    expect(await ask()).toMatchObject({ status: 200 })
    expect(seen.length - before).toBe(2)
    connections.close()
  })

  test('shares a connection that is kept with the next one to the same host and address alone', async () => {
    const connections = keepConnections()
    const asked = async (host: string) => {
      const deps = { ...anything, lookup: async () => ['127.0.0.1'] }
      await get(`http://${host}:${port}/`, deps, { isStatusEnough: true, connections })
      return ports.at(-1)
    }
    const ports: (number | undefined)[] = []
    answer = (res) => {
      ports.push(res.req.socket.remotePort)
      res.end('ok')
    }
    const first = await asked('one.test')
    expect(await asked('one.test')).toBe(first)
    expect(await asked('two.test')).not.toBe(first)
    expect(seen.at(-1)?.headers.host).toBe(`two.test:${port}`)
    connections.close()
    expect(await asked('one.test')).not.toBe(first)
  })

  test('that was given up leaves nothing to be sent later', async () => {
    const connections = keepConnections()
    answer = () => undefined
    const before = seen.length
    await expect(post({ connections, timeout_ms: 50 })).rejects.toThrow('timeout')
    answer = (res) => res.end('ok')
    expect(await post({ connections })).toMatchObject({ status: 200, isCut: false })
    expect(seen.length - before).toBe(2)
    connections.close()
  })
})
