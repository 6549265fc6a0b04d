// The statements of an event are planned once for each connection, so their plans must be the same for empty tables and for full
// ones: each table is read by what the event names, never as a whole.
import { type CompiledQuery, Kysely, PostgresDialect, sql } from 'kysely'
import { beforeAll, expect, test } from 'vitest'
import { createEventGroups, type GroupedEvent } from '../../commands/events/groups.ts'
import { recordAutomationEvent } from '../../commands/events/record.ts'
import { transact } from '../../commands/transact.ts'
import type { Database } from '../../db/schema.ts'
import { apiSettings } from '../../db/settings.ts'
import { createTestDatabase } from '../setup/database.ts'
import { design, insertFlow, onEvent } from '../setup/flows.ts'
import { newId, now, seedWorkspace } from '../setup/harness.ts'
import { nodesOf } from '../setup/planNodes.ts'

const { db, pool } = await createTestDatabase({ settings: apiSettings })
const ROWS = 20_000

/** The indexes by which a table is read: each begins with what an event names. */
const indexes: Record<string, RegExp> = {
  automation_events: /^automation_events_(pkey|workspace_id_event_id_key|name)$/,
  contacts: /^contacts_(pkey|list|workspace_id_email_key)$/,
  event_waits: /^event_waits_(pkey|open|watched)$/,
  execution_steps: /^execution_steps_pkey$/,
  executions: /^executions_(pkey|entry|live)$/,
  opt_outs: /^opt_outs_workspace_id_address_hmac_scope_target_id_key$/,
  segments: /^segments_kept$/,
  workflow_triggers: /^workflow_triggers_(event|pkey)$/,
  workflow_versions: /^workflow_versions_pkey$/,
}

const asked: CompiledQuery[] = []
const listening = new Kysely<Database>({
  dialect: new PostgresDialect({ pool }),
  log: ({ query }) => void asked.push(query),
})
const deps = {
  db: listening,
  newId,
  now,
  wake: () => undefined,
  addressMac: () => Buffer.alloc(16),
}

const eventOf = (n: number): GroupedEvent => ({
  eventId: `mine${n}`,
  eventName: 'ordered',
  email: `c${n}@example.test`,
  properties: {},
  at: now(),
  contactProperties: { plan: 'pro' },
  createContact: true,
})

/** The prepared statements of an event alone, and of some together. */
const statements = new Map<string, string>()

beforeAll(async () => {
  const workspace = await seedWorkspace(db)
  const { workspaceId } = workspace
  const graph = design({ start: onEvent('ordered'), end: ['exit', {}] }, [['start', 'end']])
  await insertFlow(db, workspace, graph)
  const groups = createEventGroups(deps)
  await Promise.all([1, 2, 3].map((n) => groups.record(workspaceId, eventOf(n), now())))
  await transact(deps, (inTrx) => recordAutomationEvent(inTrx, workspaceId, eventOf(4)))
  for (const { sql: text } of asked) {
    if (/^\s*with\s/.test(text)) statements.set(text, text)
  }
  await sql`truncate contacts, automation_events, executions, event_waits, outbox cascade`.execute(
    db,
  )
})

/** How the statements read the tables, planned without their parameters. */
async function readsOf(): Promise<string[]> {
  const reads = new Set<string>()
  for (const text of statements.values()) {
    const { rows } = await pool.query(`explain (generic_plan, format json) ${text}`)
    for (const node of nodesOf(rows[0]['QUERY PLAN'][0].Plan)) {
      const given = node as typeof node & { 'Index Cond'?: string }
      const table = given['Relation Name']
      const isScan = /Scan/.test(given['Node Type']) && given['Node Type'] !== 'Bitmap Heap Scan'
      if (!isScan || !(table ?? given['Index Name'])) continue
      const condition = given['Index Cond'] ? '' : ' as a whole'
      reads.add(
        `${table ?? given['Index Name']?.replace(/_[^_]+$/, '')} ${given['Index Name'] ?? given['Node Type']}${condition}`,
      )
    }
  }
  return [...reads].sort()
}

const at = '2026-01-01T00:00:00Z'
const fill = () =>
  db.transaction().execute(async (trx) => {
    const ids = sql`generate_series(1, ${ROWS}::int) as n`
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

test('events alone and together read tables by what they name, before these were ever analyzed, while they are empty, and when they are full', {
  timeout: 120_000,
}, async () => {
  // Of a group: the events, what they meet, what was entered, the consequences. Alone the first is another one.
  expect([...statements.keys()]).toHaveLength(5)
  const plans: string[][] = [await readsOf()]
  await sql`analyze`.execute(db)
  plans.push(await readsOf())
  await fill()
  plans.push(await readsOf())
  await sql`analyze`.execute(db)
  plans.push(await readsOf())
  for (const reads of plans) {
    expect(reads.length).toBeGreaterThan(6)
    for (const read of reads) {
      const [table = '', index = ''] = read.split(' ')
      expect(read).toMatch(/^\S+ \S+$/)
      expect([read, indexes[table]?.test(index)]).toEqual([read, true])
    }
  }
})
