// Figure: a claim of 200 among a million deliveries, with classes, turns, rooms and the last look, against a plain claim
// of what is due longest; then claims at full rate, and these while a snapshot is held open.

import { type Kysely, sql } from 'kysely'
import type { Database } from '../db/schema.ts'
import type { Claimer, ClaimSide } from './claimer.ts'
import { accept, CLAIM_LIMIT, fill } from './claimQueues.ts'
import { describePostgres } from './machine.ts'
import { startRemote } from './remote.ts'
import { type Bench, type BenchOptions, figure, percentile, rounded } from './report.ts'
import { interleave, type Pair } from './rounds.ts'
import { type Servers, withServers } from './servers.ts'
import { connectAsWorker } from './workerConnections.ts'
import { WORKER_SETTINGS } from './workerSettings.ts'

const RATIO_AT_MOST = 1.5
const P99_MS_MAX = 10
const CLAIMS = 40
/**
 * Rounds that do not count: their claims read the lines of which nothing is in memory yet, and V8 has compiled the code after some
 * thousand of them. A lane runs for days. The reference has little to learn, and each of its claims leaves dead entries in its index.
 */
const WARM_UP = { subject: 25, reference: 5 }
/** Seconds at full rate without a held snapshot, at most. Claims beside one are compared with these. */
const NO_SNAPSHOT_S = 60

type Db = Kysely<Database>
type Claim = (side: ClaimSide, claims: number) => Promise<{ ms: number; count: number }[]>

export const claims: Bench = (options) =>
  withServers(options.say, async (servers) => {
    const { say } = options
    const { rounds, rows, held_s, warmUpRounds } = sizesOf(options)
    const { db, url, claim } = await openQueue(servers, rows, say)
    const warmUpTimes = await warmUp(claim, warmUpRounds)
    await endClaims(db)
    await sql`vacuum analyze`.execute(db)
    const times: number[] = []
    const referenceTimes: number[] = []
    const pairs: Pair[] = await interleave({
      rounds,
      unit: 'ms',
      say,
      subject: async () => middleAnd(times, await timed(claim, 'subject')),
      reference: async () => middleAnd(referenceTimes, await timed(claim, 'reference')),
    })
    const quiet = p99(times)
    const unflushed = middleOf(await timed(claim, 'unflushedReference'))
    const no_snapshot_s = Math.min(held_s, NO_SNAPSHOT_S)
    say(`99th percentile ${quiet} ms; now ${no_snapshot_s} s of claims and ends at full rate`)
    await endClaims(db)
    const queue = { db, claim }
    const without = await atFullRate(queue, { seconds: no_snapshot_s, from: rows, say })
    say(`now ${held_s} s of them beside a held snapshot`)
    const held = await besideSnapshot(connectAsWorker(servers, url), () =>
      atFullRate(queue, { seconds: held_s, from: without.accepted, say }),
    )
    return {
      reference:
        `a claim of the ${CLAIM_LIMIT} deliveries that are due longest, by one index of shards and times, without classes, turns, ` +
        `rooms or a look at who left, in a copy of the table with the indexes that such a queue needs; ${rows} deliveries of 3 classes, 50 workspaces and 997 destinations, with 1 GB of shared buffers; both in one process with the young generation that is recommended for a worker; a round is the ` +
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
        // At full rate, without a snapshot that is held and beside one.
        no_snapshot_s,
        no_snapshot_claims: without.claims,
        no_snapshot_ms: without.middle,
        no_snapshot_first_p99_ms: without.first,
        no_snapshot_last_p99_ms: without.last,
        held_snapshot_s: held_s,
        held_claims: held.claims,
        held_ms: held.middle,
        held_first_p99_ms: held.first,
        held_last_p99_ms: held.last,
      },
      postgres: await describePostgres(url),
      temporal: 'none',
    }
  })

/** Fills the queues, and begins a process that claims from them. */
async function openQueue(servers: Servers, rows: number, say: (line: string) => void) {
  // The whole queue is in memory, as on a server that is made for one of this length.
  const postgres = await servers.postgres({ durable: true, sharedBuffers: '1GB' })
  const url = await servers.database(postgres, 'bench')
  const db = connectAsWorker(servers, url)
  say(`filling ${rows} deliveries`)
  await fill(db, rows)
  const remote = startRemote<Claimer>('./claimer.ts', WORKER_SETTINGS)
  servers.add(() => remote.stop())
  await remote.call('begin', { url })
  const claim: Claim = (side, claims) => remote.call('claim', { side, claims })
  return { db, url, claim }
}

/** @throws Error for fewer rows than are claimed */
function sizesOf({ quick, ...asked }: BenchOptions) {
  const rounds = asked.rounds ?? (quick ? 2 : 5)
  const rows = asked.rows ?? (quick ? 50_000 : 1_000_000)
  const held_s = asked.seconds ?? (quick ? 3 : 120)
  const warmUpRounds = quick ? { subject: 1, reference: 1 } : WARM_UP
  const needed = (warmUpRounds.subject + rounds + 1) * CLAIMS * CLAIM_LIMIT
  if (rows < needed) throw new Error(`--rows must be ${needed} or more: so many are claimed`)
  return { rounds, rows, held_s, warmUpRounds }
}

/** ms of some claims. */
async function timed(claim: Claim, side: ClaimSide): Promise<number[]> {
  const each = await claim(side, CLAIMS)
  for (const { count } of each) {
    if (count < CLAIM_LIMIT / 4) throw new Error(`a claim took ${count} deliveries`)
  }
  return each.map(({ ms }) => ms)
}

/** Claims of both that do not count. @returns ms of each claim of the subject */
async function warmUp(claim: Claim, rounds: typeof WARM_UP): Promise<number[]> {
  const times: number[] = []
  for (let n = 0; n < rounds.subject; n++) times.push(...(await timed(claim, 'subject')))
  for (let n = 0; n < rounds.reference; n++) await timed(claim, 'reference')
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
function middleAnd(times: number[], each: number[]): number {
  times.push(...each)
  return middleOf(each)
}

/**
 * Claims and ends deliveries as fast as it can, and accepts as many, because otherwise the queue would soon be empty.
 * @param from after which number
 */
async function atFullRate(
  { db, claim }: { db: Db; claim: Claim },
  { seconds, from, say }: { seconds: number; from: number; say: (line: string) => void },
) {
  const times: number[] = []
  const end = Date.now() + seconds * 1_000
  let last = from
  let told = Date.now()
  while (Date.now() < end) {
    const [one] = await claim('subject', 1)
    if (!one || one.count < CLAIM_LIMIT / 4)
      throw new Error(`claim ${times.length + 1} at full rate took ${one?.count} deliveries`)
    times.push(one.ms)
    await endClaims(db)
    await accept(db, last + 1, last + one.count)
    last += one.count
    if (Date.now() - told > 10_000) {
      told = Date.now()
      say(`${times.length} claims; the last hundred: 99th percentile ${p99(times.slice(-100))} ms`)
    }
  }
  return {
    claims: times.length,
    middle: middleOf(times),
    first: p99(times.slice(0, 100)),
    last: p99(times.slice(-100)),
    accepted: last,
  }
}

/** Runs work while another connection holds a snapshot of before, as a backup does. */
const besideSnapshot = <T>(holder: Db, work: () => Promise<T>): Promise<T> =>
  holder
    .transaction()
    .setIsolationLevel('repeatable read')
    .execute(async (trx) => {
      await sql`select count(*) from workspaces`.execute(trx)
      return work()
    })

const middleOf = (values: number[]) => rounded(percentile(values, 0.5))
const p99 = (values: number[]) => rounded(percentile(values, 0.99))
