// The begin of a transaction goes with its first statement: one round trip less, and everything else as if it had been sent alone.
import { sql } from 'kysely'
import { beforeEach, expect, it } from 'vitest'
import { createTestDatabase } from '../setup/database.ts'
import { runSql } from '../setup/template.ts'

const { url, db, pool } = await createTestDatabase({ poolSize: 1 })

let answers = 0
pool.on('connect', (client) => {
  const { connection } = client as unknown as { connection: NodeJS.EventEmitter }
  connection.on('readyForQuery', () => {
    answers += 1
  })
})

/** Round trips of some work. */
async function tripsOf(work: () => Promise<unknown>): Promise<number> {
  const before = answers
  await work()
  return answers - before
}

const transaction = db.transaction()
const insert = (n: number) => sql`insert into begun values (${n}::int)`
const kept = async () =>
  (await sql<{ n: number }>`select n from begun order by n`.execute(db)).rows.map(({ n }) => n)

beforeEach(async () => {
  await sql`drop table if exists begun`.execute(db)
  await sql`create table begun (n int primary key)`.execute(db)
  await transaction.execute((trx) => sql`select 1`.execute(trx))
})

it('a transaction has the round trips of its statements and of its commit', async () => {
  const one = () => transaction.execute((trx) => insert(1).execute(trx))
  expect(await tripsOf(one)).toBe(2)
  const two = () =>
    transaction.execute(async (trx) => {
      const { rows } = await sql<{ n: number; now: Date }>`select n, now() from begun`.execute(trx)
      const again = await sql<{ now: Date }>`select now()`.execute(trx)
      expect(rows).toEqual([{ n: 1, now: again.rows[0]?.now }])
    })
  expect(await tripsOf(two)).toBe(3)
  expect(await kept()).toEqual([1])
})

it('one without statements has none', async () => {
  expect(await tripsOf(() => transaction.execute(async () => undefined))).toBe(0)
  const fail = transaction.execute(() => Promise.reject(new Error('no')))
  await expect(fail).rejects.toThrow('no')
  expect(await kept()).toEqual([])
})

it('what fails is rolled back, whether it is the first statement or what follows', async () => {
  const second = transaction.execute(async (trx) => {
    await insert(1).execute(trx)
    await insert(1).execute(trx)
  })
  await expect(second).rejects.toMatchObject({ code: '23505' })
  const thrown = transaction.execute(async (trx) => {
    await insert(1).execute(trx)
    throw new Error('no')
  })
  await expect(thrown).rejects.toThrow('no')
  await insert(2).execute(db)
  const first = transaction.execute(async (trx) => {
    await insert(2)
      .execute(trx)
      .catch(() => undefined)
    await insert(3).execute(trx)
  })
  await expect(first, 'it is in no transaction that goes on').rejects.toMatchObject({
    code: '25P02',
  })
  expect(await kept()).toEqual([2])
})

it('a named statement that Postgres refused as the first one is prepared again later', async () => {
  const named = sql<{ n: number }>`with it as (select n from later) select n from it`
  const asFirst = () => transaction.execute((trx) => named.execute(trx))
  await expect(asFirst()).rejects.toMatchObject({ code: '42P01' })
  await sql`create table later as select 7 as n`.execute(db)
  for (let i = 0; i < 2; i++) expect((await asFirst()).rows).toEqual([{ n: 7 }])
  expect((await named.execute(db)).rows).toEqual([{ n: 7 }])
})

it('a parameter that cannot be sent fails, and the connection goes on', async () => {
  const odd = {
    toPostgres: () => {
      throw new Error('no parameter')
    },
  }
  const failing = transaction.execute((trx) => sql`select ${odd}::int`.execute(trx))
  await expect(failing).rejects.toThrow('no parameter')
  await transaction.execute((trx) => insert(1).execute(trx))
  expect(await kept()).toEqual([1])
})

it('after its connection broke the next one begins as before', async () => {
  const broken = transaction.execute(async (trx) => {
    await insert(1).execute(trx)
    const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(trx)
    await runSql(url, `select pg_terminate_backend(${rows[0]?.pid})`)
    await insert(2).execute(trx)
  })
  await expect(broken).rejects.toThrow()
  for (const n of [3, 4]) await transaction.execute((trx) => insert(n).execute(trx))
  expect(await kept()).toEqual([3, 4])
})

it('where the begin is refused, its first statement does not run', async () => {
  // As when a prepared statement is lost behind a pooler.
  await sql`deallocate begin`.execute(db)
  const first = transaction.execute((trx) => insert(1).execute(trx))
  await expect(first).rejects.toMatchObject({ code: '26000' })
  // The connection is of no use any more, and its end is seen before the next statement.
  const gone = new Promise((removed) => pool.once('remove', removed))
  await runSql(
    url,
    `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'test' and datname = current_database()`,
  )
  await gone
  expect(await kept()).toEqual([])
})
