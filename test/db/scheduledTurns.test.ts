// Much scheduled mail of one workspace that is due at once, beside a little of others in the same shard: nobody waits for it.
import { sql } from 'kysely'
import { beforeEach, expect, test } from 'vitest'
import { transact } from '../../commands/transact.ts'
import type { Trx } from '../../db/connect.ts'
import { claimSettings } from '../../db/deliveries/claim.ts'
import { isAnyDue, type Readied, readyDue } from '../../db/deliveries/ready.ts'
import { noteQueries } from '../setup/askedQueries.ts'
import { createTestDatabase } from '../setup/database.ts'
import { nodesOf } from '../setup/planNodes.ts'
import { rights } from '../setup/queue.ts'

const { db, pool } = await createTestDatabase({ settings: { enable_seqscan: 'off' } })
const ALL = { from: 0, to: 64 }
const DUE = Date.UTC(2026, 2, 2, 9)
const PER_SHARD = 50

beforeEach(() => sql`truncate deliveries`.execute(db))

/** Scheduled mail of one shard. @param each the workspace of the n-th */
async function schedule(count: number, at_ms: number, each = sql`'ws_many'`) {
  await sql`
    insert into deliveries (email_id, workspace_id, domain_id, recipient, shard, state, next_at, due_at, expires_at, created_at,
      scheduled, ready)
    select 'em_' || ${at_ms}::bigint || '_' || i, ${each}, 'dom_1', 'r' || i || '@x.test', 7, 'queued', t.at, t.at, t.at, now(),
      true, false
    from generate_series(1, ${count}::int) i, (select ${new Date(at_ms)}::timestamptz as at) t`.execute(
    db,
  )
}

const ready = (crowded: Readied['crowded'] = new Map()) =>
  transact.one({ db, wake: () => undefined }, ({ db: trx }) =>
    readyDue(trx, ALL, new Date(DUE + 1_000), { perShard: PER_SHARD, rights, crowded }),
  )

const readyOf = async (workspace: string) => {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from deliveries where ready and workspace_id = ${workspace}`.execute(
    db,
  )
  return rows[0]?.count
}

/** Calls until that workspace has some that is ready. @returns how many calls it took */
async function callsUntilReady(workspace: string, most: number): Promise<number> {
  let crowded: Readied['crowded'] = new Map()
  for (let calls = 1; calls <= most; calls++) {
    crowded = (await ready(crowded)).crowded
    if ((await readyOf(workspace)) !== 0) return calls
  }
  return Number.POSITIVE_INFINITY
}

test.each(['ws_before', 'ws_other', 'ws_z'])(
  'mail of %s that is due a millisecond later is ready in the second call',
  async (name) => {
    await schedule(2_000, DUE)
    await schedule(1, DUE + 1, sql`${name}::text`)
    expect(await callsUntilReady(name, 2)).toBeLessThanOrEqual(2)
  },
)

test('workspaces that wait for other days make the walk longer, and hide nobody', async () => {
  await schedule(5_000, DUE)
  await schedule(350, DUE + 86_400_000, sql`'ws_later_' || i`)
  await schedule(3, DUE + 1, sql`'ws_z'`)
  expect(await callsUntilReady('ws_z', 5)).toBeLessThanOrEqual(5)
})

test('all of it becomes ready, each once, and then no shard is crowded', async () => {
  await schedule(170, DUE)
  await schedule(30, DUE + 1, sql`'ws_' || i % 3`)
  let made = 0
  let crowded: Readied['crowded'] = new Map()
  do {
    const found = await ready(crowded)
    made += found.count
    crowded = found.crowded
  } while (crowded.size > 0)
  expect(made).toBe(200)
})

/** The statement on deliveries that some work sends. */
async function statementOf(work: (trx: Trx) => Promise<unknown>) {
  const { db: listening, asked } = noteQueries(pool)
  await transact.one({ db: listening, wake: () => undefined }, ({ db: trx }) => work(trx))
  return asked.find(({ sql: text }) => text.includes('from deliveries'))
}

test('a call reads what it takes, by indexes, of however much', async () => {
  await schedule(20_000, DUE)
  await schedule(20_000, DUE + 86_400_000, sql`'ws_later_' || i % 40`)
  await sql`analyze deliveries`.execute(db)
  const query = await statementOf((trx) =>
    readyDue(trx, ALL, new Date(DUE), { perShard: PER_SHARD, rights, crowded: new Map([[7, '']]) }),
  )
  const { rows } = await pool.query(`explain (analyze, format json) ${query?.sql}`, [
    ...(query?.parameters ?? []),
  ])
  const scans = [...nodesOf(rows[0]['QUERY PLAN'][0].Plan)].filter(
    (node) => node['Relation Name'] === 'deliveries' && /Scan/.test(node['Node Type']),
  )
  const names = scans.map((node) => node['Index Name'] ?? node['Node Type'])
  expect(names).toContain('deliveries_put_off_turns')
  expect(names).not.toContain('Seq Scan')
  const dropped = scans.map((node) => (node['Rows Removed by Filter'] ?? 0) * node['Actual Loops'])
  expect(Math.max(...dropped)).toBeLessThanOrEqual(100)
  const read = scans.map((node) => Math.round(node['Actual Rows'] * node['Actual Loops']))
  expect(Math.max(...read)).toBeLessThanOrEqual(1_000)
})

test('one statement takes no more where every shard is crowded than where one is, and all of it becomes ready', async () => {
  await sql`
    insert into deliveries (email_id, workspace_id, domain_id, recipient, shard, state, next_at, due_at, expires_at, created_at,
      scheduled, ready)
    select 'em_' || s || '_' || w || '_' || i, 'ws_' || s || '_' || w, 'dom_1', 'r@x.test', s, 'queued', t.at, t.at, t.at, now(),
      true, false
    from generate_series(0, 63) s, generate_series(10, 29) w, generate_series(1, 11) i,
      (select ${new Date(DUE)}::timestamptz as at) t`.execute(db)
  let crowded: Readied['crowded'] = new Map(Array.from({ length: 64 }, (_, shard) => [shard, '']))
  let all = 0
  do {
    const found = await ready(crowded)
    expect(found.count).toBeLessThanOrEqual(2 * 64 * PER_SHARD)
    all += found.count
    crowded = found.crowded
  } while (crowded.size > 0)
  expect(all).toBe(64 * 20 * 11)
})

test('a look finds what is due in its shards and not ready, from a time on', async () => {
  const look = (asked: { shards?: typeof ALL; now_ms?: number; since_ms?: number } = {}) =>
    transact.one({ db, wake: () => undefined }, ({ db: trx }) =>
      isAnyDue(trx, {
        shards: asked.shards ?? ALL,
        now: new Date(asked.now_ms ?? DUE),
        since: asked.since_ms === undefined ? undefined : new Date(asked.since_ms),
      }),
    )
  expect(await look()).toBe(false)
  await schedule(1, DUE)
  expect(await look()).toBe(true)
  expect(await look({ now_ms: DUE - 1 }), 'its time has not come').toBe(false)
  expect(await look({ since_ms: DUE - 1 })).toBe(true)
  expect(await look({ since_ms: DUE }), 'it was due before').toBe(false)
  expect(await look({ shards: { from: 7, to: 8 } })).toBe(true)
  expect(await look({ shards: { from: 0, to: 7 } }), "another lane's").toBe(false)
  expect(await look({ shards: { from: 8, to: 64 } }), "another lane's").toBe(false)
  const but = async (change: ReturnType<typeof sql>) => {
    await sql`truncate deliveries`.execute(db)
    await schedule(1, DUE)
    await sql`update deliveries set ${change}`.execute(db)
    return look()
  }
  expect(await but(sql`ready = true, scheduled = false`)).toBe(false)
  expect(await but(sql`settled_at = now(), scheduled = false, state = 'cancelled'`)).toBe(false)
  expect(await but(sql`lease_until = now(), scheduled = false`)).toBe(false)
})

test('the look reads one row of a shard at most, whatever is scheduled for later', async () => {
  await schedule(20_000, DUE + 86_400_000, sql`'ws_' || i % 40`)
  const query = await statementOf((trx) =>
    isAnyDue(trx, { shards: ALL, now: new Date(DUE), since: undefined }),
  )
  const client = await pool.connect()
  try {
    for (const [name, value] of Object.entries(claimSettings)) {
      await client.query('select set_config($1, $2, false)', [name, value])
    }
    await client.query(`prepare look as ${query?.sql}`)
    const { rows } = await client.query(
      `explain (analyze, format json) execute look(0, 63, '${new Date(DUE).toISOString()}', null)`,
    )
    const scans = [...nodesOf(rows[0]['QUERY PLAN'][0].Plan)].filter(
      (node) => node['Relation Name'] === 'deliveries',
    )
    expect(scans.map((node) => [node['Index Name'], node['Actual Rows']])).toEqual([
      ['deliveries_put_off', 0],
    ])
    expect(scans.map((node) => node['Rows Removed by Filter'] ?? 0)).toEqual([0])
  } finally {
    client.release(true)
  }
})
