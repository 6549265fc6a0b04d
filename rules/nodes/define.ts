// What a node kind is: all that validation, the interpreter and the interface description ask of one.
import type { z } from 'zod'
import type { ConditionNeeds } from '../conditions/needs.ts'
import type { Condition } from '../conditions/types.ts'
import { withoutBlanks } from '../design/blanks.ts'
import type { CheckAt } from '../design/context.ts'
import type { HeldCondition } from '../design/fieldChecks.ts'
import type { Problem } from '../design/problem.ts'
import type { Settings } from '../design/settings.ts'
import type {
  Effect,
  End,
  HttpCall,
  SegmentFacts,
  SegmentTools,
  Wait,
  WaitEnd,
} from '../interpreterTypes.ts'
import type { JsonObject } from '../json.ts'
import type { ReEntry } from './reEntry.ts'

export interface Handles {
  /** Must lead somewhere before the design may be activated. */
  required: string[]
  /** May lead nowhere: then the execution ends there, or goes on by `default` where the node says so. */
  optional: string[]
}

/** What a design names outside itself, as it is written; anything but text is passed over. */
export type NamedOutside = Partial<
  Record<
    | 'templateIds'
    | 'fromAddresses'
    | 'teamAddresses'
    | 'audienceIds'
    | 'segmentIds'
    | 'workflowIds',
    unknown[]
  >
>

/**
 * `start`: executions begin there and nothing leads to it. `goal`: executions jump there, and edges may lead to it. `note`:
 * it is there for the reader and never runs.
 */
export type NodeRole = 'start' | 'goal' | 'step' | 'note'

/** When a trigger starts executions by itself, and for whom. */
export interface EntrySchedule {
  /** Once: ms since 1970 or ISO 8601. */
  at?: number | string
  /** Again and again: five fields. */
  cron?: string
  /** An IANA name; absent: that of the settings. */
  timezone?: string
  /** Whose members it starts executions for. */
  audience_id: string
}

/** How executions come to begin at a node. */
export interface Entry {
  /** The event that starts one, or a name of `happenings`; null: a call of the API does, or the schedule. */
  event_name: string | null
  /** What it is about beside the name: an audience, a segment, the path of a property; null: nothing more. */
  about: string | null
  /** Only events for which it holds. */
  filter: Condition | null
  re_entry: ReEntry | null
  schedule?: EntrySchedule
}

/** What the interpreter gives to the node that it enters. */
export interface Place {
  nodeId: string
  settings: Settings
  /** Of this moment: updates and steps so far are in it. */
  facts: SegmentFacts
  tools: SegmentTools
  /** The handles of the node from which an edge leads on. */
  wired: Pick<ReadonlySet<string>, 'has'>
  /** When the node was entered, ms; before now where it waits and is asked again. */
  since: number
  /** Why it was entered, if not by an edge. */
  cameBy?: string
}

/**
 * What a node did: it takes a handle, waits, wants an effect carried out or a request made, or ends the execution. `why`:
 * a short reason that its step shows, or null. `facts` are those after it, when it changed any.
 */
export type Move = { why: string | null; facts?: SegmentFacts } & (
  | { handle: string; wait?: never; end?: never; effect?: never; call?: never }
  | { wait: Wait; handle?: never; end?: never; effect?: never; call?: never }
  | { end: End; handle?: never; wait?: never; effect?: never; call?: never }
  | { effect: Effect; handle?: never; wait?: never; end?: never; call?: never }
  | { call: HttpCall; handle?: never; wait?: never; end?: never; effect?: never }
)

/**
 * One kind of node. `data` types what `enter` is given and describes it to readers of the interface; `check` says what
 * is wrong with it, and `enter` sees only data without problems. The functions over a `JsonObject` are total: they
 * take whatever a draft may hold. A field that is null or '' counts as absent: `check` leaves it alone, and `enter` and `entry`
 * do not see it.
 */
export interface NodeKind<Type extends string = string, Data extends object = object> {
  readonly type: Type
  /** One sentence for readers of the interface description. */
  readonly summary: string
  readonly data: z.ZodType<Data>
  /** Absent: `step`. */
  readonly role?: NodeRole
  /** Fields in which null and '' are values and not blank, since they are compared with something. */
  readonly compared?: readonly string[]
  /** What a node leaves behind that conditions read by its id. */
  readonly records?: 'wait_events' | 'email_activity'
  /** The name under which it keeps what others read as `steps.<name>`; null: none. */
  stores?(data: JsonObject): string | null
  /** The handle by which each end of its wait leaves; `default` where it names none. */
  readonly leaves?: Partial<Record<WaitEnd, string>>
  handles(data: JsonObject): Handles
  /** When each handle is taken, for readers of the docs. `<…>` stands for handles that the data names. */
  readonly handleTexts: Readonly<Record<string, string>>
  /** True when time surely passes at this node, so that a loop through it cannot run endlessly. */
  waits(data: JsonObject): boolean
  /** Every problem of the data, those of its conditions among them. */
  check(at: CheckAt): Problem[]
  conditions(data: JsonObject): HeldCondition[]
  /** Besides the audiences and segments of its conditions. */
  names(data: JsonObject): NamedOutside
  /** Facts that it reads beyond those of its conditions. */
  facts?(data: JsonObject): Partial<ConditionNeeds>
  /** Of a kind whose role is `start`, of data without problems. */
  entry?(data: Data): Entry
  enter(data: Data, place: Place): Move
}

/** Types one kind: `enter` and `entry` get what its schema describes, without fields that were left blank. */
export function defineNode<const Type extends string, Data extends object>(
  kind: NodeKind<Type, Data>,
): NodeKind<Type, Data> {
  const { entry, compared } = kind
  return {
    ...kind,
    ...(entry ? { entry: (data: Data) => entry(withoutBlanks(data, compared)) } : {}),
    enter: (data, place) => kind.enter(withoutBlanks(data, compared), place),
  }
}

/** Handles that do not depend on the data and must all be wired. */
export const always =
  (...required: string[]) =>
  (): Handles => ({ required, optional: [] })

/** Handles of a node that may fail (`failStep`). */
export const mayFail = (): Handles => ({ required: ['default'], optional: ['failed'] })

/** No time passes, whatever the data says. */
export const never = (): boolean => false

/** It holds one condition, at `condition`. */
export const oneCondition =
  (isRequired: boolean) =>
  ({ condition }: JsonObject): HeldCondition[] => [
    { key: 'condition', value: condition, scope: 'node', isRequired },
  ]

/** It holds no conditions. */
export const noConditions = (): HeldCondition[] => []

/** It names nothing outside the design. */
export const namesNothing = (): NamedOutside => ({})
