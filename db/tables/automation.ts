// Tables of automation: contacts, automation events, workflows, executions, waits, the outbox, and what is known of Temporal.
// Long because it lists every column of these tables.

import type { Generated } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { EndedStatus, WorkflowStatus } from '../../rules/states.ts'
import type { HeldAction, OutboxKind, SuspectKind, WaitEndedBy } from '../../rules/wire.ts'
import type { Defaulted, JsonColumn, JsonObject, NullableJson } from './columns.ts'

export interface ContactsTable {
  id: string
  workspace_id: WorkspaceId
  email: string
  properties: JsonColumn<JsonObject>
  event_count: Defaulted<number>
  first_seen: Date
  last_seen: Date
  last_event: string
  created_at: Date
  updated_at: Date
  /** The transaction that made the row: what it changes in the row itself is told with `contact.created`. */
  made_in: Generated<string>
}

export interface AutomationEventsTable {
  id: string
  workspace_id: WorkspaceId
  contact_id: string
  /** The caller's own id; without one the same as `id`. */
  event_id: string
  event_name: string
  email: string
  properties: JsonColumn<JsonObject>
  at: Date
  created_at: Date
  /** How many effects of executions led to it; 0: it came from outside. */
  depth: Defaulted<number>
  /** Whether it told of the past when it came: then it has started and woken nothing. */
  historical: Defaulted<boolean>
  /** `event_count` of the contact when it was counted; null: a process of before wrote it. */
  ordinal: Defaulted<number | null>
}

/** Callers' ids of events that went with an erased contact, as keyed hashes: they stay recorded. */
export interface SpentEventIdsTable {
  workspace_id: WorkspaceId
  id_hash: Buffer
}

export interface WorkflowsTable {
  id: string
  workspace_id: WorkspaceId
  name: string
  status: WorkflowStatus
  current_version: number
  /** 0 until the workflow was first active. */
  active_version: Defaulted<number>
  /** What becomes of executions that it held while it was paused, once it is active. */
  held: Defaulted<HeldAction>
  created_by: string
  created_by_type: 'user' | 'apiKey'
  created_at: Date
  updated_at: Date
  archived_at: Date | null
}

export interface WorkflowVersionsTable {
  workflow_id: string
  version: number
  workspace_id: WorkspaceId
  design: JsonColumn<object>
  /** `Interrupts` of the design; null where it has none. */
  interrupts: NullableJson<object>
  /** The semantics of the interpreter that it runs under (`ENGINE`). */
  engine: Defaulted<number>
  /** The domain of the bound key that wrote it, whose secrets alone it reads; null: it reads all of the workspace. */
  bound_domain_id: Defaulted<string | null>
  created_by: string
  created_at: Date
}

export interface WorkflowTriggersTable {
  workflow_id: string
  node_id: string
  workspace_id: WorkspaceId
  event_name: string
  version: number
  /** In the design's order. */
  position: number
  filter: NullableJson<object>
  re_entry: NullableJson<object>
  /** What the trigger is about, beside its name: an audience, the path of a property; null: nothing more. */
  about: string | null
}

/** The number of the present state of the triggers of a workspace (`triggerKey`). */
export interface WorkflowTriggerVersionsTable {
  workspace_id: WorkspaceId
  version: string
}

/** A trigger of an active workflow that starts by itself. */
export interface SchedulesTable {
  workflow_id: string
  node_id: string
  workspace_id: WorkspaceId
  version: number
  /** `Schedule`: its times, with the zone. */
  schedule: JsonColumn<object>
  /** For whose members. */
  audience_id: string
  filter: NullableJson<object>
  re_entry: NullableJson<object>
  /** Its times up to then are done. */
  handled_until: Date
  /** The time whose members are being started; null: none. */
  due_at: Defaulted<Date | null>
  /** The last of them that was looked at; '': none. */
  after_email: Defaulted<string>
  /** When that was. */
  paged_at: Defaulted<Date | null>
  /** Since when members are started without a long pause: times that came since then have waited. */
  busy_since: Defaulted<Date | null>
  /** Whether no time is left. */
  is_over: Defaulted<boolean>
}

export interface ExecutionsTable {
  id: string
  workspace_id: WorkspaceId
  workflow_id: string
  version: number
  contact_id: string
  email: string
  trigger_node_id: string
  /** automation_events.id; null for a manual start. */
  trigger_event_id: string | null
  /** Properties given at a manual start. */
  properties: NullableJson<JsonObject>
  /** The time of the schedule that started it; null: no schedule did. */
  scheduled_at: Defaulted<Date | null>
  /** `event_count` of the contact when it was started; null: a process of before wrote it. */
  events_before: Defaulted<number | null>
  /** null while it runs; its state is in Temporal then. */
  ended_status: EndedStatus | null
  current_step_id: Defaulted<string>
  step_count: Defaulted<number>
  outcome: string | null
  error: string | null
  cancellation_reason: string | null
  /**
   * Length of the chain of executions that led to this one: each sent mail that caused the event that started the
   * next.
   */
  chain_depth: Defaulted<number>
  created_at: Date
  updated_at: Date
  completed_at: Date | null
}

export interface ExecutionSegmentsTable {
  execution_id: string
  segment: number
  result: JsonColumn<object>
  /** `ENGINE` of the worker that wrote it; null: one of a release before that number. */
  engine: Defaulted<number | null>
  created_at: Date
}

export interface ExecutionStepsTable {
  execution_id: string
  seq: number
  segment: number
  node_id: string
  type: string
  handle: string | null
  why: string | null
  at: Date
}

export interface EventWaitsTable {
  execution_id: string
  segment: number
  node_id: string
  workspace_id: WorkspaceId
  contact_id: string
  /** The event that it waits for; null: for none. */
  event_name: string | null
  /** Condition on the arriving event; null: any event. */
  filter: NullableJson<object>
  /** When it is over or looked at: sooner than its segment said where a change has brought a rule of time nearer. */
  deadline: Date | null
  /** automation_events.id that ended the wait. */
  consumed_by: string | null
  /** What else ended it; null while it goes on, or when an event or its time ended it. */
  ended_by: WaitEndedBy | null
  /** automation_events.id with which a condition or a goal ended it. */
  ended_with: Defaulted<string | null>
  /** The goal to which the execution leaves a wait that was ended by one. */
  leads_to: string | null
  /** The wait is over when it holds. */
  condition: NullableJson<object>
  /** The property from which the end of the wait was computed. */
  path: string | null
  /** Whether changes of the contact may end it: by the condition, the path, or what interrupts the execution. */
  watched: Defaulted<boolean>
  /** The paused workflow that holds the execution before the node; null: it waits at the node. */
  held_workflow_id: Defaulted<string | null>
  /** Goals of the design that the execution has reached, by node id. */
  goals_reached: Defaulted<string[]>
  created_at: Date
}

/** What may end workers. Almost always empty: a row goes when its segment, execution or mail ends. */
export interface SuspectsTable {
  kind: SuspectKind
  /** For a segment the id of its execution, for a delivery that of its email, a slash and its own. */
  id: string
  workspace_id: WorkspaceId
  /** What it did when it was noted: of a segment the node. */
  step: string
  /** How often a worker died while it ran alone. */
  deaths: Defaulted<number>
  /** The run of the process whose death was counted last. */
  last_run: string | null
  noted_at: Date
}

export interface OutboxTable {
  id: Generated<number>
  kind: OutboxKind
  /**
   * For `domain_start` and `domain_check` the domain's id (workflow and contact are ''); for `mail_event` ''
   * (workflow too); for `leave` ''; for `schedule` the ids of workflow and node, with a slash between them (contact is '').
   */
  execution_id: string
  workspace_id: WorkspaceId
  workflow_id: string
  contact_id: string
  payload: JsonColumn<JsonObject>
  /** When the row is handed to Temporal; `infinity` for `mail_event` and `leave`. */
  next_at: Date
  /** When a mail event is recorded for its contact, or a `leave` carried out; null for other kinds. */
  due_at: Defaulted<Date | null>
  /** How often it was put off; of rows for Temporal, how often Temporal has refused it. */
  attempts: Defaulted<number>
  /** Name of Temporal's last answer, such as INVALID_ARGUMENT; null if it has refused nothing. */
  refusal: Defaulted<string | null>
  created_at: Date
}

/** What workers know of a namespace of Temporal. */
export interface TemporalNamespacesTable {
  name: string
  /** By which Temporal tells it from another one of that name; null: not asked yet. */
  id: string | null
  /** The rows of executions that ended in Temporal up to then are closed; null: nobody has looked. */
  swept_until: Date | null
  /** What ended from outside up to then may have been dropped by Temporal unseen; null: nothing was. */
  unseen_until: Date | null
  /** Where the walk over what should run there goes on; null: at its beginning. */
  walk: NullableJson<JsonObject>
  /** How many lost ones this lap of the walk has found. */
  lap_lost: Defaulted<number>
  /** When the next round is due; a worker that has one puts it off. */
  next_at: Date
}

/** Written by the release before alone: a worker copies its rows into opt_outs. */
export interface WorkflowUnsubscribesTable {
  workflow_id: string
  contact_id: string
  workspace_id: WorkspaceId
  /**
   * The email whose link was followed by a GET, which a scanner may have made; null: the unsubscription is
   * certain.
   */
  unconfirmed_email_id: Defaulted<string | null>
  created_at: Date
  copied: Defaulted<boolean>
}
