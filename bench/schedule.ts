// Figure: how soon scheduled mail is claimed when much of it becomes due in one second among a million that waits, and a claim of
// other mail beside it, against the same claim without any.

import { type Kysely, sql } from 'kysely'
import { transact } from '../commands/transact.ts'
import { claimSettings } from '../db/deliveries/claim.ts'
import { readyDue } from '../db/deliveries/ready.ts'
import type { Database } from '../db/schema.ts'
import { limits } from '../rules/limits.ts'
import { createLaneClaims } from './laneClaims.ts'
import { describePostgres } from './machine.ts'
import { type Bench, figure, percentile, rounded } from './report.ts'
import { interleave, type Pair } from './rounds.ts'
import { withServers } from './servers.ts'
import { connectAsWorker } from './workerConnections.ts'

const DUE_S_MAX = 10
const RATIO_AT_MOST = 1.1
const LIMIT = 200
const CLAIMS = 40
/** As a lane asks (delivery/lane/ready.ts). */
const READY_MAX = 50
const rights = { allowUnverifiedDomains: false, simulatorDomain: 'simulator.test' }
const LEASE = '00000000-0000-0000-0000-000000000001'
/** Other mail, of which the claims of all rounds take some. */
const OTHERS = 200_000
const ALL = { from: 0, to: limits.shards }

type Db = Kysely<Database>

export const schedule: Bench = (options) =>
  withServers(options.say, async (servers) => {
    const { say, quick } = options
    const rounds = options.rounds ?? (quick ? 2 : 5)
    const rows = options.rows ?? (quick ? 20_000 : 1_000_000)
    const due = Math.min(options.count ?? (quick ? 1_000 : 10_000), rows)
    const others = quick ? 40_000 : OTHERS
    const postgres = await servers.postgres({ durable: true })
    const open = async (name: string) => {
      const url = await servers.database(postgres, name)
      const db = connectAsWorker(servers, url)
      await fillOthers(db, others)
      return { db, claiming: connectAsWorker(servers, url, claimSettings), url }
    }
    const [beside, alone] = [await open('beside'), await open('alone')]
    say(`filling ${rows} scheduled deliveries`)
    const begin = new Date(Date.now() + 3_600_000)
    await fillScheduled(beside.db, { rows, due, begin })
    for (const { db } of [beside, alone]) await sql`vacuum analyze`.execute(db)
    const [claimBeside, claimAlone] = [
      await claimer(beside.claiming),
      await claimer(alone.claiming),
    ]
    const pairs: Pair[] = await interleave({
      rounds,
      unit: 'ms',
      say,
      subject: () => timed(claimBeside),
      reference: () => timed(claimAlone),
    })
    say(`the second of ${due} of them has come`)
    await sql`delete from deliveries where not scheduled`.execute(beside.db)
    const took_s = await claimDue(beside, { due, now: new Date(begin.getTime() + 1_000) })
    const claimed: Pair[] = [{ subject: rounded(took_s), reference: DUE_S_MAX }]
    return {
      reference:
        `claim: of ${LIMIT} deliveries among ${others} without scheduled mail beside them; a round is the median of ${CLAIMS} claims; ` +
        `due: the bar, for ${due} of ${rows} that are due in one second, made ready and claimed by one lane`,
      rounds,
      figures: [
        figure('claim', pairs, 'ms', { at_most: RATIO_AT_MOST }),
        figure('due', claimed, 's', { at_most: 1 }),
      ],
      postgres: await describePostgres(beside.url),
      temporal: 'none',
    }
  })

/** The median of some claims, in ms. */
async function timed({ claim }: Claimer): Promise<number> {
  const each: number[] = []
  for (let n = 0; n < CLAIMS; n++) {
    const began = performance.now()
    const { count } = await claim()
    each.push(performance.now() - began)
    if (count < LIMIT / 4) throw new Error(`a claim took ${count}`)
  }
  return rounded(percentile(each, 0.5))
}

type Claimer = Awaited<ReturnType<typeof claimer>>

/** Claims go on from one to the next, as those of a lane. */
async function claimer(claiming: Db, now: () => Date = () => new Date()) {
  const claims = await createLaneClaims(claiming)
  const rooms = { known: new Map<string, number>(), other: Number.POSITIVE_INFINITY }
  const asked = { limit: LIMIT, rooms, leaseToken: LEASE, leaseMs: 3_600_000 }
  return { add: claims.add, claim: () => claims.claim({ ...asked, now: now() }) }
}

/** Makes ready and claims, in turn as a lane does both, until all that is due is claimed. @returns seconds */
async function claimDue(
  { db, claiming }: { db: Db; claiming: Db },
  { due, now }: { due: number; now: Date },
): Promise<number> {
  const { add, claim } = await claimer(claiming, () => now)
  const began = performance.now()
  let crowded: ReadonlyMap<number, string> = new Map()
  for (let claimed = 0; claimed < due; ) {
    const made = await transact.one({ db, wake: () => undefined }, (inTrx) =>
      readyDue(inTrx.db, ALL, now, { perShard: READY_MAX, rights, crowded }),
    )
    crowded = made.crowded
    add(made.rows)
    const { count, more } = await claim()
    if (made.count + count === 0 && !more) throw new Error(`${claimed} of ${due} were claimed`)
    claimed += count
  }
  return (performance.now() - began) / 1_000
}

async function fillOthers(db: Db, rows: number): Promise<void> {
  await sql`
    insert into deliveries (email_id, workspace_id, domain_id, recipient, shard, state, next_at, expires_at,
      created_at, marketing, class, destination)
    select 'email_' || i, 'ws_' || i % 50, 'dom_1', 'user' || i || '@d' || i % 997 || '.test',
      i % 997 % ${limits.shards}::int, 'queued', now() - interval '1 hour' + i * interval '1 ms', now() + interval '1 day',
      now(), false, i % 3, 'd' || i % 997 || '.test'
    from generate_series(1, ${rows}::int) i`.execute(db)
}

/** The first of them are due in the second that begins then, the others over a year. */
async function fillScheduled(
  db: Db,
  { rows, due, begin }: { rows: number; due: number; begin: Date },
): Promise<void> {
  await sql`
    insert into deliveries (email_id, workspace_id, domain_id, recipient, shard, state, next_at, due_at, expires_at,
      created_at, marketing, class, destination, ready, scheduled)
    select 'later_' || i, 'ws_' || i % 50, 'dom_1', 'later' || i || '@d' || i % 997 || '.test',
      i % 997 % ${limits.shards}::int, 'queued', at, at, at + interval '1 day', now(), false, 0, 'd' || i % 997 || '.test', false, true
    from generate_series(1, ${rows}::int) i cross join lateral (
      select ${begin}::timestamptz + case when i <= ${due}::int then i * interval '1 second' / ${due}::int
        else interval '1 hour' + i * interval '30 seconds' end as at
    ) t`.execute(db)
}
