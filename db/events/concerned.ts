// Reads what concerns a contact to whom something happens: open waits, what interrupts them, and which workflows were left.

import { type RawBuilder, sql } from 'kysely'
import type { Condition } from '../../rules/conditions/types.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Interrupts } from '../../rules/interrupts.ts'
import type { Trx } from '../connect.ts'
import { isFoundLive } from '../executions/live.ts'
import { latestReceived } from '../executions/received.ts'
import type { JsonObject } from '../schema.ts'
import { unseen } from '../unseen.ts'

/** What has happened to a contact, as far as it decides what is read. */
export interface Arrived {
  /** null: no event, but the properties changed. */
  eventName: string | null
  contact: { id: string }
  /** Gives the HMAC of the address, which only what may start or wake something needs. */
  hmac: () => Buffer
  /** The execution whose segment records it: it has left its wait, which cannot end once more. */
  byExecution?: string | undefined
}

/** What concerns it. */
export interface Concerned {
  /** The workflows that the contact has left; null among them: all. */
  left_ids: (string | null)[]
  waits: WaitRow[]
}

/** An open wait, and what its conditions and those that interrupt it read. */
export interface WaitRow {
  execution_id: string
  workflow_id: string
  segment: number
  node_id: string
  /** The event that ends it; null: none does. */
  event_name: string | null
  filter: Condition | null
  condition: Condition | null
  /** The property that its time came from: its node is asked again when that changes. */
  path: string | null
  /** Of the version of its workflow. */
  interrupts: Interrupts | null
  goals_reached: string[]
  /** When it is over or looked at, ms; null: at no time. */
  until: number | null
  /** When its execution was started, ms. */
  entered_at: number
  /** Of its execution; null for a wait that has no filter and is not watched, as the following. */
  step_count: number | null
  /** Properties of the triggering event. */
  trigger: JsonObject | null
  /** The latest event of each node that its filter, its condition or its interrupts name; null if they name none. */
  wait_events: Record<string, JsonObject> | null
}

/** A row as it is read: a wait has the version whose interrupts it gets. */
interface Found {
  left_ids: Concerned['left_ids']
  waits: (Omit<WaitRow, 'interrupts'> & { version: number; watched: boolean })[]
  /** What may interrupt the waits of all rows, in the first one alone. */
  versions: { workflow_id: string; version: number; interrupts: Interrupts }[]
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

/** Reads for each of these, in their order, which workflows the contact has left, and its open waits for that event or any change. */
export async function findConcerned(
  trx: Trx,
  workspaceId: WorkspaceId,
  arrived: readonly Arrived[],
): Promise<Concerned[]> {
  if (arrived.length === 0) return []
  const asked = arrived.map(({ eventName, contact, hmac, byExecution = '' }, place) => ({
    place,
    contact_id: contact.id,
    event_name: eventName,
    hmac: hmac().toString('hex'),
    but_id: byExecution,
  }))
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
  const interruptsOf = interruptsIn(rows)
  return rows.map(({ left_ids, waits }) => ({
    left_ids,
    waits: waits.map((wait) => ({ ...wait, interrupts: interruptsOf(wait) })),
  }))
}

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

/** Gives waits the interrupts that were read once for all rows. @returns a function: what interrupts a wait, null if it is not watched */
function interruptsIn(
  found: readonly Found[],
): (wait: Found['waits'][number]) => Interrupts | null {
  const keyOf = (of: { workflow_id: string; version: number }) => `${of.workflow_id} ${of.version}`
  const versions = found.flatMap((one) => one.versions)
  const known = new Map(versions.map((row) => [keyOf(row), row.interrupts]))
  return (wait) => (wait.watched ? (known.get(keyOf(wait)) ?? null) : null)
}
