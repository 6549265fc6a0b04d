// A Postgres session that holds locks for a test.
import pg from 'pg'
import { onTestFinished } from 'vitest'

/** Opens a session, which ends with the test at the latest. */
export async function openSession(url: string) {
  const client = new pg.Client({ connectionString: url, application_name: 'holding' })
  await client.connect()
  let ended = false
  const end = async () => {
    if (ended) return
    ended = true
    await client.end()
  }
  onTestFinished(end)
  return {
    run: (text: string, values?: unknown[]) => client.query(text, values),
    /** How many other sessions of this database wait for a lock. */
    async waiting(): Promise<number> {
      const { rows } = await client.query(
        `select count(distinct l.pid)::int as count from pg_locks l
        join pg_stat_activity a on a.pid = l.pid
        where not l.granted and a.datname = current_database()`,
      )
      return rows[0].count
    },
    end,
  }
}
