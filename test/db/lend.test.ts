// Lent connections: what a transaction may not ask for, how its end by a time-out is told, and what abort leaves.
import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { transact } from '../../commands/transact.ts'
import { busyReason, isUnavailable } from '../../db/failures.ts'
import { inScope, type Scope } from '../../db/scope.ts'
import { apiSettings } from '../../db/settings.ts'
import { ClientGone } from '../../db/shares.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { createTestDatabase } from '../setup/database.ts'
import { eventually } from '../setup/eventually.ts'

const { db, pool } = await createTestDatabase({
  poolSize: 4,
  shared: true,
  settings: { ...apiSettings, idle_in_transaction_session_timeout: 100 },
})
const wake = () => undefined
const scope = (signal: AbortSignal | null = null): Scope => ({
  owner: { kind: 'workspace', workspaceId: 'ws' as WorkspaceId },
  signal,
})
const one = (on: typeof db) => sql`select 1`.execute(on)

it('refuses a second connection while a transaction of the same request is open', async () => {
  const nested = inScope(scope(), () => transact({ db, wake }, () => one(db)))
  await expect(nested).rejects.toThrow('a transaction is open here')
  await inScope(scope(), async () => {
    await transact({ db, wake }, (inTrx) => one(inTrx.db))
    await Promise.all([one(db), one(db), one(db)])
  })
})

it('says that it took too long when Postgres has ended an idle transaction', async () => {
  let seen: unknown
  const idle = transact({ db, wake }, async (inTrx) => {
    await one(inTrx.db)
    await eventually(async () => {
      const { rows } = await pool.query(
        `select from pg_stat_activity where datname = current_database()
         and state like 'idle in transaction%'`,
      )
      expect(rows).toEqual([])
    })
    await one(inTrx.db)
  }).catch((err: unknown) => {
    seen = err
  })
  await idle
  expect(busyReason(seen)).toBe('slow')
  await one(db)
})

it('begins nothing for a client that has gone, and gives every connection back', async () => {
  const gone = AbortSignal.abort()
  await expect(inScope(scope(gone), () => one(db))).rejects.toThrow(ClientGone)

  const leaving = new AbortController()
  const stuck = inScope(scope(leaving.signal), () =>
    transact({ db, wake }, async (inTrx) => {
      await one(inTrx.db)
      leaving.abort()
      await sql`select pg_sleep(60)`.execute(inTrx.db)
    }),
  )
  await expect(stuck).rejects.toThrow(ClientGone)
  await eventually(() => expect(pool.totalCount - pool.idleCount).toBe(0))
  await Promise.all(Array.from({ length: 20 }, () => one(db)))
})

it('gives back the place of a connection that ended before its client left', async () => {
  // An owner alone has two of the four places.
  for (let i = 0; i < 2; i++) {
    const leaving = new AbortController()
    const lost = inScope(scope(leaving.signal), () =>
      transact({ db, wake }, async (inTrx) => {
        const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(
          inTrx.db,
        )
        await pool.query('select pg_terminate_backend($1)', [rows[0]?.pid])
        await eventually(() => expect(one(inTrx.db)).rejects.toThrow())
        leaving.abort()
        await eventually(() => expect(one(inTrx.db)).rejects.toThrow(ClientGone))
        await one(inTrx.db)
      }),
    )
    await expect(lost).rejects.toThrow(ClientGone)
  }
  await inScope(scope(), () => one(db))
})

it('lends no connection again that Postgres has ended', async () => {
  const ended = () => sql`select pg_terminate_backend(pg_backend_pid())`.execute(db)
  for (let i = 0; i < 20; i++) {
    await expect(ended()).rejects.toThrow('terminating connection')
    await one(db)
    const inTransaction = transact({ db, wake }, async (inTrx) => {
      await sql`select pg_terminate_backend(pg_backend_pid())`.execute(inTrx.db)
    })
    await expect(inTransaction).rejects.toThrow('terminating connection')
    await one(db)
  }
})

it('says that the connection has ended where Postgres ends it for a reason of its own', async () => {
  const tooLong = transact({ db, wake }, async (inTrx) => {
    await sql`select set_config('transaction_timeout', '50ms', true)`.execute(inTrx.db)
    await sql`select pg_sleep(30)`.execute(inTrx.db)
  })
  const err: unknown = await tooLong.catch((one: unknown) => one)
  expect(isUnavailable(err)).toBe(true)
  expect(err).toMatchObject({ cause: { code: '25P04' } })
  await one(db)
})
