// Reads something of plans again and again while tables grow, since plans that are kept may be made at any moment of that.
import { sql } from 'kysely'
import type { Db } from '../../db/connect.ts'

/** Tables grow to so many rows; the last is full. */
const ROWS = [20, 100, 300, 1_000, 20_000]

/**
 * @param fill adds the rows behind `from`, up to `to`
 * @param read is called before the tables were ever analyzed, while they are empty, and after each growth before and after they
 * are analyzed
 * @returns what it gave each time
 */
export async function whileTablesGrow<T>(
  db: Db,
  fill: (from: number, to: number) => Promise<void>,
  read: () => Promise<T>,
): Promise<T[]> {
  const seen = [await read()]
  const analyzed = async () => {
    await sql`analyze`.execute(db)
    seen.push(await read())
  }
  await analyzed()
  for (const [i, rows] of ROWS.entries()) {
    await fill(ROWS[i - 1] ?? 0, rows)
    seen.push(await read())
    await analyzed()
  }
  return seen
}

const at = '2026-01-01T00:00:00Z'

/** Adds contacts of the numbers behind `from`, up to `to`, with an event, an execution and a wait each. */
export const addAutomation = (db: Db, from: number, to: number): Promise<void> =>
  db.transaction().execute(async (trx) => {
    const ids = sql`generate_series(${from + 1}::int, ${to}::int) as n`
    await sql`insert into contacts (id, workspace_id, email, first_seen, last_seen, last_event, created_at, updated_at)
      select 'con_' || n, 'ws_1', n || '@mail.test', ${at}, ${at}, 'x', ${at}, ${at} from ${ids}`.execute(
      trx,
    )
    await sql`insert into automation_events (id, workspace_id, contact_id, event_id, event_name, email, at, created_at)
      select 'evt_' || n, 'ws_1', 'con_' || n, 'evt_' || n, 'ordered', n || '@mail.test', ${at}, ${at} from ${ids}`.execute(
      trx,
    )
    await sql`insert into executions (id, workspace_id, workflow_id, version, contact_id, email, trigger_node_id,
        trigger_event_id, created_at, updated_at)
      select 'exe_' || n, 'ws_1', 'wfl_1', 1, 'con_' || n, n || '@mail.test', 'start', 'evt_' || n, ${at}, ${at} from ${ids}`.execute(
      trx,
    )
    await sql`insert into event_waits (execution_id, segment, node_id, workspace_id, contact_id, event_name, created_at)
      select 'exe_' || n, 0, 'wait', 'ws_1', 'con_' || n, 'ordered', ${at} from ${ids}`.execute(trx)
  })
