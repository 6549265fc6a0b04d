// The order in a destination's line, and the room that each destination has.
import { expect, test } from 'vitest'
import { cachedDns } from '../../../mail/dns/cache.ts'
import { createRooms } from '../../../mail/smtp/rooms.ts'
import type { MailClass } from '../../../rules/mail/classes.ts'
import { createStage, useNameServer } from './mxHarness.ts'
import { at } from './relayHarness.ts'
import { small } from './smtpServer.ts'

const { dns } = useNameServer()

test('mail waits by class, and a full line gives way to a higher one', async () => {
  const stage = await createStage(cachedDns(dns()), { connections: 1 })
  const server = await stage.serve(2)
  const { sending, letGo } = await stage.sendHeld('one.acme.test')
  const send = (mailClass: MailClass, name: string) => {
    const envelope = { from: 'f@a.test', to: `${name}@one.acme.test`, bytes: small.length }
    return stage.transport.send({ ...envelope, class: mailClass }, small, async () => true)
  }
  const broadcasts = ['b1', 'b2', 'b3', 'b4'].map((name) => send('broadcast', name))
  expect(await broadcasts[3]).toMatchObject({ kind: 'busy' })
  const receipts = ['t1', 't2'].map((name) => send('transactional', name))
  expect((await Promise.all(broadcasts.slice(1, 3))).map(({ kind }) => kind)).toEqual([
    'busy',
    'busy',
  ])
  letGo()
  const outcomes = await Promise.all([sending, broadcasts[0], ...receipts])
  expect(outcomes.map((outcome) => outcome?.kind)).toEqual(Array(4).fill('delivered'))
  const order = server.seen.commands.filter((line) => line.startsWith('RCPT'))
  expect(order.map((line) => line.slice(9, 11))).toEqual(['b@', 't1', 't2', 'b1'])
})

test('a transactional mail is the next one, however many others wait', async () => {
  const stage = await createStage(cachedDns(dns()), { connections: 2 })
  const server = await stage.serve(2)
  const held = [await stage.sendHeld('one.acme.test'), await stage.sendHeld('one.acme.test')]
  const send = (mailClass: MailClass, name: string) => {
    const envelope = { from: 'f@a.test', to: `${name}@one.acme.test`, bytes: small.length }
    return stage.transport.send({ ...envelope, class: mailClass }, small, async () => true)
  }
  const campaign = Array.from({ length: 6 }, (_, i) => send('broadcast', `b${i}`))
  const receipt = send('transactional', 'tt')
  held[0]?.letGo()
  expect((await receipt).kind).toBe('delivered')
  held[1]?.letGo()
  await Promise.all(campaign)
  const order = server.seen.commands.filter((line) => line.startsWith('RCPT'))
  expect(order[2]).toContain('<tt@')
})

test('the room of a destination follows its pace; it is none in a rest and while one message probes', async () => {
  let now = 1_000_000
  const stage = await createStage(cachedDns(dns()), { now: () => now })
  const room = () => stage.transport.rooms().known.get('127.0.0.2')
  expect(stage.transport.rooms()).toEqual({ known: new Map(), other: 20 })
  await stage.send('one.acme.test')
  expect(room()).toBe(0)
  now += 29_999
  expect(room()).toBe(0)
  now += 1
  expect(room()).toBe(1)
  const hanging = await stage.serve(2, at('banner', 'hang'))
  const probe = stage.send('one.acme.test')
  await expect.poll(() => hanging.seen.connections).toBe(1)
  expect(room()).toBe(0)
  await probe
  await hanging.close()
  now += 60_000
  await stage.serve(2)
  for (let i = 0; i < 3; i++) await stage.send('one.acme.test')
  expect(room()).toBe(3 * 4)
})

test('no room is beyond the connections of all', async () => {
  const stage = await createStage(cachedDns(dns()), { connectionsInAll: 2 })
  await stage.serve(2)
  await stage.send('one.acme.test')
  expect(stage.transport.rooms()).toEqual({ known: new Map([['127.0.0.2', 8]]), other: 8 })
})

test('a bounded number of destinations is named, those without room first', () => {
  let time = 0
  const one = (room: number, rest = 0) => ({ room: () => room, restsUntil: () => rest })
  const rooms = createRooms(9, () => time, 3)
  rooms.update('a', one(5))
  rooms.update('b', one(0, 10))
  rooms.update('c', one(6))
  rooms.update('d', one(7))
  expect([...rooms.now().known]).toEqual([
    ['a', 5],
    ['b', 0],
    ['c', 6],
  ])
  for (const key of ['e', 'f', 'g']) rooms.update(key, one(0, 100))
  expect([...rooms.now().known.keys()]).toEqual(['b', 'e', 'f'])
  rooms.forget('e')
  rooms.update('b', one(4))
  expect([...rooms.now().known]).toEqual([
    ['b', 4],
    ['f', 0],
  ])
  let isOver = false
  rooms.update('f', { room: () => (isOver ? 1 : 0), restsUntil: () => 100 })
  isOver = true
  expect(rooms.now().known.get('f')).toBe(0)
  time = 100
  expect(rooms.now().known.get('f')).toBe(1)
})

test('a destination that had no room and no rest is looked at again', () => {
  let now = 0
  let room = 0
  const destination = { room: () => room, restsUntil: () => 0 }
  const rooms = createRooms(20, () => now)
  rooms.update('one', destination)
  expect(rooms.now().known.get('one')).toBe(0)
  now = 1_000
  expect(rooms.now().known.get('one'), 'still a message that probes').toBe(0)
  room = 7
  now = 2_000
  expect(rooms.now().known.get('one')).toBe(7)
})
