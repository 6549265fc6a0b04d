// A lane and the limit of its workspace's day: mail of workflows without a place waits for tomorrow, its expiry moves along.
import { sql } from 'kysely'
import { afterEach, expect, test } from 'vitest'
import { createLimitBook } from '../../commands/limits/book.ts'
import { createDailyLimit } from '../../commands/limits/daily.ts'
import { transact } from '../../commands/transact.ts'
import type { ClaimedDelivery } from '../../db/deliveries/claim.ts'
import { releaseDeliveries } from '../../db/deliveries/leases.ts'
import { readyDue } from '../../db/deliveries/ready.ts'
import { createDayLimit, createPlacedEmails } from '../../delivery/lane/dayLimit.ts'
import { createWarmUp } from '../../delivery/lane/warmUp.ts'
import { claimInTrx } from '../setup/claims.ts'
import { DAY_MS, HOUR_MS, neverOpen, START_MS, wake } from '../setup/coldDomains.ts'
import { createTestDatabase } from '../setup/database.ts'
import { seedWorkspace } from '../setup/harness.ts'
import { limitTo } from '../setup/limits.ts'
import { allLines, queueDeliveries, rights } from '../setup/queue.ts'
import { bringTo } from '../setup/states.ts'

const { db } = await createTestDatabase()

afterEach(async () => {
  await sql`truncate deliveries, rate_limits, email_days`.execute(db)
})

const throwIt = (err: unknown) => {
  throw err
}

/** A worker with one lane over some shards; workers share nothing but the database and the clock. */
function createWorker(clock: { ms: number }, number = 1, shards = { from: 0, to: 64 }) {
  const now = () => new Date(clock.ms)
  const leaseToken = `00000000-0000-0000-0000-00000000000${number}`
  const daily = createDailyLimit({ db, now }, createLimitBook({ db }, throwIt))
  const shared = { daily, placed: createPlacedEmails(), breakers: neverOpen }
  const gate = createDayLimit({ db, now, wake, ...shared }, leaseToken)
  const deps = { db, wake }
  return {
    async claim(limit = 1_000) {
      await transact.one(deps, (inTrx) =>
        readyDue(inTrx.db, shards, now(), { perShard: 10_000, rights }),
      )
      const asked = { ...allLines(limit, shards), leaseToken, leaseMs: HOUR_MS, now: now() }
      const { deliveries } = await transact.one(deps, (inTrx) => claimInTrx(inTrx.db, asked))
      return gate(deliveries)
    },
    /** The same after the warm-up of domains, as a lane does it. */
    async claimWarmingUp() {
      await transact.one(deps, (inTrx) =>
        readyDue(inTrx.db, shards, now(), { perShard: 10_000, rights }),
      )
      const asked = { ...allLines(1_000, shards), leaseToken, leaseMs: HOUR_MS, now: now() }
      const { deliveries } = await transact.one(deps, (inTrx) => claimInTrx(inTrx.db, asked))
      const config = { warmUp: true } as Parameters<typeof createWarmUp>[0]['config']
      const warmUp = createWarmUp({ db, now, wake, config, breakers: neverOpen }, leaseToken)
      return gate(await warmUp(deliveries))
    },
    giveBack: (some: ClaimedDelivery[]) =>
      transact.one(deps, (inTrx) => releaseDeliveries(inTrx.db, some, leaseToken)),
  }
}

async function queued(count: number, mailClass: number) {
  const { workspaceId, domainId } = await seedWorkspace(db)
  const dueAt = new Date(START_MS)
  const expiresAt = new Date(START_MS + DAY_MS)
  await queueDeliveries(db, { workspaceId, domainId, count, dueAt, expiresAt })
  await sql`update deliveries set class = ${mailClass}, email_id = ${workspaceId} || email_id
    where workspace_id = ${workspaceId}`.execute(db)
  return workspaceId
}

test('what has no place waits for tomorrow, untried, and keeps the time that it has', async () => {
  const workspaceId = await queued(10, 1)
  const free = await queued(5, 1)
  await limitTo(db, workspaceId, { emailsPerDay: 4 })
  const clock = { ms: START_MS }
  const worker = createWorker(clock)
  const sent = await worker.claim()
  expect(sent.filter((one) => one.workspace_id === free)).toHaveLength(5)
  expect(sent.filter((one) => one.workspace_id === workspaceId)).toHaveLength(4)
  const waiting = await db
    .selectFrom('deliveries')
    .selectAll()
    .where('state', '=', 'queued')
    .execute()
  expect(waiting).toHaveLength(6)
  const tomorrow = Date.UTC(2026, 2, 3)
  for (const row of waiting) {
    const next = row.next_at.getTime()
    expect(next).toBeGreaterThanOrEqual(tomorrow)
    expect(next).toBeLessThan(tomorrow + 2 * HOUR_MS)
    expect(row.expires_at.getTime()).toBe(START_MS + DAY_MS + (next - START_MS))
    expect([row.attempt, row.ready, row.lease_token]).toEqual([0, false, null])
    expect(row.last_response).toBe(
      'it waits: its workspace has sent as many emails today as it may',
    )
  }
  await bringTo(db, { ids: sent.map(({ id }) => id) }, 'delivered', new Date(START_MS))
  expect(await worker.claim()).toEqual([])
  clock.ms = tomorrow + 3 * HOUR_MS
  expect(await worker.claim()).toHaveLength(4)
})

test('several workers together send no more than the day has', async () => {
  const workspaceId = await queued(400, 1)
  await limitTo(db, workspaceId, { emailsPerDay: 100 })
  const clock = { ms: START_MS }
  const workers = [0, 1, 2, 3].map((n) =>
    createWorker(clock, n + 1, { from: n * 16, to: n * 16 + 16 }),
  )
  const rounds = await Promise.all(workers.map((worker) => worker.claim()))
  const sent = rounds.flat().length
  expect(sent).toBeLessThanOrEqual(100)
  expect(sent).toBeGreaterThanOrEqual(96)
})

test('mail of the API has its place already, transactional mail of a workflow waits too', async () => {
  const workspaceId = await queued(6, 0)
  const rows = await db.selectFrom('deliveries').select('id').orderBy('id').execute()
  await sql`
    insert into emails (id, workspace_id, type, category, "from", "to", subject, domain_id, message_id,
      workflow_id, created_at, track_opens, track_clicks)
    select email_id, workspace_id, 'transactional', 'transactional', 'a@sender.test', '{}', 'S', domain_id,
      email_id, case when id > ${rows[2]?.id ?? 0} then 'wf_1' end, created_at, false, false
    from deliveries`.execute(db)
  await limitTo(db, workspaceId, { emailsPerDay: 1 })
  const sent = await createWorker({ ms: START_MS }).claim()
  expect(sent.map(({ id }) => id).sort()).toEqual(
    rows
      .slice(0, 4)
      .map(({ id }) => id)
      .sort(),
  )
})

test('what was given back untried keeps its place; a retry needs none; the mails of one email take one', async () => {
  const workspaceId = await queued(4, 1)
  await sql`update deliveries set email_id = 'em_1' where id % 2 = 0`.execute(db)
  await limitTo(db, workspaceId, { emailsPerDay: 3 })
  const clock = { ms: START_MS }
  const worker = createWorker(clock)
  const first = await worker.claim()
  expect(first).toHaveLength(4)
  await worker.giveBack(first)
  const again = await worker.claim()
  expect(again).toHaveLength(4)
  const ids = again.map(({ id }) => id)
  await sql`update deliveries set state = 'deferred', attempt = 1, lease_until = null, lease_token = null,
    next_at = ${new Date(START_MS + HOUR_MS)} where id = any(${ids}::bigint[])`.execute(db)
  clock.ms = START_MS + 2 * HOUR_MS
  // Of a worker that knows nothing of the places.
  expect(await createWorker(clock, 2).claim()).toHaveLength(4)
})

test('what has no place today gives that in the warm-up of its domain back: no mail warms nothing up', async () => {
  const workspaceId = await queued(10, 1)
  await db.updateTable('domains').set({ is_warmed_up: false, warmed_up_at: null }).execute()
  await sql`truncate domain_days`.execute(db)
  await limitTo(db, workspaceId, { emailsPerDay: 3 })
  expect(await createWorker({ ms: START_MS }).claimWarmingUp()).toHaveLength(3)
  const { rows } = await sql<{ reserved: number }>`
    select sum(reserved)::int as reserved from domain_days`.execute(db)
  expect(rows).toEqual([{ reserved: 3 }])
})
