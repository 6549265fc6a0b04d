// Finds what an arriving event starts and wakes: triggers of active workflows, and this contact's open waits.
import { sql, type Transaction } from 'kysely'
import { conditionNeeds, evaluate } from '../domain/conditions.ts'
import type { Condition, ConditionFacts } from '../domain/conditionTypes.ts'
import type { ReEntry } from '../domain/design.ts'
import { matchTrigger } from '../domain/matchTrigger.ts'
import { mayEnter } from './reEntry.ts'
import type { Database, JsonObject } from './schema.ts'
import { listEmailActivity, listEventTimes, listMemberships } from './segments.ts'

export interface EventReceivers {
  /** At most one for each workflow. */
  triggers: { workflow_id: string; node_id: string; version: number }[]
  waits: { execution_id: string; workflow_id: string; segment: number; node_id: string }[]
}

interface ArrivedEvent {
  workspaceId: string
  eventName: string
  email: string
  properties: JsonObject
  contact: { id: string; firstSeen: Date; properties: JsonObject }
  now: Date
}

interface TriggerRow {
  workflow_id: string
  node_id: string
  version: number
  filter: Condition | null
  re_entry: ReEntry | null
}

interface WaitRow {
  execution_id: string
  workflow_id: string
  segment: number
  node_id: string
  filter: Condition | null
  /** Properties of the triggering event; null where no filter asks. */
  trigger: JsonObject | null
  wait_events: Record<string, JsonObject> | null
}

/**
 * Takes the contact's lock for granted. A wait whose deadline has passed is still won by the event as long as no
 * segment has given it up: whoever did what was waited for is not told that he did not.
 */
export async function findReceivers(
  trx: Transaction<Database>,
  event: ArrivedEvent,
): Promise<EventReceivers> {
  const candidates = await findCandidates(trx, event)
  if (candidates.triggers.length === 0 && candidates.waits.length === 0) return candidates
  const facts = await loadFacts(trx, event, candidates)

  const waits: EventReceivers['waits'] = []
  for (const { filter, trigger, wait_events, ...wait } of candidates.waits) {
    if (filter) {
      const needsMail = conditionNeeds(filter).emailActivity
      const waiting: ConditionFacts = {
        ...facts,
        trigger: trigger ?? {},
        waitEvents: wait_events ?? {},
        emailActivity: needsMail ? await listEmailActivity(trx, wait.execution_id) : {},
      }
      if (!evaluate(filter, waiting)) continue
    }
    waits.push(wait)
  }

  const triggers: EventReceivers['triggers'] = []
  for (const ofWorkflow of groupByWorkflow(candidates.triggers)) {
    const match = matchTrigger(ofWorkflow, facts)
    if (!match) continue
    const { workflow_id, node_id, version, re_entry } = match
    const entry = { contactId: event.contact.id, workflowId: workflow_id, now: event.now }
    if (!(await mayEnter(trx, entry, re_entry, event.properties))) continue
    triggers.push({ workflow_id, node_id, version })
  }
  return { triggers, waits }
}

async function findCandidates(
  trx: Transaction<Database>,
  { workspaceId, eventName, contact }: ArrivedEvent,
): Promise<{ triggers: TriggerRow[]; waits: WaitRow[] }> {
  const { rows } = await sql<{ triggers: TriggerRow[]; waits: WaitRow[] }>`
    select
      coalesce((
        select json_agg(json_build_object('workflow_id', t.workflow_id, 'node_id', t.node_id,
          'version', t.version, 'filter', t.filter, 're_entry', t.re_entry)
          order by t.workflow_id, t.position)
        from workflow_triggers t
        where t.workspace_id = ${workspaceId} and t.event_name = ${eventName}
          and not exists (select from workflow_unsubscribes u
            where u.workflow_id = t.workflow_id and u.contact_id = ${contact.id})
      ), '[]') as triggers,
      coalesce((
        select json_agg(json_build_object('execution_id', w.execution_id,
          'workflow_id', x.workflow_id, 'segment', w.segment, 'node_id', w.node_id,
          'filter', w.filter,
          'trigger', case when w.filter is not null then coalesce(x.properties, (
            select a.properties from automation_events a where a.id = x.trigger_event_id)) end,
          'wait_events', case when w.filter is not null then (
            select json_object_agg(d.node_id, a.properties order by d.segment)
            from event_waits d join automation_events a on a.id = d.consumed_by
            where d.execution_id = w.execution_id) end)
          order by w.execution_id, w.segment)
        from event_waits w join executions x on x.id = w.execution_id
        where w.contact_id = ${contact.id} and w.event_name = ${eventName}
          and w.consumed_by is null and x.ended_status is null
      ), '[]') as waits
  `.execute(trx)
  return rows[0] ?? { triggers: [], waits: [] }
}

/** Only what the filters read is loaded: most ask for nothing beyond the contact and the event. */
async function loadFacts(
  trx: Transaction<Database>,
  { workspaceId, email, properties, contact, now }: ArrivedEvent,
  candidates: { triggers: TriggerRow[]; waits: WaitRow[] },
): Promise<ConditionFacts> {
  const filters = [...candidates.triggers, ...candidates.waits].flatMap((row) => row.filter ?? [])
  const { eventNames, audienceIds } = conditionNeeds(...filters)
  return {
    now: now.getTime(),
    contact: { email, first_seen: contact.firstSeen.getTime(), properties: contact.properties },
    event: properties,
    trigger: {},
    waitEvents: {},
    execution: { step_count: 0 },
    eventTimes: eventNames.length > 0 ? await listEventTimes(trx, contact.id, eventNames) : {},
    emailActivity: {},
    audiences:
      audienceIds.length > 0 ? await listMemberships(trx, workspaceId, email, audienceIds) : [],
  }
}

function groupByWorkflow(triggers: TriggerRow[]): TriggerRow[][] {
  const groups = new Map<string, TriggerRow[]>()
  for (const trigger of triggers) {
    const group = groups.get(trigger.workflow_id)
    if (group) group.push(trigger)
    else groups.set(trigger.workflow_id, [trigger])
  }
  return [...groups.values()]
}
