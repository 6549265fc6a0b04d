// A gate in a test's database: who writes to certain tables waits there until the test opens it.
import pg from 'pg'
import { afterAll, expect } from 'vitest'
import { eventually } from './eventually.ts'

/** Key of the advisory lock that closes it. */
const KEY = 4_711

/**
 * Makes the gate, open at first. Call it at the top of a file, once for each database.
 * @param tables whose inserts wait in their statement
 * @param atCommit whose inserts wait in the commit
 */
export async function createGate(url: string, tables: string[], atCommit: string[] = []) {
  const keeper = new pg.Client({ connectionString: url, application_name: 'keeper' })
  await keeper.connect()
  afterAll(() => keeper.end())
  await keeper.query(
    `create function wait_at_gate() returns trigger language plpgsql set lock_timeout to '60s' as
     $$ begin perform pg_advisory_xact_lock_shared(${KEY}); return null; end $$`,
  )
  for (const table of tables) {
    await keeper.query(
      `create trigger gate after insert on ${table} for each row execute function wait_at_gate()`,
    )
  }
  for (const table of atCommit) {
    await keeper.query(
      `create constraint trigger gate after insert on ${table}
       deferrable initially deferred for each row execute function wait_at_gate()`,
    )
  }
  return {
    /** The session that opens and closes it. */
    keeper,
    close: () => keeper.query('select pg_advisory_lock($1)', [KEY]),
    open: () => keeper.query('select pg_advisory_unlock_all()'),
    /** Resolves when so many sessions wait at it. */
    untilAtGate: (count: number, within?: { deadline_ms: number }) =>
      eventually(async () => {
        const { rows } = await keeper.query(
          `select from pg_stat_activity where datname = current_database() and wait_event = 'advisory'`,
        )
        expect(rows).toHaveLength(count)
      }, within),
  }
}
