// Waits until sessions of a test's database wait for locks that others hold.
import { type Kysely, sql } from 'kysely'
import { expect } from 'vitest'
import { eventually } from './eventually.ts'

/** Resolves when so many sessions wait for a lock. */
export const untilWaiting = <D>(db: Kysely<D>, count: number): Promise<void> =>
  eventually(async () => {
    const { rows } = await sql`select from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`.execute(db)
    expect(rows).toHaveLength(count)
  })
