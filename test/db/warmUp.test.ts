// Places of the warm-up that several lanes reserve at once: each is given once, no day exceeds its step, no
// delivery is lost.
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { transact } from '../../commands/transact.ts'
import { type ClaimedDelivery, claimDeliveries } from '../../db/deliveries/claim.ts'
import { createWarmUp } from '../../delivery/lane/warmUp.ts'
import { warmUpLadder } from '../../rules/mail/warmUp.ts'
import { createTestDatabase } from '../setup/database.ts'
import { seedWorkspace } from '../setup/harness.ts'
import { queueDeliveries } from '../setup/queue.ts'
import { createRandom } from '../setup/random.ts'
import { bringTo } from '../setup/states.ts'

const { db } = await createTestDatabase()
const wake = () => undefined
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const START_MS = Date.UTC(2026, 2, 2, 9)

type Gate = ReturnType<typeof createWarmUp>

/** A lane of 16 shards with a clock that all lanes share. */
function createLane(lane: number, clock: { ms: number }) {
  const leaseToken = `00000000-0000-0000-0000-00000000000${lane}`
  const now = () => new Date(clock.ms)
  const config = { warmUp: true } as Parameters<typeof createWarmUp>[0]['config']
  const deps = { db, now, wake, config }
  const gate: Gate = createWarmUp(deps, leaseToken)
  const shards = Array.from({ length: 16 }, (_, i) => lane * 16 + i)
  return async (limit: number): Promise<{ claimed: number; sent: ClaimedDelivery[] }> => {
    const leaseUntil = new Date(clock.ms + HOUR_MS)
    const claim = { shards, limit, perShard: limit, leaseToken, leaseUntil, now: now() }
    const claimed = await transact.one({ db, wake }, (inTrx) => claimDeliveries(inTrx.db, claim))
    return { claimed: claimed.length, sent: await gate(claimed) }
  }
}

async function settle(sent: ClaimedDelivery[], now: Date): Promise<void> {
  const ids = sent.map(({ id }) => id)
  await bringTo(db, { ids }, 'delivered', now)
}

async function seedCold() {
  const { workspaceId, domainId } = await seedWorkspace(db)
  await db.updateTable('domains').set({ is_warmed_up: false, warmed_up_at: null }).execute()
  await sql`truncate deliveries, domain_days`.execute(db)
  return { workspaceId, domainId }
}

const daysOf = async (domainId: string) => {
  const { rows } = await sql<{ day: string; reserved: number }>`
    select day::text, reserved from domain_days where domain_id = ${domainId} order by day
  `.execute(db)
  return rows
}

test('four lanes at once keep to the ladder day by day, move each row once and send all of it', async () => {
  const random = createRandom(7)
  const count = 1_200
  const ids = await seedCold()
  const expiresAt = new Date(START_MS + DAY_MS)
  await queueDeliveries(db, { ...ids, count, dueAt: new Date(START_MS), expiresAt })
  const clock = { ms: START_MS }
  const lanes = [0, 1, 2, 3].map((lane) => createLane(lane, clock))
  const sentByDay: number[] = []
  const places = new Map<number, string>()
  for (let day = 0; day < 5; day++) {
    let sent = 0
    for (const hour of [0, 7, 14]) {
      clock.ms = START_MS + day * DAY_MS + hour * HOUR_MS
      for (;;) {
        const rounds = await Promise.all(lanes.map((claim) => claim(20 + random.between(0, 60))))
        for (const round of rounds) {
          sent += round.sent.length
          await settle(round.sent, new Date(clock.ms))
        }
        if (rounds.every(({ claimed }) => claimed === 0)) break
      }
    }
    sentByDay.push(sent)
    const { rows } = await sql<{ id: number; attempt: number; slot_day: string; left: boolean }>`
      select id, attempt, slot_day::text, expires_at - next_at = interval '1 day' as left
      from deliveries where state = 'queued'`.execute(db)
    for (const { id, attempt, slot_day, left } of rows) {
      expect(slot_day).toBe(places.get(id) ?? slot_day)
      expect({ attempt, left }, 'waiting is no attempt and takes no time').toEqual({
        attempt: 0,
        left: true,
      })
      places.set(id, slot_day)
    }
  }
  const days = await daysOf(ids.domainId)
  expect(days.map(({ reserved }) => reserved)).toEqual([150, 250, 400, 400])
  expect(sentByDay.reduce((sum, sent) => sum + sent, 0)).toBe(count)
  for (const [i, sent] of sentByDay.entries()) {
    expect([i, sent <= (warmUpLadder[i] ?? 0)]).toEqual([i, true])
  }
  const left = await db
    .selectFrom('deliveries')
    .select('id')
    .where('state', '!=', 'delivered')
    .execute()
  expect(left).toEqual([])
})

test('a retry keeps its place; an unused place of a past day is given up', async () => {
  const ids = await seedCold()
  const dueAt = new Date(START_MS)
  await queueDeliveries(db, { ...ids, count: 151, dueAt, expiresAt: new Date(START_MS + DAY_MS) })
  const clock = { ms: START_MS }
  const lanes = [0, 1, 2, 3].map((lane) => createLane(lane, clock))
  const claimAll = async () =>
    (await Promise.all(lanes.map((claim) => claim(500)))).map((r) => r.sent)
  const first = (await claimAll()).flat()
  expect(first).toHaveLength(150)
  await settle(first.slice(1), dueAt)
  await sql`update deliveries set state = 'deferred', lease_until = null, lease_token = null,
    next_at = ${new Date(START_MS + 3 * DAY_MS)} where id = ${first[0]?.id ?? 0}`.execute(db)

  // Nobody claims for two days: deliveries with a place on the second day have lost it, the retry still has its
  // place.
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
  const leaseToken = '00000000-0000-0000-0000-000000000009'
  const config = { warmUp: true } as Parameters<typeof createWarmUp>[0]['config']
  const gate = createWarmUp({ db, now: () => now, wake, config }, leaseToken)
  const claim = (limit: number) =>
    transact.one({ db, wake }, (inTrx) =>
      claimDeliveries(inTrx.db, {
        shards: Array.from({ length: 64 }, (_, shard) => shard),
        limit,
        perShard: limit,
        leaseToken,
        leaseUntil: new Date(START_MS + HOUR_MS),
        now,
      }),
    )
  const first = await claim(10)
  expect(await gate(first)).toHaveLength(10)
  const [one] = first
  if (!one) throw new Error('nothing was claimed')
  const others = Array.from({ length: 10_001 }, (_, i) => ({ ...one, domain_id: `dom_${i}` }))
  expect(await gate(others)).toHaveLength(others.length)

  const rest = await claim(count)
  const unseen = { ...one, domain_id: 'dom_unseen' }
  const sent = await gate([...rest, unseen])
  expect(rest).toHaveLength(count - 10)
  expect(sent.filter(({ domain_id }) => domain_id === ids.domainId)).toHaveLength(step - 10)
})
