// Rows of the outbox that stand behind others of their executions: claims read them a few times, however many they are, and
// they come at once when what they stand behind is done.
import { sql } from 'kysely'
import { beforeEach, expect, test } from 'vitest'
import { transact } from '../../commands/transact.ts'
import { listOutboxLines } from '../../db/outbox.ts'
import { claimOutbox, settleOutbox } from '../../db/outboxClaims.ts'
import { noteQueries } from '../setup/askedQueries.ts'
import { createTestDatabase } from '../setup/database.ts'
import { nodesOf } from '../setup/planNodes.ts'

const { db, pool } = await createTestDatabase()
const START_MS = Date.UTC(2026, 2, 2, 9)
const BEHIND = 5_000
const MOST = 64

let time = START_MS
const at = (ms = 0) => new Date(time + ms)

const { db: listening, asked } = noteQueries(pool)

beforeEach(async () => {
  time = START_MS
  await sql`truncate outbox restart identity`.execute(db)
})

/** Starts that Temporal has refused, with a cancellation behind each. */
async function refusedWithCancels(count: number): Promise<void> {
  for (const kind of ['start', 'cancel'] as const) {
    await sql`
      insert into outbox (kind, execution_id, workspace_id, workflow_id, contact_id, payload, attempts, next_at, created_at)
      select ${kind}, 'exec_' || n, 'ws_1', 'wf_1', '', '{}', case when ${kind} = 'start' then 5 else 0 end,
        ${at(-60_000)}::timestamptz + case when ${kind} = 'start' then interval '1 hour' else '0' end, ${at(-60_000)}
      from generate_series(1, ${count}::int) n
    `.execute(db)
  }
}

const insert = (kind: 'start' | 'signal' | 'cancel', executionId: string) =>
  sql`insert into outbox (kind, execution_id, workspace_id, workflow_id, contact_id, payload, next_at, created_at)
    values (${kind}, ${executionId}, 'ws_1', 'wf_1', '', '{}', ${at()}, ${at()})`.execute(db)

/** Claims as a starter does. */
async function claim(on = db) {
  const asking = { now: at(), refused: false }
  const { due } = await listOutboxLines(db, null, asking)
  const lines = due.map((line) => ({ ...line, most: Math.floor(MOST / due.length) }))
  const until = at(15_000)
  const found = await transact.one({ db: on, wake: () => undefined }, (inTrx) =>
    claimOutbox(inTrx.db, lines, { ...asking, until }),
  )
  return { ...found, until, executions: found.rows.map((row) => row.execution_id) }
}

const done = ({ rows, until }: Awaited<ReturnType<typeof claim>>) =>
  transact.one({ db, wake: () => undefined }, (inTrx) =>
    settleOutbox(
      inTrx.db,
      { now: at(), until },
      { done: rows.map(({ id }) => id), putOff: { ids: [], until }, refused: [] },
    ),
  )

/** How many rows of the outbox a claim reads. It is run again and rolled back. */
async function readsOfClaim(): Promise<number> {
  asked.length = 0
  const client = await pool.connect()
  try {
    await client.query('begin')
    await claim(listening)
    const query = asked.find(({ sql: text }) => /update outbox/.test(text))
    const explain = `explain (analyze, format json) ${query?.sql}`
    const { rows } = await client.query(explain, [...(query?.parameters ?? [])])
    const nodes = [...nodesOf(rows[0]['QUERY PLAN'][0].Plan)]
    const reads = nodes.filter((node) => /Scan/.test(node['Node Type']))
    const own = reads.filter((node) => node['Relation Name'] === 'outbox')
    return own.reduce((sum, node) => {
      const each = node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)
      return sum + each * node['Actual Loops']
    }, 0)
  } finally {
    await client.query('rollback')
    client.release()
  }
}

test('a claim reads few of the rows that stand behind refused starts, and soon none', async () => {
  await refusedWithCancels(BEHIND)
  await insert('signal', 'other')
  await sql`analyze outbox`.execute(db)
  expect(await readsOfClaim()).toBeLessThan(30 * MOST)
  // What stands behind them all comes soon: each claim puts off what it has read.
  let claims = 0
  for (let found: string[] = []; !found.includes('other'); claims += 1) {
    const one = await claim()
    expect(one.putOff + one.rows.length).toBeGreaterThan(0)
    found = one.executions
  }
  expect(claims).toBeLessThanOrEqual(BEHIND / MOST)
  const { putOff, rows } = await claim()
  expect([putOff, rows]).toEqual([0, []])

  // They are looked at again as late as they have been waiting, and then twice as late.
  time += 60_000
  expect((await claim()).putOff).toBeGreaterThan(0)
  for (let more = true; more; ) more = (await claim()).putOff > 0
  time += 60_000
  expect((await claim()).putOff).toBe(0)
  time += 60_000
  expect((await claim()).putOff).toBeGreaterThan(0)
})

test('a claim that finds enough reads and locks no more than it takes', async () => {
  await sql`
    insert into outbox (kind, execution_id, workspace_id, workflow_id, contact_id, payload, next_at, created_at)
    select 'signal', 'exec_' || n, 'ws_1', 'wf_1', '', '{}', ${at()}, ${at()} from generate_series(1, ${BEHIND}::int) n
  `.execute(db)
  await sql`analyze outbox`.execute(db)
  expect(await readsOfClaim()).toBeLessThanOrEqual(4 * MOST)
})

test('what stands behind a row that is done comes at once, in its order', async () => {
  await insert('start', 'one')
  await insert('signal', 'one')
  await insert('cancel', 'one')
  const seen: string[] = []
  for (let n = 0; n < 3; n++) {
    const one = await claim()
    seen.push(...one.rows.map(({ kind }) => kind))
    // Nothing passes it, however often others look.
    expect((await claim()).rows).toEqual([])
    await done(one)
  }
  expect(seen).toEqual(['start', 'signal', 'cancel'])
  expect(await db.selectFrom('outbox').selectAll().execute()).toEqual([])
})

test('a row stays due while somebody settles what it stands behind', async () => {
  await insert('start', 'one')
  const first = await claim()
  expect(first.executions).toEqual(['one'])
  await insert('cancel', 'one')
  await db.transaction().execute(async (holder) => {
    await sql`delete from outbox where kind = 'start'`.execute(holder)
    expect(await claim()).toMatchObject({ rows: [], putOff: 0 })
  })
  expect((await claim()).rows.map(({ kind }) => kind)).toEqual(['cancel'])
})
