// How the statements of events read tables: by what the event names, never as a whole. Those that are planned once for each connection
// must do so while the tables are empty, too; the others when they are full.
import { sql } from 'kysely'
import { beforeAll, expect, test } from 'vitest'
import type { GroupedEvent } from '../../commands/events/arrived.ts'
import { createEventGroups } from '../../commands/events/groups.ts'
import { postAutomationEvents } from '../../commands/events/postMany.ts'
import { recordAutomationEvent } from '../../commands/events/record.ts'
import { transact } from '../../commands/transact.ts'
import { splitGuard } from '../../db/guarded.ts'
import { lendFrom } from '../../db/lend.ts'
import { apiSettings } from '../../db/settings.ts'
import { noteQueries } from '../setup/askedQueries.ts'
import { createTestDatabase } from '../setup/database.ts'
import { design, insertFlow, onEvent } from '../setup/flows.ts'
import { addAutomation, whileTablesGrow } from '../setup/growingTables.ts'
import { newId, now, seedWorkspace } from '../setup/harness.ts'
import { nodesOf, type PlanNode } from '../setup/planNodes.ts'

const { db, pool } = await createTestDatabase({ settings: apiSettings })

/** The indexes by which a table is read: each begins with what an event names. */
const indexes: Record<string, RegExp> = {
  automation_events: /^automation_events_(pkey|contact|workspace_id_event_id_key|name)$/,
  contacts: /^contacts_(pkey|list|workspace_id_email_key)$/,
  event_waits: /^event_waits_(pkey|open|received|watched)$/,
  executions: /^executions_(pkey|entry|live)$/,
  spent_event_ids: /^spent_event_ids_pkey$/,
}

const { db: listening, asked } = noteQueries(lendFrom(pool, null))
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

/** The tables that `fill` fills. */
const filled = ['contacts', 'automation_events', 'executions', 'event_waits']

/** The statements of an event alone, and of some together. */
const statements = new Set<string>()
const isPrepared = (text: string) => /^\s*with\s/.test(text)

const time = now()

beforeAll(async () => {
  const workspace = await seedWorkspace(db)
  const { workspaceId } = workspace
  const graph = design({ start: onEvent('ordered'), end: ['exit', {}] }, [['start', 'end']])
  await insertFlow(db, workspace, graph)
  const groups = createEventGroups(deps)
  await Promise.all([1, 2, 3].map((n) => groups.record(workspaceId, eventOf(n), now())))
  const plain = (n: number) => ({ ...eventOf(n), eventId: null, at: time })
  await Promise.all([11, 12, 13].map((n) => groups.record(workspaceId, plain(n), time)))
  await transact(deps, (inTrx) => recordAutomationEvent(inTrx, workspaceId, eventOf(4)))
  // Nobody awaits these names, which the first event of each shows.
  for (const eventName of ['looked', 'left']) {
    await groups.record(workspaceId, { ...plain(10), eventName, contactProperties: null }, time)
  }
  for (const event_name of ['looked', 'ordered']) {
    const posted = (n: number) => ({ event_name, email: `c${n}@example.test` })
    await postAutomationEvents(deps, workspaceId, [5, 6].map(posted))
    const theirs = [7, 8].map((n) => ({ ...posted(n), event_id: `${event_name}${n}` }))
    await postAutomationEvents(deps, workspaceId, theirs)
  }
  const ofTwoNames = ['looked', 'left'].map((event_name, n) => ({
    event_name,
    email: `c${n}@example.test`,
  }))
  await postAutomationEvents(deps, workspaceId, ofTwoNames)
  for (const own of [{}, { eventId: 'looked', at: now() }]) {
    const event = { ...plain(9), eventName: 'looked', contactProperties: null, ...own }
    await groups.record(workspaceId, event, time)
  }
  const texts = asked.flatMap(({ sql: text, parameters }) => {
    const { guard } = splitGuard(parameters)
    return guard ? [text, guard.text] : [text]
  })
  for (const text of texts) {
    if (isPrepared(text)) statements.add(text)
  }
  await sql`truncate contacts, automation_events, executions, event_waits, outbox cascade`.execute(
    db,
  )
})

/** Whose index it is. A bitmap is made of an index without its table. */
const tableOf = (index = '') =>
  Object.keys(indexes).find((table) => index.startsWith(table)) ?? index

/** How the statements read the tables, planned without their parameters. */
async function readsOf(texts: readonly string[]): Promise<string[]> {
  const reads = new Set<string>()
  for (const text of texts) {
    const { rows } = await pool.query(`explain (generic_plan, format json) ${text}`)
    for (const node of nodesOf(rows[0]['QUERY PLAN'][0].Plan)) {
      const given = node as typeof node & { 'Index Cond'?: string; 'TID Cond'?: string }
      // A row that was locked is found again by its place.
      if (given['TID Cond']) continue
      const table = given['Relation Name']
      const isScan = /Scan/.test(given['Node Type']) && given['Node Type'] !== 'Bitmap Heap Scan'
      if (!isScan || !(table ?? given['Index Name'])) continue
      // An index whose second column alone is named is read for each value of the first.
      const isWhole =
        !given['Index Cond'] ||
        (/_contact$/.test(given['Index Name'] ?? '') &&
          !given['Index Cond'].includes('contact_id')) ||
        (/^spent_/.test(given['Index Name'] ?? '') && !given['Index Cond'].includes('id_hash'))
      // Of the others a page holds all rows.
      if (table && !filled.includes(table)) continue
      const condition = isWhole ? ' as a whole' : ''
      reads.add(
        `${table ?? tableOf(given['Index Name'])} ${given['Index Name'] ?? given['Node Type']}${condition}`,
      )
    }
  }
  return [...reads].sort()
}

/** How the update of a batch, which is its lock, finds contacts. */
async function waysOf(texts: readonly string[]): Promise<string[]> {
  const ways: string[] = []
  for (const text of texts) {
    const { rows } = await pool.query(`explain (generic_plan, format json) ${text}`)
    ways.push(...waysIn(rows[0]['QUERY PLAN'][0].Plan))
  }
  return ways
}

const waysIn = (plan: PlanNode): string[] =>
  [...nodesOf(plan)].flatMap((node) => {
    const write = node as typeof node & { Operation?: string }
    if (write.Operation !== 'Update' || write['Relation Name'] !== 'contacts') return []
    const names = (one: PlanNode): string[] => [
      one['Node Type'],
      ...(one.Plans ?? []).flatMap(names),
    ]
    return [(node.Plans ?? []).flatMap(names).join(' ')]
  })

const fill = (from: number, to: number) => addAutomation(db, from, to)

test('events alone and together read tables by what they name, before these were ever analyzed, while they are empty, while they grow, and when they are full', {
  timeout: 120_000,
}, async () => {
  // Of a group: the events, what they meet, what was entered, the consequences. The first is another one alone, where more than the
  // names of events is said, in a batch, and where nobody awaits them; a guard is behind those, one for a single name and one for several.
  const all = [...statements]
  expect(all).toHaveLength(15)
  const plans: string[][] = await whileTablesGrow(db, fill, () => readsOf(all))
  expect(plans.at(-1)?.length).toBeGreaterThan(3)
  for (const reads of plans) {
    expect(reads).not.toEqual([])
    for (const read of reads) {
      const [table = '', index = ''] = read.split(' ')
      expect(read).toMatch(/^\S+ \S+$/)
      expect([read, indexes[table]?.test(index)]).toEqual([read, true])
    }
  }
})

test('a batch locks contacts in the order of their ids, however few there are', {
  timeout: 120_000,
}, async () => {
  const isBatch = (text: string) => /order by k\.id/.test(text)
  const batches = [...statements].filter(isBatch)
  expect(batches).toHaveLength(4)
  await sql`truncate contacts, automation_events, executions, event_waits, outbox cascade`.execute(
    db,
  )
  const kept = await whileTablesGrow(db, fill, () => waysOf(batches))
  const inOrder = 'Nested Loop CTE Scan Tid Scan'
  expect(new Set(kept.flat())).toEqual(new Set([inOrder]))
})
