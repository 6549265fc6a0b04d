// Since when a domain of a recipient is not found in the DNS, for two lanes and any number of mails: who is gone, and what
// is written of it.
import { sql } from 'kysely'
import { pino } from 'pino'
import { beforeEach, expect, test } from 'vitest'
import { createTrace } from '../../delivery/attemptRow.ts'
import { createUnknownDomains } from '../../delivery/unknownDomains.ts'
import { unknownDomainRejection } from '../../mail/dns/mxHosts.ts'
import type { Outcome } from '../../mail/transport.ts'
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
  const isGone = createUnknownDomains({ db, now, wake: () => undefined, log })
  const delivered: Outcome = { kind: 'delivered', reply: '250 Ok' }
  return {
    /** An attempt that does not find the domain. @returns whether it is gone */
    miss: (domain: string) => isGone(domain, unknownDomainRejection('NXDOMAIN'), createTrace()),
    /** An attempt that meets a server of the domain. */
    meet: (domain: string, outcome: Outcome = delivered) =>
      isGone(domain, outcome, { ...createTrace(), host: `mx.${domain}` }),
    /** An attempt that fails before it meets a server. */
    fail: (domain: string) =>
      isGone(domain, { kind: 'failed', phase: 'connect', error: 'SERVFAIL' }, createTrace()),
  }
}

async function rowOf(domain: string) {
  const { rows } = await sql<{ version: string; nx_since: Date | null }>`
    select xmin::text as version, nx_since from recipient_domains where domain = ${domain}
  `.execute(db)
  return rows[0]
}

beforeEach(async () => {
  clock.ms = START_MS
  await sql`truncate recipient_domains`.execute(db)
})

test('a domain is gone after a day, while the resolver finds others', async () => {
  const lane = createLane()
  expect(await lane.miss('gone.test')).toBe(false)
  await lane.meet('good.test')
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

test('words of a server do not make its domain unknown', async () => {
  const lane = createLane()
  await lane.meet('good.test')
  expect(await lane.meet('liar.test', unknownDomainRejection('NXDOMAIN'))).toBe(false)
  expect(await rowOf('liar.test')).toBeUndefined()
})

test('a thousand mails write what is new once, and nothing of domains that were always found', async () => {
  const lanes = [createLane(), createLane()]
  const names = Array.from({ length: 20 }, (_, i) => `d${i}.test`)
  const misses = Array.from({ length: 1_000 }, (_, i) => lanes[i % 2]?.miss(names[i % 20] ?? ''))
  await Promise.all(misses)
  const before = await Promise.all(names.map(rowOf))
  expect(before.map((row) => row?.nx_since)).toEqual(names.map(() => new Date(START_MS)))
  clock.ms += HOUR_MS
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
