// Clients that are slow, broken off or many: connections are cut, memory is given back, and answers can be read.
import { afterAll, describe, expect, it } from 'vitest'
import { createTestApi, insertTestDomain } from '../setup/api.ts'
import { eventually } from '../setup/eventually.ts'
import { listen } from '../setup/listening.ts'
import { head, openRaw, told } from '../setup/rawHttp.ts'

const MEBIBYTE = 1024 * 1024
const api = await createTestApi()
await insertTestDomain(api, 'sender.test')
const { port, close } = await listen(api)
afterAll(close)

const mail = '"from":"a@sender.test","to":"b@example.test","subject":"Hi"'

describe('the wire', () => {
  const small = `{${mail},"text":"x"}`

  it('answers two bodies on one connection, and waits with 100 Continue until the key was checked', async () => {
    const connection = await openRaw(port)
    const one = head('/v1/emails', api.key, { 'content-length': small.length }) + small
    await connection.write(one + one)
    await connection.answers(2)
    await connection.write(
      head('/v1/emails', api.key, { 'content-length': small.length, expect: '100-continue' }),
    )
    await connection.answers(3)
    await connection.write(small)
    await connection.answers(4)
    expect(connection.statuses()).toEqual([200, 200, 100, 200])
    connection.socket.destroy()
    const stranger = await openRaw(port)
    await stranger.write(
      head('/v1/emails', 'wrong', { 'content-length': 5, expect: '100-continue' }),
    )
    await stranger.closed()
    expect(stranger.statuses()).toEqual([403])
  })

  it('closes the connection after an answer that came before the body', async () => {
    for (const path of ['/v1/emails', '/u/abcdefghijklmnopqrstuv', '/t/o/x']) {
      const connection = await openRaw(port)
      await connection.write(`${head(path, 'wrong', { 'content-length': 1_000_000 })}begun`)
      await connection.answers()
      expect(connection.received()).toMatch(/^connection: close/im)
      await connection.closed()
      expect([path, connection.statuses()[0]]).toEqual([path, expect.toBeOneOf([403, 404, 405])])
    }
  })

  it('keeps the connection when the body was whole', async () => {
    const connection = await openRaw(port)
    for (let i = 1; i <= 3; i++) {
      await connection.write(
        `${head('/u/abcdefghijklmnopqrstuv', '', { 'content-length': 9 })}List=Once`,
      )
      await connection.answers(i)
    }
    expect([connection.statuses(), connection.isClosed()]).toEqual([[404, 404, 404], false])
    connection.socket.destroy()
  })
})

describe('clients that are slow', () => {
  it('are cut: no headers, no bytes, too few bytes', async () => {
    const { port, close } = await listen(api, {
      bodies: { grace_ms: 300, silent_ms: 300, bytesPerSecondMin: 100_000 },
      server: { headers_ms: 300, look_ms: 50 },
    })
    const idle = await Promise.all(Array.from({ length: 100 }, () => openRaw(port)))
    const half = await openRaw(port)
    await half.write('POST /v1/emails HTTP/1.1\r\nhost: ')
    const silent = await openRaw(port)
    await silent.write(`${head('/v1/emails', api.key, { 'content-length': 100 })}{`)
    const slow = await openRaw(port)
    await slow.write(head('/v1/emails', api.key, { 'content-length': 100_000 }))
    const drip = setInterval(() => void slow.write(' '), 20)
    try {
      await Promise.all([...idle, half, silent, slow].map((connection) => connection.closed()))
    } finally {
      clearInterval(drip)
    }
    for (const { received } of [silent, slow]) expect(received()).toMatch(/^connection: close/im)
    expect([silent, slow].map(told)).toEqual(Array(2).fill({ status: 408, code: 'body_too_slow' }))
    await close()
  })

  it('has a share of connections for each address', async () => {
    const { port, close } = await listen(api, { server: { connectionsPerClientMax: 3 } })
    const first = await Promise.all(Array.from({ length: 3 }, () => openRaw(port)))
    const fourth = await openRaw(port)
    await fourth.closed()
    expect(first.some((connection) => connection.isClosed())).toBe(false)
    first[0]?.socket.destroy()
    await eventually(async () => {
      const next = await openRaw(port)
      await next.write(head('/v1/emails', 'x', { 'content-length': 0 }))
      await eventually(() => expect(next.isClosed() || next.statuses().length === 1).toBe(true))
      next.socket.destroy()
      expect(next.statuses()).toEqual([403])
    })
    await close()
  })
})

describe('memory for bodies', () => {
  it('says 503 to who waited too long, and reads no more than 64 KiB of them', async () => {
    const rules = {
      processBytesMax: 36 * MEBIBYTE,
      workspaceBytesMax: 20 * MEBIBYTE,
      wait_ms: 200,
    }
    const { port, close } = await listen(api, { bodies: rules })
    const begun = head('/v1/emails', api.key, { 'content-length': 10 * MEBIBYTE })
    const first = await openRaw(port)
    await first.write(begun + ' '.repeat(100_000))
    const bytes = () => api.registry.getSingleMetricAsString('dripline_api_body_bytes')
    await eventually(async () => expect(await bytes()).toMatch(/dripline_api_body_bytes [1-9]/))
    const second = await openRaw(port)
    await second.write(begun + ' '.repeat(100_000))
    await second.closed()
    expect(told(second)).toEqual({ status: 503, code: 'service_unavailable' })
    expect(second.received()).toMatch(/^retry-after: 5/im)
    first.socket.destroy()
    await close()
  })
})
