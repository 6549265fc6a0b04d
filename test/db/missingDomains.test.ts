// Since when a domain of a recipient is not found in the DNS, for two lanes and any number of mails: who is gone, and what
// is written of it.
import { sql } from 'kysely'
import { pino } from 'pino'
import { beforeEach, expect, test } from 'vitest'
import { createTrace } from '../../delivery/attemptRow.ts'
import { createMissingDomains } from '../../delivery/missingDomains.ts'
import { createTestDatabase } from '../setup/database.ts'
import { eventually } from '../setup/eventually.ts'

const { db } = await createTestDatabase()
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const START_MS = Date.UTC(2026, 2, 2, 9)
const log = pino({ level: 'silent' })
const clock = { ms: START_MS }

function createLane() {
  const now = () => new Date(clock.ms)
  const isGone = createMissingDomains({ db, now, wake: () => undefined, log })
  const exists = { ...createTrace(), domainExists: true }
  return {
    /** An attempt that does not find the domain. @returns whether it is gone */
    miss: (domain: string) => isGone(domain, { ...createTrace(), domainExists: false }),
    /** An attempt that meets a server of the domain. */
    meet: (domain: string) => isGone(domain, { ...exists, host: `mx.${domain}` }),
    /** An attempt that finds the domain and meets no server. */
    find: (domain: string) => isGone(domain, exists),
    /** An attempt that gets no answer from the DNS. */
    fail: (domain: string) => isGone(domain, createTrace()),
  }
}

async function rowOf(domain: string) {
  const { rows } = await sql<{ version: string; nx_since: Date | null; looked_up_at: Date }>`
    select xmin::text as version, nx_since, looked_up_at from recipient_domains where domain = ${domain}
  `.execute(db)
  return rows[0]
}

beforeEach(async () => {
  clock.ms = START_MS
  await sql`truncate recipient_domains`.execute(db)
})

test('a domain is gone after a day, while the resolver finds others', async () => {
  const lane = createLane()
  await lane.meet('good.test')
  expect(await lane.miss('gone.test')).toBe(false)
  clock.ms += 23 * HOUR_MS
  await lane.meet('good.test')
  expect(await lane.miss('gone.test')).toBe(false)

  clock.ms += HOUR_MS
  await lane.fail('dark.test')
  expect(await lane.miss('gone.test'), 'nothing was found for an hour').toBe(false)
  await lane.miss('other.test')
  expect(await lane.miss('gone.test'), 'another missing domain proves nothing').toBe(false)
  await lane.meet('good.test')
  clock.ms += 10 * MINUTE_MS
  expect(await lane.miss('gone.test')).toBe(true)
  clock.ms += 1
  expect(await lane.miss('gone.test')).toBe(false)
  expect((await rowOf('gone.test'))?.nx_since).toEqual(new Date(START_MS))
})

test('a domain that is found again begins anew, and its own servers do not speak for the resolver', async () => {
  const [lane, other] = [createLane(), createLane()]
  await lane.meet('good.test')
  await lane.miss('back.test')
  clock.ms += 25 * HOUR_MS
  await lane.meet('good.test')
  expect(await lane.miss('back.test')).toBe(true)
  await other.meet('back.test')
  await eventually(async () => expect((await rowOf('back.test'))?.nx_since).toBeNull())
  clock.ms += MINUTE_MS
  expect(await lane.miss('back.test'), 'another lane has found it').toBe(false)
  expect((await rowOf('back.test'))?.nx_since).toEqual(new Date(clock.ms))

  const alone = createLane()
  await alone.meet('back.test')
  await eventually(async () => expect((await rowOf('back.test'))?.nx_since).toBeNull())
  clock.ms += 5 * MINUTE_MS
  await sql`update recipient_domains set nx_since = '2026-01-01'`.execute(db)
  expect(await alone.miss('back.test')).toBe(false)
  await alone.meet('good.test')
  expect(await alone.miss('back.test')).toBe(true)
})

test('a find ends what another lane has noted since the last one', async () => {
  const [lane, other, before] = [createLane(), createLane(), createLane()]
  await Promise.all([other, before].map((one) => one.meet('good.test')))
  await before.miss('back.test')
  await lane.meet('back.test')
  await eventually(async () => expect((await rowOf('back.test'))?.nx_since).toBeNull())
  clock.ms += 30_000
  await other.miss('back.test')
  expect((await rowOf('back.test'))?.nx_since).toEqual(new Date(clock.ms))
  clock.ms += 30_000
  await lane.meet('back.test')
  await eventually(async () => expect((await rowOf('back.test'))?.nx_since).toBeNull())
})

/** Days at which mail for the domain misses it, each time twice within half an hour, and whether it is gone at the last. */
test.each<[string, number[], boolean]>([
  ['one fault', [0], false],
  ['two faults within a day', [0, 0.9], false],
  ['a day', [0, 1], true],
  ['mail every day', [0, 1, 2], true],
  ['mail every week', [0, 7], true],
  ['mail every two weeks, at the same time', [0, 14], true],
  ['two faults more than two weeks apart', [0, 14.1], false],
  ['two faults months apart', [0, 90], false],
  ['three faults months apart', [0, 90, 180], false],
  ['a fault, months, then a domain that is gone', [0, 90, 91], true],
  ['mail every week for months', [0, 7, 14, 21, 28, 35], true],
  ['mail every week, then a pause', [0, 7, 14, 35], false],
])('%s', async (_, days, isGone) => {
  const lane = createLane()
  let last = false
  for (const day of days) {
    clock.ms = START_MS + day * 24 * HOUR_MS
    await lane.meet('good.test')
    await lane.miss('gone.test')
    clock.ms += 30 * MINUTE_MS
    await lane.meet('good.test')
    last = await lane.miss('gone.test')
  }
  expect(last).toBe(isGone)
})

test('a domain that is found exists, whether or not one of its servers was met', async () => {
  const lane = createLane()
  await lane.meet('good.test')
  await lane.miss('back.test')
  clock.ms += 25 * HOUR_MS
  await lane.meet('good.test')
  expect(await lane.find('back.test')).toBe(false)
  await eventually(async () => expect((await rowOf('back.test'))?.nx_since).toBeNull())
  expect(await lane.miss('back.test')).toBe(false)
})

test('what a resolver says that has found nobody is not noted', async () => {
  const lane = createLane()
  await lane.miss('gone.test')
  expect(await rowOf('gone.test')).toBeUndefined()
  await lane.meet('good.test')
  await lane.miss('gone.test')
  clock.ms += 25 * HOUR_MS
  await lane.miss('gone.test')
  expect((await rowOf('gone.test'))?.looked_up_at).toEqual(new Date(START_MS))
})

test('a domain that stays away is written once a day', async () => {
  const lane = createLane()
  const versions = new Set<string | undefined>()
  for (let hour = 0; hour <= 72; hour += 2) {
    clock.ms = START_MS + hour * HOUR_MS
    await lane.meet('good.test')
    await lane.miss('gone.test')
    versions.add((await rowOf('gone.test'))?.version)
  }
  expect(versions.size).toBe(4)
  expect(await rowOf('gone.test')).toMatchObject({
    nx_since: new Date(START_MS),
    looked_up_at: new Date(clock.ms),
  })
})

test('a domain whose server was met is not missing, whatever that server says', async () => {
  const lane = createLane()
  await lane.meet('good.test')
  expect(await lane.meet('liar.test')).toBe(false)
  expect(await rowOf('liar.test')).toBeUndefined()
})

test('a thousand mails write what is new once, and nothing of domains that were always found', async () => {
  const lanes = [createLane(), createLane()]
  const names = Array.from({ length: 20 }, (_, i) => `d${i}.test`)
  const meetAll = () => Promise.all(lanes.map((lane) => lane.meet('good.test')))
  await meetAll()
  const misses = Array.from({ length: 1_000 }, (_, i) => lanes[i % 2]?.miss(names[i % 20] ?? ''))
  await Promise.all(misses)
  const before = await Promise.all(names.map(rowOf))
  expect(before.map((row) => row?.nx_since)).toEqual(names.map(() => new Date(START_MS)))
  clock.ms += HOUR_MS
  await meetAll()
  await Promise.all(
    Array.from({ length: 1_000 }, (_, i) => lanes[i % 2]?.miss(names[i % 20] ?? '')),
  )
  expect(await Promise.all(names.map(rowOf)), 'no row was written again').toEqual(before)

  const found = Array.from({ length: 50 }, (_, i) => `found${i}.test`)
  await Promise.all([...found, ...found].map((name) => lanes[0]?.meet(name)))
  await lanes[0]?.meet('d0.test')
  await eventually(async () => expect((await rowOf('d0.test'))?.nx_since).toBeNull())
  const { rows } = await sql`select from recipient_domains`.execute(db)
  expect(rows).toHaveLength(20)
})
