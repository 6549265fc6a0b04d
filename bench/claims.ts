// Figure: a claim of 200 among a million deliveries, with classes, turns, rooms and the last look, against a plain claim
// of what is due longest; then the same while a snapshot is held open.

import { setTimeout as delay } from 'node:timers/promises'
import { type Kysely, sql } from 'kysely'
import { claimSettings } from '../db/deliveries/claim.ts'
import type { Database } from '../db/schema.ts'
import { limits } from '../rules/limits.ts'
import { accept, fill } from './claimQueues.ts'
import { createLaneClaims } from './laneClaims.ts'
import { describePostgres } from './machine.ts'
import { type Bench, type BenchOptions, figure, percentile, rounded } from './report.ts'
import { interleave, type Pair } from './rounds.ts'
import { withServers } from './servers.ts'
import { connectAsWorker } from './workerConnections.ts'

const RATIO_AT_MOST = 1.5
const P99_MS_MAX = 10
const LIMIT = 200
const LEASE = '00000000-0000-0000-0000-000000000001'
const CLAIMS = 40
/**
 * Rounds that do not count: their claims read the lines of which nothing is in memory yet, and V8 has compiled the code after some
 * thousand of them. A lane runs for days. The reference has little to learn, and each of its claims leaves dead entries in its index.
 */
const WARM_UP = { subject: 25, reference: 5 }

type Db = Kysely<Database>

export const claims: Bench = (options) =>
  withServers(options.say, async (servers) => {
    const { say } = options
    const { rounds, rows, held_s, warmUpRounds } = sizesOf(options)
    // The whole queue is in memory, as on a server that is made for one of this length.
    const postgres = await servers.postgres({ durable: true, sharedBuffers: '1GB' })
    const url = await servers.database(postgres, 'bench')
    const db = connectAsWorker(servers, url)
    const claiming = connectAsWorker(servers, url, claimSettings)
    say(`filling ${rows} deliveries`)
    await fill(db, rows)
    const claim = await claimer(claiming)
    const warmUpTimes = await warmUp(db, claim, warmUpRounds)
    await endClaims(db)
    await sql`vacuum analyze`.execute(db)
    const times: number[] = []
    const referenceTimes: number[] = []
    const pairs: Pair[] = await interleave({
      rounds,
      unit: 'ms',
      say,
      subject: () => middleAnd(times, claim),
      reference: () => middleAnd(referenceTimes, () => plainClaim(db)),
    })
    const quiet = p99(times)
    const unflushed = middleOf(await timed(() => plainUnflushed(db)))
    say(
      `99th percentile ${quiet} ms; now ${held_s} s of claims and ends at full rate beside a held snapshot`,
    )
    await endClaims(db)
    const held = await besideSnapshot(db, connectAsWorker(servers, url), claim, {
      seconds: held_s,
      rows,
      say,
    })
    return {
      reference:
        `a claim of the ${LIMIT} deliveries that are due longest, by one index of shards and times, without classes, turns, ` +
        `rooms or a look at who left, in a copy of the table with the indexes that such a queue needs; ${rows} deliveries of 3 classes, 50 workspaces and 997 destinations, with 1 GB of shared buffers; a round is the ` +
        `median of ${CLAIMS} claims, after ${warmUpRounds.subject} rounds that do not count, and ${warmUpRounds.reference} of the reference`,
      rounds,
      figures: [figure('claim', pairs, 'ms', { at_most: RATIO_AT_MOST })],
      further: {
        p99_ms: quiet,
        p99_ms_bar: P99_MS_MAX,
        reference_p99_ms: p99(referenceTimes),
        // Of those that did not count.
        warm_up_claims_ms: middleOf(warmUpTimes),
        warm_up_claims_p99_ms: p99(warmUpTimes),
        reference_unflushed_ms: unflushed,
        held_snapshot_s: held_s,
        held_claims: held.claims,
        held_first_p99_ms: held.first,
        held_last_p99_ms: held.last,
      },
      postgres: await describePostgres(url),
      temporal: 'none',
    }
  })

/** @throws Error for fewer rows than are claimed */
function sizesOf({ quick, ...asked }: BenchOptions) {
  const rounds = asked.rounds ?? (quick ? 2 : 5)
  const rows = asked.rows ?? (quick ? 50_000 : 1_000_000)
  const held_s = asked.seconds ?? (quick ? 3 : 120)
  const warmUpRounds = quick ? { subject: 1, reference: 1 } : WARM_UP
  const needed = (warmUpRounds.subject + rounds + 1) * CLAIMS * LIMIT
  if (rows < needed) throw new Error(`--rows must be ${needed} or more: so many are claimed`)
  return { rounds, rows, held_s, warmUpRounds }
}

/** ms of some claims. */
async function timed(work: () => Promise<number>): Promise<number[]> {
  const each: number[] = []
  for (let n = 0; n < CLAIMS; n++) {
    const began = performance.now()
    const count = await work()
    each.push(performance.now() - began)
    if (count < LIMIT / 4) throw new Error(`a claim took ${count}`)
  }
  return each
}

/** Claims of both that do not count. @returns ms of each claim of the subject */
async function warmUp(
  db: Db,
  claim: () => Promise<number>,
  rounds: typeof WARM_UP,
): Promise<number[]> {
  const times: number[] = []
  for (let n = 0; n < rounds.subject; n++) times.push(...(await timed(claim)))
  for (let n = 0; n < rounds.reference; n++) await timed(() => plainClaim(db))
  return times
}

/** Ends what was claimed, as if it was delivered. */
async function endClaims(db: Db): Promise<void> {
  await sql`update deliveries set state = 'delivered', settled_at = now(), lease_token = null, lease_until = null
    where id = any(array(select unnest(ids) from delivery_claims)) and lease_until is not null`.execute(
    db,
  )
  await sql`delete from delivery_claims`.execute(db)
}

/** The median of some claims, ms, whose times are added to others. */
async function middleAnd(times: number[], work: () => Promise<number>): Promise<number> {
  const each = await timed(work)
  times.push(...each)
  return middleOf(each)
}

/** Claims go on from one to the next, as those of a lane. */
async function claimer(claiming: Db): Promise<() => Promise<number>> {
  const known = new Map(Array.from({ length: 300 }, (_, n) => [`d${n * 3}.test`, n % 30]))
  const claims = await createLaneClaims(claiming)
  return async () => {
    const asked = {
      limit: LIMIT,
      rooms: { known, other: 25 },
      leaseToken: LEASE,
      leaseMs: 3_600_000,
    }
    return (await claims.claim({ ...asked, now: new Date() })).count
  }
}

async function plainClaim(db: Db): Promise<number> {
  const now = new Date()
  const first = Math.floor(Math.random() * limits.shards)
  const shards = Array.from({ length: limits.shards }, (_, n) => (first + n) % limits.shards)
  const { rows } = await sql`
    /* plain */ update plain_queue d
    set state = 'sending', attempt = attempt + 1, lease_token = ${LEASE}::uuid, fence = ${LEASE}::uuid,
        lease_until = ${new Date(now.getTime() + 3_600_000)}
    from (
      select due.id, due.state from unnest(${shards}::smallint[]) as s (shard)
      cross join lateral (
        select id, state from plain_queue
        where shard = s.shard and lease_until is null and settled_at is null and state in ('queued', 'deferred')
          and next_at <= ${now}
        order by next_at limit 13
        for update skip locked
      ) due
      limit ${LIMIT}
    ) due
    where d.id = due.id
    returning d.id, d.email_id, d.workspace_id, d.domain_id, d.recipient, d.shard, d.attempt, d.expires_at,
      d.resent, d.last_response, d.slot_day::text, due.state as was`.execute(db)
  return rows.length
}

/** The reference with a commit that does not wait for the disk, as that of the subject. */
const plainUnflushed = (db: Db) =>
  db.transaction().execute(async (trx) => {
    await sql`select set_config('synchronous_commit', 'off', true)`.execute(trx)
    return plainClaim(trx)
  })

/** Claims and ends deliveries as fast as it can, and accepts as many, while another connection holds a snapshot of before. */
async function besideSnapshot(
  db: Db,
  holder: Db,
  claim: () => Promise<number>,
  { seconds, rows, say }: { seconds: number; rows: number; say: (line: string) => void },
) {
  const times: number[] = []
  let last = rows
  await holder
    .transaction()
    .setIsolationLevel('repeatable read')
    .execute(async (trx) => {
      await sql`select count(*) from workspaces`.execute(trx)
      const end = Date.now() + seconds * 1_000
      let told = Date.now()
      while (Date.now() < end) {
        const began = performance.now()
        const due = await claim()
        times.push(performance.now() - began)
        await endClaims(db)
        // Else the queue would be empty long before the end.
        await accept(db, last + 1, last + due)
        last += due
        if (Date.now() - told > 10_000) {
          told = Date.now()
          say(
            `${times.length} claims; the last hundred: 99th percentile ${p99(times.slice(-100))} ms`,
          )
        }
        await delay(0)
      }
    })
  await holder.destroy()
  return {
    claims: times.length,
    first: p99(times.slice(0, 100)),
    last: p99(times.slice(-100)),
  }
}

const middleOf = (values: number[]) => rounded(percentile(values, 0.5))
const p99 = (values: number[]) => rounded(percentile(values, 0.99))
