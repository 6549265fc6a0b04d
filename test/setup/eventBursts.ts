// A workspace whose contacts wait for events in many ways, bursts of events for it, and all that such a burst wrote.
// Long because the workspace, its bursts and what they write are one model.

import { sql } from 'kysely'
import type { GroupedEvent } from '../../commands/events/arrived.ts'
import { recordAutomationEvent } from '../../commands/events/record.ts'
import { transact } from '../../commands/transact.ts'
import type { Db } from '../../db/connect.ts'
import type { Condition } from '../../rules/conditions/types.ts'
import type { ReEntry } from '../../rules/design/types.ts'
import { happenings } from '../../rules/eventNames.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { isRefusal } from '../../rules/refusals.ts'
import { addressMacOf } from './addressMac.ts'
import { design, insertFlow, onEvent } from './flows.ts'
import { newId, seedWorkspace } from './harness.ts'
import type { createRandom } from './random.ts'

/** Contacts that exist before the burst; the burst makes others. */
const KNOWN = 6
/** One of them has entered a workflow so often that it enters it once more and no further. */
const OFTEN = 5
const emailOf = (n: number) => `c${n}@example.test`

const rule = (field: string, operator: string, value?: unknown) =>
  ({ type: 'rule', field, operator, ...(value === undefined ? {} : { value }) }) as Condition

interface Trigger {
  event_name: string
  about?: string
  filter?: Condition
  re_entry?: ReEntry
}

/** The triggers of each workflow. */
const triggers: Trigger[][] = [
  [{ event_name: 'a' }],
  [{ event_name: 'a', re_entry: { mode: 'once' } }],
  [{ event_name: 'a', re_entry: { mode: 'after_exit' }, filter: rule('event.k', 'exists') }],
  [{ event_name: 'b', re_entry: { mode: 'interval', min_interval_ms: 40, key_path: 'event.k' } }],
  [{ event_name: happenings.propertyChanged, about: 'plan' }],
  [{ event_name: happenings.contactCreated, re_entry: { mode: 'once' } }],
  [
    {
      event_name: 'b',
      filter: {
        type: 'event_count',
        event_name: 'a',
        operator: 'gte',
        value: 2,
      } as Condition,
    },
    { event_name: 'a', filter: rule('properties.plan', 'eq', 'pro') },
  ],
  [
    {
      event_name: 'b',
      filter: { type: 'audience', audience_id: 'aud_of_test', member: true } as Condition,
    },
  ],
]

/** What waits of known contacts look like, beside those that their version interrupts. */
const waits = [
  { event_name: 'a', filter: rule('event.k', 'eq', 1) },
  { event_name: 'b', filter: rule('trigger.kind', 'eq', 'seed') },
  { event_name: null, condition: rule('properties.plan', 'eq', 'pro'), watched: true },
  { event_name: null, path: 'properties.due', watched: true },
  { event_name: 'b', watched: true },
]

interface BurstWorkspace {
  workspaceId: WorkspaceId
  /** By contact. */
  contactIds: string[]
}

/** Makes the same workspace at each call, but for its ids. */
export async function seedBurstWorkspace(db: Db, at: Date): Promise<BurstWorkspace> {
  const workspace = await seedWorkspace(db)
  const { workspaceId } = workspace
  const graph = design({ start: onEvent('none'), end: ['exit', {}] }, [['start', 'end']])
  const flows: string[] = []
  for (const given of triggers) {
    const id = await insertFlow(db, workspace, graph)
    flows.push(id)
    await db.deleteFrom('workflow_triggers').where('workflow_id', '=', id).execute()
    await sql`insert into workflow_triggers (workflow_id, node_id, workspace_id, event_name, about, version, position,
        filter, re_entry)
      select ${id}, 'n' || o, ${workspaceId}, g.event_name, g.about, 1, o, g.filter, g.re_entry
      from jsonb_array_elements(${JSON.stringify(given)}::jsonb) with ordinality e(v, o),
        jsonb_to_record(e.v) as g(event_name text, about text, filter jsonb, re_entry jsonb)`.execute(
      db,
    )
  }
  const waiting = await insertFlow(db, workspace, { ...graph, nodes: [...graph.nodes] })
  await db.deleteFrom('workflow_triggers').where('workflow_id', '=', waiting).execute()
  const interrupts = {
    exits: [rule('properties.gone', 'is_true')],
    goals: [{ nodeId: 'goal', eventName: 'b' }],
    maxDurationMs: null,
  }
  await db
    .updateTable('workflow_versions')
    .set({ interrupts: JSON.stringify(interrupts) })
    .where('workflow_id', '=', waiting)
    .execute()
  const contactIds: string[] = []
  const addressMac = await addressMacOf(db)
  for (let n = 0; n < KNOWN; n++) {
    const properties = { kind: 'seed', n }
    const seeded = await transact(
      { db, newId, now: () => at, addressMac, wake: () => undefined },
      (inTrx) =>
        recordAutomationEvent(inTrx, workspaceId, {
          eventId: null,
          eventName: 'seeded',
          email: emailOf(n),
          properties,
          at,
          contactProperties: n % 2 ? { plan: 'free' } : {},
          createContact: true,
        }),
    )
    if (!seeded || isRefusal(seeded)) throw new Error('a contact was not made')
    contactIds.push(seeded.contactId)
    await insertWaits(db, workspaceId, waiting, {
      at,
      seed: seeded.id,
      contactId: seeded.contactId,
      email: emailOf(n),
    })
  }
  await enterOften(db, workspaceId, flows[0] ?? '', contactIds[OFTEN] ?? '', at)
  await sql`insert into opt_outs (id, workspace_id, scope, target_id, address_hmac, source, created_at) values
    (${newId('workflow')}, ${workspaceId}, 'workflow', ${flows[1]}, ${addressMac(workspaceId, emailOf(1))}, 'api', now()),
    (${newId('workflow')}, ${workspaceId}, 'workspace', '', ${addressMac(workspaceId, emailOf(2))}, 'api', now())`.execute(
    db,
  )
  return { workspaceId, contactIds }
}

interface Waiter {
  at: Date
  /** automation_events.id */
  seed: string
  contactId: string
  email: string
}

async function insertWaits(
  db: Db,
  workspaceId: WorkspaceId,
  workflowId: string,
  { at, seed, contactId, email }: Waiter,
): Promise<void> {
  for (const [i, wait] of waits.entries()) {
    const id = newId('execution')
    await sql`insert into executions (id, workspace_id, workflow_id, version, contact_id, email, trigger_node_id,
        properties, chain_depth, created_at, updated_at)
      select ${id}, ${workspaceId}, ${workflowId}, 1, ${contactId}, ${email}, ${`wait${i}`}, properties, ${i}::int % 3,
        ${at}, ${at}
      from automation_events where id = ${seed}`.execute(db)
    const { event_name, filter = null, condition = null, path = null, watched = false } = wait
    await sql`insert into event_waits (execution_id, segment, node_id, workspace_id, contact_id, event_name, filter,
        condition, path, watched, created_at)
      values (${id}, 0, 'wait', ${workspaceId}, ${contactId}, ${event_name}, ${filter && JSON.stringify(filter)}::jsonb,
        ${condition && JSON.stringify(condition)}::jsonb, ${path}, ${watched}, ${at})`.execute(db)
  }
}

/** The contact has entered the workflow 99 times in the last hour. */
async function enterOften(
  db: Db,
  workspaceId: WorkspaceId,
  workflowId: string,
  contactId: string,
  at: Date,
): Promise<void> {
  await sql`insert into executions (id, workspace_id, workflow_id, version, contact_id, email, trigger_node_id, properties,
      ended_status, completed_at, created_at, updated_at)
    select ${workspaceId} || '_' || n, ${workspaceId}, ${workflowId}, 1, ${contactId}, ${emailOf(OFTEN)}, 'n1', '{}',
      'COMPLETED', ${at}, ${at}, ${at}
    from generate_series(1, 99) n`.execute(db)
}

export interface BurstEvent {
  event: GroupedEvent
  now: Date
}

/** Random events for known and for new contacts; some come twice, some tell of the past. None makes its group go alone, in any order. */
export function makeBurst(
  random: ReturnType<typeof createRandom>,
  { at, count, name }: { at: Date; count: number; name: string },
): BurstEvent[] {
  const chance = (part: number) => random.next() < part
  return Array.from({ length: count }, (_, n) => {
    const now = new Date(at.getTime() + 1_000 + n * 7)
    const email = chance(0.7)
      ? emailOf(random.between(0, KNOWN - 1))
      : `${name}${random.between(0, 5)}@example.test`
    const changes = {
      ...(chance(0.6) ? { plan: random.pick(['free', 'pro', 'max']) } : {}),
      ...(chance(0.2) ? { due: random.between(1, 3) } : {}),
      ...(chance(0.1) ? { gone: true } : {}),
    }
    return {
      now,
      event: {
        eventId: chance(0.3) ? `${name} ${random.between(0, 4)}` : null,
        eventName: random.pick(['a', 'a', 'b', 'c']),
        email,
        properties: { n, ...(chance(0.7) ? { k: random.between(1, 2) } : {}) },
        at: new Date(now.getTime() - random.between(0, 5_000)),
        contactProperties: chance(0.4) ? changes : null,
        createContact: true,
        historical: chance(0.1),
      },
    }
  })
}

/** Everything that events wrote in a workspace, without what differs from workspace to workspace: ids, and places in the outbox. */
export async function listWritten(db: Db, workspaceId: WorkspaceId): Promise<unknown> {
  const flow = (id: string) => sql`(select count(*) from workflows w
    where w.workspace_id = ${workspaceId} and w.id < ${sql.raw(id)})`
  const event = (
    id: string,
  ) => sql`(select a.properties->'n' || to_jsonb(a.event_name) from automation_events a
    where a.id = ${sql.raw(id)})`
  const execution = sql`jsonb_build_array(x.email, ${flow('x.workflow_id')}, x.trigger_node_id,
    coalesce(x.properties, ${event('x.trigger_event_id')}), x.created_at)`
  const parts = [
    sql`select to_jsonb(c) - 'id' - 'workspace_id' - 'created_at' - 'updated_at' - 'made_in' as row from contacts c
      where c.workspace_id = ${workspaceId}`,
    sql`select to_jsonb(a) - 'id' - 'workspace_id' - 'contact_id' - 'created_at'
        || jsonb_build_object('event_id', case when a.event_id = a.id then '' else a.event_id end,
          'of', (select c.email from contacts c where c.id = a.contact_id)) as row
      from automation_events a where a.workspace_id = ${workspaceId}`,
    sql`select jsonb_build_array(${execution}, x.version, x.chain_depth, x.ended_status, x.events_before,
        (select c.email from contacts c where c.id = x.contact_id)) as row
      from executions x where x.workspace_id = ${workspaceId}`,
    sql`select jsonb_build_array(${execution}, w.segment, w.node_id, ${event('w.consumed_by')}, w.ended_by,
        w.leads_to) as row
      from event_waits w join executions x on x.id = w.execution_id where w.workspace_id = ${workspaceId}`,
    sql`select jsonb_build_array(${execution}, o.kind, o.payload->'segment', ${event("o.payload->>'eventId'")},
        o.next_at, o.due_at, o.created_at, ${flow('o.workflow_id')},
        (select c.email from contacts c where c.id = o.contact_id)) as row
      from outbox o join executions x on x.id = o.execution_id where o.workspace_id = ${workspaceId}`,
  ]
  return Promise.all(
    parts.map(async (part) => {
      const { rows } = await sql<{ row: unknown }>`
        select row from (${part}) as part order by row::text`.execute(db)
      return rows.map(({ row }) => row)
    }),
  )
}
