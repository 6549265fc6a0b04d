// One cap on the connections to all destinations: turns, unused connections that make room, servers that do not answer.
import { expect, test } from 'vitest'
import { cachedDns } from '../../../mail/dns/cache.ts'
import type { MxOptions } from '../../../mail/smtp/mx.ts'
import { createStage, useNameServer } from './mxHarness.ts'
import { at } from './relayHarness.ts'

const { dns } = useNameServer()

const stageWith = (connectionsInAll: number, timeouts: MxOptions['timeouts'] = {}) =>
  createStage(cachedDns(dns()), { connectionsInAll, timeouts: { idleMs: 60_000, ...timeouts } })

test('never more connections than allowed, to however many destinations', async () => {
  const stage = await stageWith(2)
  let open = 0
  let most = 0
  const count = (step: string) => {
    if (step === 'banner') open += 1
    if (step === 'quit') open -= 1
    most = Math.max(most, open)
    return undefined
  }
  const servers = await Promise.all([2, 3, 4].map((host) => stage.serve(host, count)))
  const domains = ['one', 'three', 'four'].flatMap((name) => Array(15).fill(`${name}.acme.test`))
  const outcomes = await Promise.all(domains.map((domain) => stage.send(domain)))
  expect(outcomes.map(({ kind }) => kind)).toEqual(domains.map(() => 'delivered'))
  expect(most).toBe(2)
  expect(servers.map((server) => server.seen.messages.length)).toEqual([15, 15, 15])
})

test('an unused connection keeps nobody waiting', async () => {
  const stage = await stageWith(1)
  const [first, second] = [await stage.serve(2), await stage.serve(3)]
  for (const domain of ['one', 'three', 'one']) {
    expect((await stage.send(`${domain}.acme.test`)).kind).toBe('delivered')
  }
  expect([first.seen.connections, second.seen.connections]).toEqual([2, 1])
  expect(first.seen.commands).toContain('QUIT')
})

test('destinations take turns on a place: a long line does not keep a short one waiting', async () => {
  const stage = await stageWith(1)
  const done: string[] = []
  await stage.serve(2)
  await stage.serve(3)
  const { sending, letGo } = await stage.sendHeld('one.acme.test')
  const send = (domain: string) => stage.send(domain).then(() => void done.push(domain))
  const long = Array.from({ length: 15 }, () => send('one.acme.test'))
  const short = send('three.acme.test')
  const waiting = () => stage.transport.destinations().map((state) => state.waiting)
  await expect.poll(waiting, { timeout: 60_000 }).toEqual([15, 1])
  letGo()
  await Promise.all([sending, ...long, short])
  expect(done.indexOf('three.acme.test')).toBeLessThanOrEqual(10)
})

test('servers that do not answer keep no place from others', async () => {
  const stage = await stageWith(1, { bannerMs: 60_000, openMs: 600, slowMs: 50 })
  const silent = await stage.serve(2, at('banner', 'hang'))
  await stage.serve(3)
  const waits = stage.send('one.acme.test')
  expect((await stage.send('three.acme.test')).kind).toBe('delivered')
  expect(silent.open()).toBe(1)
  expect((await waits).kind).toBe('failed')
  expect((await stage.send('three.acme.test')).kind).toBe('delivered')
})

test('a server that does not answer holds one place, however much mail waits for it', async () => {
  const timeouts = { bannerMs: 60_000, openMs: 3_000, slowMs: 60_000, waitMs: 1_000 }
  const stage = await stageWith(3, timeouts)
  const silent = await stage.serve(2, at('banner', 'hang'))
  await stage.serve(3)
  const dead = Array.from({ length: 10 }, () => stage.send('one.acme.test'))
  await expect.poll(() => silent.open(), { timeout: 60_000 }).toBe(1)
  expect((await stage.send('three.acme.test')).kind).toBe('delivered')
  await Promise.all(dead)
  expect(silent.seen.connections).toBe(1)
})

test('once a connection is open the others follow, while its message is still under way', async () => {
  const stage = await stageWith(10, { dotMs: 60_000 })
  const server = await stage.serve(2)
  const held = await Promise.all(Array.from({ length: 3 }, () => stage.sendHeld('one.acme.test')))
  expect(server.open()).toBe(3)
  for (const { letGo } of held) letGo()
  await Promise.all(held.map(({ sending }) => sending))
})

test('a message that finds no place in time is not tried', async () => {
  const stage = await stageWith(1, { waitMs: 50 })
  await stage.serve(2)
  const other = await stage.serve(3)
  const { sending, letGo } = await stage.sendHeld('one.acme.test')
  expect(await stage.send('three.acme.test')).toMatchObject({ kind: 'busy' })
  expect(other.seen.connections).toBe(0)
  letGo()
  expect((await sending).kind).toBe('delivered')
  expect((await stage.send('three.acme.test')).kind).toBe('delivered')
})

test('close ends those that wait for a place', async () => {
  const stage = await stageWith(1)
  await stage.serve(2)
  await stage.serve(3)
  const { sending, letGo } = await stage.sendHeld('one.acme.test')
  const waits = stage.send('three.acme.test')
  await new Promise(setImmediate)
  const closing = stage.transport.close()
  letGo()
  await closing
  expect((await sending).kind).toBe('delivered')
  expect(await waits).toMatchObject({ kind: 'busy' })
})
