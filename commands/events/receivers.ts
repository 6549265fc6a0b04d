// Decides which workflows arriving events start and which waits they end.
// Long because one event and many go the same way from candidates to receivers.
import { setImmediate as turn } from 'node:timers/promises'
import type { Trx } from '../../db/connect.ts'
import type { WaitRow } from '../../db/events/concerned.ts'
import {
  type ArrivedEvent,
  type Candidates,
  type EndedWait,
  type EventReceivers,
  listCandidates,
  type WaitEffect,
} from '../../db/events/receivers.ts'
import type { TriggerRow } from '../../db/events/triggers.ts'
import { listAnswers } from '../../db/executions/calls.ts'
import { listEmailActivity } from '../../db/executions/facts.ts'
import { evaluate } from '../../rules/conditions/evaluate.ts'
import { type ConditionNeeds, conditionNeeds, joinNeeds } from '../../rules/conditions/needs.ts'
import { nextTurn } from '../../rules/conditions/turns.ts'
import type { Condition, ConditionFacts } from '../../rules/conditions/types.ts'
import { matchTrigger } from '../../rules/design/triggers.ts'
import { happenings } from '../../rules/eventNames.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { RunFacts } from '../../rules/interpreterTypes.ts'
import { interruption, nextInterruption } from '../../rules/interrupts.ts'
import type { Json, JsonObject } from '../../rules/json.ts'
import { jsonEquals, own } from '../../rules/paths.ts'
import { propertyPath } from '../../rules/properties/update.ts'
import { loadFactsOfContacts } from './contactFacts.ts'
import { type Entry, listEntryRefusals } from './reEntry.ts'

/**
 * The caller holds the contact's lock. An event still ends a wait whose deadline has passed, as long as no segment
 * has ended it by the timeout. What interrupts an execution comes before its wait.
 */
export async function findReceivers(
  trx: Trx,
  workspaceId: WorkspaceId,
  event: ArrivedEvent,
): Promise<EventReceivers> {
  const [found] = await listReceivers(trx, workspaceId, [event])
  return found ?? NOBODY
}

/**
 * What `findReceivers` finds for each of these, by as many statements as for one. No two are of the same contact: an
 * event may change what the next one of its contact meets.
 */
export async function listReceivers(
  trx: Trx,
  workspaceId: WorkspaceId,
  events: readonly ArrivedEvent[],
): Promise<EventReceivers[]> {
  if (events.length === 0) return []
  const candidates = await listCandidates(trx, workspaceId, events)
  const met = candidates.flatMap((found, place) => {
    const event = events[place]
    return event && found.triggers.length + found.waits.length > 0
      ? [{ ...found, event, place }]
      : []
  })
  if (met.length === 0) {
    const segmentKeys = candidates[0]?.segmentKeys ?? null
    const nobody = { ...NOBODY, segmentKeys, isAwaited: segmentKeys !== null }
    return candidates.map(() => nobody)
  }
  const receivers = candidates.map(
    ({ triggers, waits, segmentKeys }): EventReceivers => ({
      triggers: [],
      waits: [],
      segmentKeys,
      isAwaited: triggers.length + waits.length > 0 || segmentKeys !== null,
    }),
  )
  // A contact may have thousands of events, so those of few contacts are counted at once.
  const isCounting = met.some((one) => needsOf(one).eventNames.length > 0)
  const size = isCounting ? COUNTED_AT_ONCE : Math.max(met.length, 1)
  for (let from = 0; from < met.length; from += size) {
    await addReceivers(trx, workspaceId, met.slice(from, from + size), receivers)
  }
  return receivers
}

/** Contacts whose events are counted at once. */
const COUNTED_AT_ONCE = 5

/** @param receivers by the places of the events, to which what is found is added */
async function addReceivers(
  trx: Trx,
  workspaceId: WorkspaceId,
  met: readonly Omit<Met, 'facts'>[],
  receivers: readonly EventReceivers[],
): Promise<void> {
  const happened = met.map(({ event }) => event)
  const factsOf = await loadFactsOfContacts(
    trx,
    workspaceId,
    happened,
    joinNeeds(...met.map(needsOf)),
  )
  const waits = met.flatMap((one) => one.waits)
  const read = await loadRead(trx, workspaceId, waits)
  const entering: ReturnType<typeof findEntering> = []
  for (const one of met) {
    const ready = { ...one, facts: factsOf(one.event) }
    entering.push(...findEntering(ready))
    receivers[one.place]?.waits.push(...(await findAffected(ready, read)))
    // One may meet a thousand filters; others of the process come in between.
    await turn()
  }
  const refusals = await listEntryRefusals(trx, workspaceId, entering)
  for (const [i, { place, start }] of entering.entries()) {
    if (!refusals[i]) receivers[place]?.triggers.push(start)
  }
}

/** What the conditions read that an event asks. */
const needsOf = ({ triggers, waits }: Pick<Met, 'triggers' | 'waits'>): ConditionNeeds =>
  joinNeeds(ofList(triggers).needs, conditionNeeds(...waits.flatMap(conditionsOf)))

/** An event that meets triggers or waits. */
interface Met extends Candidates {
  event: ArrivedEvent
  facts: ConditionFacts
  /** Among the events that have arrived together. */
  place: number
}

/** The waits that it ends, or that are to be looked at. */
async function findAffected({ waits, event, facts }: Met, read: Read): Promise<EndedWait[]> {
  const affected: EndedWait[] = []
  for (const [i, wait] of waits.entries()) {
    const effect = effectOnWait(wait, event, factsOfWait(wait, facts, read))
    const { execution_id, workflow_id, segment, node_id } = wait
    if (effect) affected.push({ execution_id, workflow_id, segment, node_id, ...effect })
    // A contact may wait in thousands of executions, and a rule of time of each may be asked at hundreds of instants.
    if (i % WAITS_PER_TURN === WAITS_PER_TURN - 1) await turn()
  }
  return affected
}

/** Waits that are looked at before others of the process come in between. */
const WAITS_PER_TURN = 20

/** The workflows that its contact enters if they may. */
const findEntering = ({ triggers, event, facts, place }: Met) =>
  ofList(triggers).byWorkflow.flatMap((ofWorkflow) => {
    const found = findTrigger(ofWorkflow, event, facts)
    if (!found) return []
    const { trigger, properties } = found
    const { workflow_id, node_id, version, re_entry } = trigger
    const entry: Entry = {
      contactId: event.contact.id,
      workflowId: workflow_id,
      now: event.now,
      reEntry: re_entry,
      properties: properties ?? event.properties,
    }
    return [{ ...entry, place, start: { workflow_id, node_id, version, properties } }]
  })

/** Nothing starts and nothing wakes. */
export const NOBODY: EventReceivers = {
  triggers: [],
  waits: [],
  segmentKeys: null,
  isAwaited: false,
}

const ends = (ended_by: WaitEffect['ended_by'], leads_to: string | null = null): WaitEffect => ({
  ended_by,
  leads_to,
  turns_at: null,
})

/** What becomes of a wait now; null if nothing does. */
function effectOnWait(
  wait: WaitRow,
  { eventName, contact }: ArrivedEvent,
  facts: RunFacts,
): WaitEffect | null {
  const { interrupts, event_name, filter, condition, path } = wait
  // `event.*` is the arriving event in the filter of a wait alone.
  const own = { ...facts, event: facts.trigger }
  const found = interruption(interrupts, own, eventName ?? undefined)
  if (found?.kind === 'goal') return ends('goal', found.nodeId)
  if (found) return ends(found.outcome)
  if (event_name !== null && event_name === eventName && (!filter || evaluate(filter, facts))) {
    return ends('event')
  }
  if (condition && evaluate(condition, own)) return ends('condition')
  if (path !== null && !isSame(path, contact.before, contact.properties)) return ends('moved')
  const turn = soonerTurn(wait, own)
  return turn === null ? null : { ...ends(null), turns_at: new Date(turn) }
}

/**
 * When a rule of time may turn now, in ms, where that is before the wait is over or looked at; else null. The wait goes on: what comes
 * until its execution looks at it may still end it.
 */
function soonerTurn({ interrupts, condition, until }: WaitRow, facts: RunFacts): number | null {
  const before = until ?? Number.POSITIVE_INFINITY
  const interrupted = nextInterruption(interrupts, facts, before) ?? before
  const met = (condition && nextTurn([condition], facts, before)) ?? before
  const turn = Math.min(interrupted, met)
  return turn < before ? turn : null
}

/** Whether properties hold the same at a path. */
function isSame(path: string, before: JsonObject, after: JsonObject): boolean {
  const [was, is] = [valueAt(path, before), valueAt(path, after)]
  return was === undefined || is === undefined ? was === is : jsonEquals(was, is)
}

function valueAt(path: string, properties: JsonObject): Json | undefined {
  return propertyPath(path)?.reduce<Json | undefined>(own, properties)
}

/** The first trigger of a workflow that fires, in the order of its design; with what `event.*` is where no event fires it. */
function findTrigger(
  triggers: readonly TriggerRow[],
  { eventName, contact }: ArrivedEvent,
  facts: ConditionFacts,
): { trigger: TriggerRow; properties: JsonObject | null } | null {
  for (const trigger of triggers) {
    const properties = happeningOf(trigger, eventName, contact)
    if (properties === undefined) continue
    const asked = properties === null ? facts : { ...facts, event: properties }
    if (matchTrigger([trigger], asked)) return { trigger, properties }
  }
  return null
}

/** What `event.*` is for a trigger: null for the event itself, undefined if it does not fire. */
function happeningOf(
  { event_name, about }: TriggerRow,
  eventName: string | null,
  { before, properties }: ArrivedEvent['contact'],
): JsonObject | null | undefined {
  if (event_name === eventName) return null
  if (event_name === happenings.contactCreated) return {}
  const path = about ?? ''
  if (isSame(path, before, properties)) return undefined
  const [from, to] = [valueAt(path, before), valueAt(path, properties)]
  return { path, ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) }
}

/** What the conditions of waits look at of their executions, by execution. */
interface Read {
  activity: Awaited<ReturnType<typeof listEmailActivity>>
  answers: Awaited<ReturnType<typeof listAnswers>>
}

/** Reads for all waits at once: a contact may be in very many executions. */
async function loadRead(trx: Trx, workspaceId: WorkspaceId, waits: WaitRow[]): Promise<Read> {
  const asking = (need: 'emailActivity' | 'steps') => [
    ...new Set(
      waits
        .filter((wait) => conditionNeeds(...conditionsOf(wait))[need])
        .map(({ execution_id }) => execution_id),
    ),
  ]
  const [ofMail, ofAnswers] = [asking('emailActivity'), asking('steps')]
  return {
    activity: ofMail.length > 0 ? await listEmailActivity(trx, workspaceId, ofMail) : new Map(),
    answers: ofAnswers.length > 0 ? await listAnswers(trx, workspaceId, ofAnswers) : new Map(),
  }
}

/** The facts of an execution that waits. `event` is what has arrived. */
const factsOfWait = (
  wait: WaitRow,
  facts: ConditionFacts,
  { activity, answers }: Read,
): RunFacts => ({
  ...facts,
  trigger: wait.trigger ?? {},
  waitEvents: wait.wait_events ?? {},
  steps: answers.get(wait.execution_id) ?? {},
  execution: { step_count: wait.step_count ?? 0 },
  emailActivity: activity.get(wait.execution_id) ?? {},
  enteredAt: wait.entered_at,
  goalsReached: wait.goals_reached,
})

const conditionsOf = ({ filter, condition, interrupts }: WaitRow): Condition[] =>
  [
    filter,
    condition,
    ...(interrupts?.exits ?? []),
    ...(interrupts?.goals ?? []).map((goal) => goal.condition ?? null),
  ].filter((one) => one !== null)

interface TriggerList {
  needs: ConditionNeeds
  byWorkflow: readonly TriggerRow[][]
}

/** Of each list, which is the same from event to event while no workflow changes. */
const known = new WeakMap<readonly TriggerRow[], TriggerList>()

function ofList(triggers: readonly TriggerRow[]): TriggerList {
  const before = known.get(triggers)
  if (before) return before
  const groups = new Map<string, TriggerRow[]>()
  for (const trigger of triggers) {
    const group = groups.get(trigger.workflow_id)
    if (group) group.push(trigger)
    else groups.set(trigger.workflow_id, [trigger])
  }
  const needs = conditionNeeds(...triggers.flatMap(({ filter }) => filter ?? []))
  const found = { needs, byWorkflow: [...groups.values()] }
  known.set(triggers, found)
  return found
}
