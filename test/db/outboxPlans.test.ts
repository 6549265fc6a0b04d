// The outbox is read by indexes that do not contain the rows of other kinds.
import { sql } from 'kysely'
import { beforeAll, expect, test } from 'vitest'
import { tellContacts } from '../../commands/events/tellContacts.ts'
import { transact } from '../../commands/transact.ts'
import {
  listMailEventContacts,
  listMailEventWorkspaces,
} from '../../db/deliveries/mailEventClaims.ts'
import { listOutboxLines } from '../../db/outbox.ts'
import { claimOutbox } from '../../db/outboxClaims.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { noteQueries } from '../setup/askedQueries.ts'
import { createTestDatabase } from '../setup/database.ts'
import { newId, now } from '../setup/harness.ts'

const ROWS = 200_000
const { db, pool } = await createTestDatabase()
const wake = () => undefined

const fill = (kind: 'start' | 'mail_event', count: number) =>
  sql`
    insert into outbox (kind, execution_id, workspace_id, workflow_id, contact_id, payload, next_at,
      due_at, created_at)
    select ${kind}, case when ${kind} = 'start' then 'exec_' || n else '' end, 'ws_' || n % 50, '',
      'con_' || n % 100000, '{"delivery_id": 0}',
      case when ${kind} = 'start' then now() - interval '1 hour' else 'infinity' end,
      case when ${kind} = 'mail_event' then now() - interval '1 hour' end, now()
    from generate_series(1, ${count}) n
  `.execute(db)

const { db: listening, asked } = noteQueries(pool)

interface PlanNode {
  'Node Type': string
  'Relation Name'?: string
  'Index Name'?: string
  'Rows Removed by Filter'?: number
  Plans?: PlanNode[]
}

const readsOf = (node: PlanNode): string[] => [
  ...(node['Relation Name'] === 'outbox' && /Scan/.test(node['Node Type'])
    ? [`${node['Index Name'] ?? node['Node Type']}, ${node['Rows Removed by Filter'] ?? 0} dropped`]
    : []),
  ...(node.Plans ?? []).flatMap(readsOf),
]

/** Returns how the statements of `work` read the outbox. They are run again and rolled back. */
async function readsBy(work: () => Promise<unknown>): Promise<string[]> {
  asked.length = 0
  await work()
  const queries = asked.filter(({ sql: text }) => /from "?outbox"?/.test(text))
  const found: string[] = []
  const client = await pool.connect()
  try {
    for (const { sql: text, parameters } of queries) {
      await client.query('begin')
      const explain = `explain (analyze, format json) ${text}`
      const { rows } = await client.query(explain, [...parameters])
      await client.query('rollback')
      found.push(...readsOf(rows[0]['QUERY PLAN'][0].Plan))
    }
  } finally {
    client.release()
  }
  return [...new Set(found)].sort()
}

beforeAll(async () => {
  await fill('start', ROWS)
  await fill('mail_event', 2_000)
  await sql`analyze outbox`.execute(db)
}, 120_000)

test('mail events are found by their own indexes, however many starts wait', async () => {
  const reads = await readsBy(async () => {
    await listMailEventWorkspaces(listening, '', now())
    await listMailEventContacts(listening, 'ws_7' as WorkspaceId, now())
    await tellContacts(
      { db: listening, now, newId, wake, addressMac: () => Buffer.alloc(16) },
      'ws_7' as WorkspaceId,
    )
  })
  expect(reads).toContain('outbox_mail_due, 0 dropped')
  for (const read of reads)
    expect(read).toMatch(/^(outbox_mail_\w+|outbox_pkey|Bitmap Heap Scan), 0 d/)
}, 60_000)

test('the starter reads no mail event, however many wait', async () => {
  await sql`truncate outbox`.execute(db)
  await fill('mail_event', ROWS)
  await fill('start', 100)
  await sql`analyze outbox`.execute(db)
  const reads = await readsBy(async () => {
    const { due } = await listOutboxLines(listening, null, { now: now(), refused: false })
    expect(due).toHaveLength(50)
    const lines = due.map((line) => ({ ...line, most: 2 }))
    const { rows } = await transact({ db: listening, wake }, ({ db: trx }) =>
      claimOutbox(trx, lines, { now: now(), until: now(), refused: false }),
    )
    expect(rows).toHaveLength(100)
  })
  expect(reads).toContain('outbox_lines, 0 dropped')
  for (const read of reads) expect(read).toMatch(/^outbox_(lines|execution|pkey), 0 dropped/)
}, 180_000)
