// A transaction of a command that Postgres ends for a deadlock runs again, and its caller hears nothing of it.
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { transact } from '../../commands/transact.ts'
import { createTestDatabase } from '../setup/database.ts'
import { eventually } from '../setup/eventually.ts'
import { openSession } from '../setup/session.ts'

const { db, url, pool } = await createTestDatabase()
const wake = () => undefined

test('a deadlock is tried again', { timeout: 90_000 }, async () => {
  await pool.query('create table two (id int primary key, writes int not null default 0)')
  await pool.query('insert into two values (1), (2)')
  const other = await openSession(url)
  // The other one never looks for deadlocks, so Postgres ends the command's transaction.
  await other.run(`set deadlock_timeout = '1h'`)
  await other.run('begin')
  await other.run('update two set writes = writes + 1 where id = 2')

  let tries = 0
  const write = transact({ db, wake }, async ({ db: trx }) => {
    tries += 1
    await sql`update two set writes = writes + 1 where id = 1`.execute(trx)
    await sql`update two set writes = writes + 1 where id = 2`.execute(trx)
    return 'written'
  })
  await eventually(async () => expect(await other.waiting()).toBe(1), { deadline_ms: 60_000 })
  await other.run('update two set writes = writes + 1 where id = 1')
  await other.run('commit')
  expect(await write).toBe('written')
  // The other one may be slower to take what the first try has given back than the second try is: then that ends so too.
  expect(tries).toBeGreaterThan(1)
  expect((await pool.query('select writes from two order by id')).rows).toEqual([
    { writes: 2 },
    { writes: 2 },
  ])
})
