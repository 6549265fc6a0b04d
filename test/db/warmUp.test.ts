// Single cases of the warm-up: retries, places of past days, its end, and a lane that knows many domains.
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { transact } from '../../commands/transact.ts'
import { createWarmUp } from '../../delivery/lane/warmUp.ts'
import { warmUpLadder } from '../../rules/mail/warmUp.ts'
import { claimInTrx } from '../setup/claims.ts'
import {
  createColdDomains,
  DAY_MS,
  HOUR_MS,
  neverOpen,
  START_MS,
  wake,
} from '../setup/coldDomains.ts'
import { createTestDatabase } from '../setup/database.ts'
import { allLines, queueDeliveries } from '../setup/queue.ts'

const { db } = await createTestDatabase()
const { createLane, settle, seedCold, daysOf } = createColdDomains(db)

test('a retry keeps its place; an unused place of a past day is given up', async () => {
  const ids = await seedCold()
  const dueAt = new Date(START_MS)
  const expiresAt = new Date(START_MS + 5 * DAY_MS)
  await queueDeliveries(db, { ...ids, count: 151, dueAt, expiresAt })
  await sql`update deliveries set class = 2`.execute(db)
  const clock = { ms: START_MS }
  const lanes = [0, 1, 2, 3].map((lane) => createLane(lane, clock))
  const claimAll = async () =>
    (await Promise.all(lanes.map((claim) => claim(500)))).map((r) => r.sent)
  const first = (await claimAll()).flat()
  expect(first).toHaveLength(150)
  await settle(first.slice(1), dueAt)
  await sql`update deliveries set state = 'deferred', lease_until = null, lease_token = null,
    next_at = ${new Date(START_MS + 3 * DAY_MS)} where id = ${first[0]?.id ?? 0}`.execute(db)
  // The release before gave out places of later days.
  await sql`update deliveries set slot_day = '2026-03-03' where state = 'queued'`.execute(db)
  await sql`insert into domain_days values (${ids.domainId}, '2026-03-03', 1)
    on conflict do nothing`.execute(db)

  // Nobody claims for two days: what had a place on the second day has lost it, the retry still has its place.
  clock.ms = START_MS + 3 * DAY_MS
  const second = (await claimAll()).flat()
  expect(second.map(({ attempt }) => attempt).sort()).toEqual([1, 2])
  expect(await daysOf(ids.domainId)).toEqual([
    { day: '2026-03-02', reserved: 150 },
    { day: '2026-03-03', reserved: 0 },
    { day: '2026-03-05', reserved: 1 },
  ])
})

test('the day after the last step ends the warm-up', async () => {
  const ids = await seedCold()
  const dueAt = new Date(START_MS)
  await queueDeliveries(db, { ...ids, count: 200, dueAt, expiresAt: new Date(START_MS + DAY_MS) })
  await sql`insert into domain_days select ${ids.domainId}, date '2026-03-02' - i, 1
    from generate_series(1, ${warmUpLadder.length}) i`.execute(db)
  const clock = { ms: START_MS }
  const lanes = [0, 1, 2, 3].map((lane) => createLane(lane, clock))
  const rounds = await Promise.all(lanes.map((claim) => claim(500)))
  expect(rounds.flatMap(({ sent }) => sent)).toHaveLength(200)
  const domain = await db
    .selectFrom('domains')
    .select(['is_warmed_up', 'warmed_up_at'])
    .where('id', '=', ids.domainId)
    .executeTakeFirst()
  expect(domain).toEqual({ is_warmed_up: true, warmed_up_at: dueAt })
})

test('a cold domain keeps to its ladder however many other domains a lane has seen', async () => {
  const ids = await seedCold()
  const now = new Date(START_MS)
  const [step = 0] = warmUpLadder
  const count = step + 50
  await queueDeliveries(db, {
    ...ids,
    count,
    dueAt: now,
    expiresAt: new Date(START_MS + DAY_MS),
  })
  await sql`update deliveries set class = 1`.execute(db)
  const leaseToken = '00000000-0000-0000-0000-000000000009'
  const config = { warmUp: true } as Parameters<typeof createWarmUp>[0]['config']
  const gate = createWarmUp({ db, now: () => now, wake, config, breakers: neverOpen }, leaseToken)
  const claim = (limit: number) =>
    transact.one({ db, wake }, (inTrx) =>
      claimInTrx(inTrx.db, {
        ...allLines(limit),
        leaseToken,
        leaseMs: HOUR_MS,
        now,
      }),
    )
  const { deliveries: first } = await claim(10)
  expect(await gate(first)).toHaveLength(10)
  const [one] = first
  if (!one) throw new Error('nothing was claimed')
  const others = Array.from({ length: 10_001 }, (_, i) => ({ ...one, domain_id: `dom_${i}` }))
  expect(await gate(others)).toHaveLength(others.length)

  const { deliveries: rest } = await claim(count)
  const unseen = { ...one, domain_id: 'dom_unseen' }
  const sent = await gate([...rest, unseen])
  expect(rest).toHaveLength(count - 10)
  expect(sent.filter(({ domain_id }) => domain_id === ids.domainId)).toHaveLength(step - 10)
})

test('what a breaker has held counts before the warm-up: it needs a place, and keeps its time', async () => {
  const ids = await seedCold()
  const [step = 0] = warmUpLadder
  const expiresAt = new Date(START_MS + HOUR_MS)
  await queueDeliveries(db, { ...ids, count: step + 1, dueAt: new Date(START_MS), expiresAt })
  await sql`update deliveries set class = 2`.execute(db)
  const now = new Date(START_MS + 2 * HOUR_MS)
  const leaseToken = '00000000-0000-0000-0000-000000000009'
  const config = { warmUp: true } as Parameters<typeof createWarmUp>[0]['config']
  const breakers = { heldFor: () => 2 * HOUR_MS }
  const gate = createWarmUp({ db, now: () => now, wake, config, breakers }, leaseToken)
  const { deliveries } = await transact.one({ db, wake }, (inTrx) =>
    claimInTrx(inTrx.db, { ...allLines(500), leaseToken, leaseMs: HOUR_MS, now }),
  )
  expect(deliveries).toHaveLength(step + 1)
  expect(await gate(deliveries)).toHaveLength(step)
  const [putOff] = await db
    .selectFrom('deliveries')
    .select(['next_at', 'expires_at'])
    .where('state', '=', 'queued')
    .execute()
  // It had an hour left when it was due.
  expect((putOff?.expires_at.getTime() ?? 0) - (putOff?.next_at.getTime() ?? 0)).toBe(HOUR_MS)
})
