// Has Postgres count what the connections of a pool have done, which each tells by itself only when it is idle for some time.
import { sql } from 'kysely'
import type { Db } from '../../db/connect.ts'

/** @param connections of the pool: all are asked at the same time */
export async function flushStatistics(db: Db, connections: number): Promise<void> {
  await Promise.all(
    Array.from({ length: connections }, () =>
      db
        .transaction()
        .execute((trx) => sql`select pg_stat_force_next_flush(), pg_sleep(0.05)`.execute(trx)),
    ),
  )
}
