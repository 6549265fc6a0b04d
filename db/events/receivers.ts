// Finds triggers of active workflows and open waits of a contact for an event.
// Long because one statement reads all that may concern an event.

import { type RawBuilder, sql } from 'kysely'
import type { Condition } from '../../rules/conditions/types.ts'
import { happenings } from '../../rules/eventNames.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Interrupts } from '../../rules/interrupts.ts'
import type { WaitEndedBy } from '../../rules/wire.ts'
import type { Trx } from '../connect.ts'
import { isFoundLive } from '../executions/live.ts'
import { latestReceived } from '../executions/received.ts'
import type { JsonObject } from '../schema.ts'
import { unseen } from '../unseen.ts'
import { lookFor } from './lookFor.ts'
import { listTriggers, type TriggerRow } from './triggers.ts'

export interface EventReceivers {
  /** At most one for each workflow. */
  triggers: {
    workflow_id: string
    node_id: string
    version: number
    /** What conditions read as `event.*` where no stored event started it; null: the event. */
    properties: JsonObject | null
  }[]
  waits: EndedWait[]
  /** Of the segments whose members are kept (`keptKeys`). */
  segmentKeys: string | null
  /** Whether something begins at the name, its contact waits, or segments are kept, whatever their conditions say. */
  isAwaited: boolean
}

/** A wait and what ends it, or that it is to be looked at. */
export interface EndedWait extends WaitEffect {
  execution_id: string
  workflow_id: string
  segment: number
  node_id: string
}

/** What something that happens to a contact does to a wait. */
export interface WaitEffect {
  /** `moved`: the property that its time came from has changed, so its node is asked again. Null: it goes on. */
  ended_by: 'event' | WaitEndedBy | null
  /** The goal, if one ended it. */
  leads_to: string | null
  /** When a rule of time may turn, where it goes on and that is sooner than it would have been looked at; null: it is not. */
  turns_at: Date | null
}

/** What has happened to a contact: an event, or another change. */
export interface ArrivedEvent {
  /** null: no event, but the properties changed. */
  eventName: string | null
  email: string
  /** Of the event. */
  properties: JsonObject
  contact: {
    id: string
    firstSeen: Date
    properties: JsonObject
    /** The properties before; the same object when they did not change. */
    before: JsonObject
    /** Whether it was made now. */
    isNew: boolean
  }
  /** Gives the HMAC of the address, which only what may start or wake something needs. */
  hmac: () => Buffer
  now: Date
  /** The execution whose segment records it: it has left its wait, which cannot end once more. */
  byExecution?: string | undefined
}

export interface WaitRow {
  execution_id: string
  workflow_id: string
  segment: number
  node_id: string
  /** The event that ends it; null: none does. */
  event_name: string | null
  filter: Condition | null
  condition: Condition | null
  path: string | null
  /** Of the version of its workflow. */
  interrupts: Interrupts | null
  goals_reached: string[]
  /** When it is over or looked at, ms; null: at no time. */
  until: number | null
  /** When its execution was started, ms. */
  entered_at: number
  /** This and the following are null if nothing of it reads them. */
  step_count: number | null
  /** Properties of the triggering event. */
  trigger: JsonObject | null
  /** By the nodes that the filter names; null if it names none. */
  wait_events: Record<string, JsonObject> | null
}

/** A `select` of the nodes whose events conditions read. @param conditions an expression of their text */
const namedNodes = (conditions: RawBuilder<unknown>) => sql`
    select found[1] as node_id from regexp_matches(${conditions}, 'wait_events[.]([A-Za-z0-9_-]+)', 'g') as found`

/**
 * What the conditions of the wait `w` may read of earlier waits: of each node that it, or what interrupts its version `v`, names the
 * latest event. What names none reads nothing. Most name none, since what has happened by then is decided when the wait begins
 * (`resolveMatch`).
 */
const LATEST_OF_NAMED = sql`
  select json_object_agg(named.node_id, latest.properties)
  from (${namedNodes(sql`concat_ws(' ', w.filter::text, w.condition::text)`)}
    union select unnest(v.named_nodes)) as named
  cross join lateral (${latestReceived(sql`w.execution_id`, sql`named.node_id`)}) as latest`

/**
 * A `select` of the execution of the wait `w`, while it is live. `offset 0` keeps it from a join, for which a plan made while there are few
 * executions reads them as a whole.
 */
const LIVE_OF_WAIT = sql`
          select x.* from executions x where x.id = w.execution_id and ${isFoundLive('x')} offset 0`

export interface Candidates {
  triggers: readonly TriggerRow[]
  waits: WaitRow[]
  /** Of the kept segments, as `keptKeys` gives them. */
  segmentKeys: string | null
}

/**
 * Finds for each of these the triggers of that name, and the waits for it or for any change. Their filters are not evaluated
 * here, and triggers of workflows that the contact has left are not returned. Most events start nothing and their contacts wait for
 * nothing: one small statement tells those.
 */
export async function listCandidates(
  trx: Trx,
  workspaceId: WorkspaceId,
  events: readonly ArrivedEvent[],
): Promise<Candidates[]> {
  const named = new Map<string, string[]>()
  const namesOf = events.map((event) => happeningNames(event, named))
  const looked = await lookFor(
    trx,
    workspaceId,
    events.map(({ contact, eventName }) => ({ contactId: contact.id, eventName })),
    namesOf,
  )
  const concerned = events.flatMap((event, place) => {
    const names = namesOf[place] ?? []
    const key = looked.keyOf(names)
    return key === null && !looked.waiting.has(event.contact.id)
      ? []
      : [{ event, place, names, key }]
  })
  const found = await findConcerned(trx, workspaceId, concerned)
  const triggers = await listTriggers(
    trx,
    workspaceId,
    // Who has left all workflows needs no triggers.
    concerned.map(({ names, key }, i) => ({
      names,
      key: found[i]?.left_ids.includes(null) ? null : key,
    })),
  )
  const { segmentKeys } = looked
  // Of most events: nothing is added to it.
  const nothing: Candidates = { triggers: [], waits: [], segmentKeys }
  const candidates = events.map(() => nothing)
  const interruptsOf = interruptsIn(found)
  for (const [i, { place }] of concerned.entries()) {
    const one = found[i]
    if (!one) continue
    const of = butLeft(triggers[i] ?? [], one.left_ids)
    const waits = one.waits.map((wait) => ({ ...wait, interrupts: interruptsOf(wait) }))
    candidates[place] = { triggers: of, waits, segmentKeys }
  }
  return candidates
}

/**
 * Reads what may concern each of these contacts and events; exported for the tests of row types and plans.
 */
export async function findConcerned(
  trx: Trx,
  workspaceId: WorkspaceId,
  concerned: readonly { event: ArrivedEvent }[],
): Promise<Found[]> {
  if (concerned.length === 0) return []
  const asked = concerned.map(
    ({ event: { eventName, contact, hmac, byExecution = '' } }, place) => ({
      place,
      contact_id: contact.id,
      event_name: eventName,
      hmac: hmac().toString('hex'),
      but_id: byExecution,
    }),
  )
  const isOpen = sql`w.workspace_id = ${workspaceId} and w.contact_id = g.contact_id
          and w.consumed_by is null and w.ended_by is null and w.execution_id <> g.but_id`
  const { rows } = await sql<Found>`
    with given as (
      select * from jsonb_to_recordset(${unseen(sql`${JSON.stringify(asked)}::jsonb`)}) as g(place integer,
        contact_id text, event_name text, hmac text, but_id text)
    ), interrupting as materialized (${interruptingOf(workspaceId, isOpen)}
    )
    select
      coalesce((
        select json_agg(case o.scope when 'workflow' then o.target_id end) from opt_outs o
        where o.workspace_id = ${workspaceId} and o.address_hmac = decode(g.hmac, 'hex')
          and o.scope in ('workflow', 'workspace')
      ), '[]') as left_ids,
      coalesce((${openWaits(isOpen)}), '[]') as waits,
      case when g.place = 0 then coalesce((select json_agg(json_build_object('workflow_id', v.workflow_id,
        'version', v.version, 'interrupts', v.interrupts)) from interrupting v), '[]') else '[]' end as versions
    from given g order by g.place
  `.execute(trx)
  return rows
}

/** Without those of workflows that the contact has left. */
const butLeft = (
  triggers: readonly TriggerRow[],
  leftIds: Found['left_ids'],
): readonly TriggerRow[] =>
  leftIds.length === 0
    ? triggers
    : triggers.filter(({ workflow_id }) => !leftIds.includes(workflow_id))

/**
 * A `select` of one JSON: the open waits for an event of the row `g`, and those that are watched. They are sorted by an expression for a kept
 * plan: while there are few waits, the index of all of them in that order would look as cheap.
 */
const openWaits = (isOpen: RawBuilder<unknown>) => sql`
        select json_agg(json_build_object('execution_id', w.execution_id,
          'workflow_id', x.workflow_id, 'version', x.version, 'watched', w.watched,
          'segment', w.segment, 'node_id', w.node_id,
          'event_name', w.event_name, 'filter', w.filter, 'condition', w.condition, 'path', w.path,
          'goals_reached', w.goals_reached, 'until', (extract(epoch from w.deadline) * 1000)::float8,
          'entered_at', (extract(epoch from x.created_at) * 1000)::float8,
          'step_count', case when w.watched or w.filter is not null then (
            select max(s.seq) from execution_steps s where s.execution_id = x.id) end,
          'trigger', case when w.watched or w.filter is not null then coalesce(x.properties, (
            select a.properties from automation_events a
            where a.id = x.trigger_event_id and a.contact_id = x.contact_id)) end,
          'wait_events', (${LATEST_OF_NAMED}))
          order by w.execution_id || '', w.segment)
        from event_waits w cross join lateral (${LIVE_OF_WAIT}) x
          left join interrupting v on w.watched and v.workflow_id = x.workflow_id and v.version = x.version
        where ${isOpen} and (w.event_name = g.event_name or w.watched)`

/**
 * The names of triggers that what has happened may fire.
 * @param named the lists of those that are an event and nothing else, by its name: many events share one
 */
function happeningNames(
  { eventName, contact }: ArrivedEvent,
  named: Map<string, string[]>,
): string[] {
  const isChanged = contact.properties !== contact.before
  if (eventName !== null && !contact.isNew && !isChanged) {
    const known = named.get(eventName) ?? [eventName]
    named.set(eventName, known)
    return known
  }
  return [
    ...(eventName === null ? [] : [eventName]),
    ...(contact.isNew ? [happenings.contactCreated] : []),
    ...(isChanged ? [happenings.propertyChanged] : []),
  ]
}

/**
 * A `select` of what may interrupt the executions of open watched waits of all rows `g` of `given`: a row for each version, which many waits
 * and contacts may share. It may be large, so it is read once, and what it names of earlier waits is looked for once.
 */
const interruptingOf = (workspaceId: WorkspaceId, isOpen: RawBuilder<unknown>) => sql`
      select v.workflow_id, v.version, v.interrupts, array(${namedNodes(sql`v.interrupts::text`)}) as named_nodes
      from (select distinct o.workflow_id, o.version from given g cross join lateral (
          select x.workflow_id, x.version from event_waits w cross join lateral (${LIVE_OF_WAIT}) x
          where ${isOpen} and w.watched offset 0) as o) as o
        join workflow_versions v on v.workflow_id = o.workflow_id and v.version = o.version
      where v.workspace_id = ${workspaceId} and v.interrupts is not null`

interface Found {
  /** The workflows that the contact has left; null among them: all. */
  left_ids: (string | null)[]
  waits: (Omit<WaitRow, 'interrupts'> & { version: number; watched: boolean })[]
  /** What may interrupt the waits of all rows, in the first one alone. */
  versions: { workflow_id: string; version: number; interrupts: Interrupts }[]
}

/** A design may be large, and in many executions: what interrupts them is read once. @returns what interrupts those of a wait */
function interruptsIn(
  found: readonly Found[],
): (wait: Found['waits'][number]) => Interrupts | null {
  const keyOf = (of: { workflow_id: string; version: number }) => `${of.workflow_id} ${of.version}`
  const versions = found.flatMap((one) => one.versions)
  const known = new Map(versions.map((row) => [keyOf(row), row.interrupts]))
  return (wait) => (wait.watched ? (known.get(keyOf(wait)) ?? null) : null)
}

/**
 * The contacts with a trigger or an open wait for their event, or a kept segment that counts such events. A trigger and a segment of
 * the workspace count for every contact.
 */
export async function listAwaited(
  trx: Trx,
  workspaceId: WorkspaceId,
  events: readonly { contact_id: string; name: string }[],
): Promise<Set<string>> {
  const { rows } = await sql<{ contact_id: string }>`
    with given (contact_id, name) as (
      select * from unnest(${unseen(sql`${events.map((event) => event.contact_id)}::text[]`)},
        ${unseen(sql`${events.map((event) => `email.${event.name}`)}::text[]`)})
    )
    select distinct contact_id from given e
    where exists (select from workflow_triggers t
        where t.workspace_id = ${workspaceId} and t.event_name = e.name)
      or exists (select from segments s
        where s.workspace_id = ${workspaceId} and s.kept and e.name = any(s.event_names))
      or exists (select from event_waits w
        where w.contact_id = e.contact_id and (w.event_name = e.name or w.watched)
          and w.consumed_by is null and w.ended_by is null)
  `.execute(trx)
  return new Set(rows.map((row) => row.contact_id))
}
