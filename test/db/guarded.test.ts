// A statement with a guard behind it: one round trip, both or neither are committed, and the guard sees what was committed meanwhile.
import { sql } from 'kysely'
import { beforeEach, expect, it } from 'vitest'
import { transact } from '../../commands/transact.ts'
import type { Trx } from '../../db/connect.ts'
import { executeGuarded, failIf } from '../../db/guarded.ts'
import { createTestDatabase } from '../setup/database.ts'
import { eventually } from '../setup/eventually.ts'
import { openSession } from '../setup/session.ts'
import { runSql } from '../setup/template.ts'

const { url, db, pool } = await createTestDatabase({ poolSize: 1 })
const deps = { db, wake: () => undefined }

/** Round trips: how often the connection was ready again. */
let answers = 0
pool.on('connect', (client) => {
  const { connection } = client as unknown as { connection: NodeJS.EventEmitter }
  connection.on('readyForQuery', () => {
    answers += 1
  })
})

/** A guard that passes while the sum of the table is no more than that. */
const atMost = (most: number) =>
  sql`with total as (select coalesce(sum(n), 0) as sum from guarded)
    select ${failIf(sql`sum > ${String(most)}::bigint`, 'too much')} from total`
const insert = (n: number) =>
  sql<{
    n: number
  }>`with given as (select ${n}::int as n) insert into guarded select n from given returning n`

/** Inserts a number if the sum is no more than `most` then. @returns the rows of the insert */
const run = (n: number, most: number) =>
  transact.one(deps, async ({ db: trx }) => {
    const { rows } = await executeGuarded(trx, insert(n).compile(trx), atMost(most).compile(trx))
    return rows
  })
/** The numbers that are committed. */
const kept = async () =>
  (await sql<{ n: number }>`select n from guarded order by n`.execute(db)).rows.map(({ n }) => n)

beforeEach(async () => {
  await sql`drop table if exists guarded`.execute(db)
  await sql`create table guarded (n int primary key)`.execute(db)
})

it('commits what the guard lets pass, and gives its rows, in one round trip', async () => {
  await kept()
  const before = answers
  expect(await run(1, 10)).toEqual([{ n: 1 }])
  expect(await run(2, 10)).toEqual([{ n: 2 }])
  expect(answers - before).toBe(2)
  expect(await kept()).toEqual([1, 2])
})

it('undoes what the guard refuses, the first time and later, and the connection goes on', async () => {
  // What operators find in the log of Postgres (docs/troubleshooting.md).
  const message = 'invalid input syntax for type boolean: "too much"'
  for (const n of [11, 12])
    await expect(run(n, 10)).rejects.toMatchObject({ code: '22P02', message })
  expect(await run(3, 10)).toEqual([{ n: 3 }])
  await expect(run(8, 10)).rejects.toMatchObject({ code: '22P02' })
  expect(await run(7, 10)).toEqual([{ n: 7 }])
  expect(await kept()).toEqual([3, 7])
})

it('does not ask the guard of a statement that fails', async () => {
  await run(1, 10)
  await expect(run(1, 10)).rejects.toMatchObject({ code: '23505' })
  const broken = sql`with it as (select 1) select * from missing`
  const asked = transact.one(deps, ({ db: trx }) =>
    executeGuarded(trx, insert(2).compile(trx), broken.compile(trx)),
  )
  await expect(asked).rejects.toMatchObject({ code: '42P01' })
  expect(await kept()).toEqual([1])
})

it('refuses a parameter that would have to be converted, before anything is sent', async () => {
  const guard = sql`select ${1}::int`
  const asked = () => executeGuarded(db as unknown as Trx, insert(1).compile(db), guard.compile(db))
  expect(asked).toThrow('texts, Buffers and null')
  expect(await kept()).toEqual([])
})

it('prepares both once for each connection', async () => {
  for (const n of [1, 2, 3]) await run(n, 10)
  /** How often each prepared statement was run. */
  const prepared = async () => {
    const { rows } = await pool.query<{ calls: number }>(
      `select (generic_plans + custom_plans)::int as calls from pg_prepared_statements where statement like '%guarded%'`,
    )
    return rows.map(({ calls }) => calls)
  }
  const before = await prepared()
  expect(before, 'the statement and its guard').toHaveLength(2)
  await run(4, 10)
  expect(await prepared()).toEqual(before.map((calls) => calls + 1))
})

it('prepares a guard again that was prepared while its statement was given up, such as for a lock of an index', async () => {
  await sql`create table if not exists looked_at (n int primary key)`.execute(db)
  const holder = await openSession(url)
  // Postgres prepares a statement without the index, and plans it with.
  await holder.run('begin; reindex index looked_at_pkey')
  const guard = sql`with it as (select 0 as n) select 'true'::boolean from it where not exists (
    select from looked_at l where l.n = it.n)`
  const asked = (n: number) =>
    transact.one(deps, ({ db: trx }) =>
      executeGuarded(trx, insert(n).compile(trx), guard.compile(trx)),
    )
  await sql`set lock_timeout = 100`.execute(db)
  await expect(asked(1)).rejects.toMatchObject({ code: '55P03' })
  await sql`reset lock_timeout`.execute(db)
  await holder.run('commit')
  for (const n of [2, 3]) expect((await asked(n)).rows).toEqual([{ n }])
  expect(await kept()).toEqual([2, 3])
})

it('asks a guard that gets no name', async () => {
  const unnamed = sql`select case when ${'1'}::int = 1 then 'true' else 'never' end::boolean`
  for (const n of [1, 2]) {
    const asked = transact.one(deps, ({ db: trx }) =>
      executeGuarded(trx, insert(n).compile(trx), unnamed.compile(trx)),
    )
    expect((await asked).rows).toEqual([{ n }])
  }
})

it('shows the guard what was committed while the statement waited for a lock', async () => {
  await run(5, 10)
  const holder = await openSession(url)
  await holder.run('begin; select from guarded where n = 5 for update')
  await holder.run('insert into guarded values (9)')
  const change = sql`with it as (select 5 as n) update guarded g set n = 6 from it where g.n = it.n`
  const changed = transact.one(deps, ({ db: trx }) =>
    executeGuarded(trx, change.compile(trx), atMost(10).compile(trx)),
  )
  const refused = expect(changed).rejects.toMatchObject({ code: '22P02' })
  await eventually(async () => expect(await holder.waiting()).toBe(1))
  await holder.run('commit')
  await refused
  expect(await kept()).toEqual([5, 9])
})

it('is refused inside of a transaction, since it is one of its own', async () => {
  const inside = db
    .transaction()
    .execute((trx) => executeGuarded(trx as Trx, insert(1).compile(trx), atMost(10).compile(trx)))
  await expect(inside).rejects.toThrow('a transaction of its own')
  expect(await kept()).toEqual([])
})

it('fails where the connection breaks, and on the next connection both are prepared again', async () => {
  await run(1, 10)
  const holder = await openSession(url)
  await holder.run('begin; lock table guarded')
  const stuck = run(2, 10)
  const failed = expect(stuck).rejects.toThrow()
  await eventually(async () => expect(await holder.waiting()).toBe(1))
  const gone = new Promise((removed) => pool.once('remove', removed))
  await runSql(
    url,
    `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'test' and datname = current_database()`,
  )
  await failed
  await gone
  await holder.run('commit')
  expect(await run(3, 10)).toEqual([{ n: 3 }])
  expect(await kept()).toEqual([1, 3])
})
