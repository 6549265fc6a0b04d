// Finds who enters and leaves the kept segments by a change of a contact, and keeps it.
import type { Trx } from '../../db/connect.ts'
import type { ArrivedEvent } from '../../db/events/receivers.ts'
import { findKept, type KeptSegment } from '../../db/segments/kept.ts'
import { type FoundMember, listMemberRows, writeMembers } from '../../db/segments/members.ts'
import { evaluate } from '../../rules/conditions/evaluate.ts'
import { nextTurn } from '../../rules/conditions/turns.ts'
import type { Condition, ConditionFacts } from '../../rules/conditions/types.ts'
import { happenings } from '../../rules/eventNames.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { loadNeededFacts } from '../events/contactFacts.ts'

/** A change of a contact that is written already, or the passing of time. */
export interface Changed
  extends Pick<ArrivedEvent, 'eventName' | 'email' | 'properties' | 'contact' | 'now'> {
  /** The time of the event; null: no event. */
  at: Date | null
  /** Only these segments, whatever has changed; absent: those that read what has changed. */
  segmentIds?: readonly string[]
}

/** Somebody has entered a segment, or left it. */
export interface Move {
  segmentId: string
  entered: boolean
}

/**
 * Looks at the contact again for each kept segment that reads what has changed. A contact whom the filling of a segment has not come to
 * yet was in it before when its condition held before the change. The caller holds the contact's lock.
 * @param keys of the kept segments, as `keptKeys` gave them in the same transaction
 */
export async function moveMembers(
  trx: Trx,
  workspaceId: WorkspaceId,
  keys: string | null,
  changed: Changed,
): Promise<Move[]> {
  const [moves] = await moveEach(trx, workspaceId, keys, [changed])
  return moves ?? []
}

/** Contacts whose events are counted at once: one may have thousands. */
const COUNTED_AT_ONCE = 5

/** The same for changes of several contacts, no two of the same, by as many statements as for one. @returns the moves of each */
export async function moveEach(
  trx: Trx,
  workspaceId: WorkspaceId,
  keys: string | null,
  all: readonly Changed[],
): Promise<Move[][]> {
  const kept = await findKept(trx, workspaceId, keys)
  const looks = all.map((changed): Look => ({ changed, asked: askedBy(changed, kept), moves: [] }))
  const looking = looks.filter(({ asked }) => asked.length > 0)
  const isCounting = looking.some(({ asked }) =>
    asked.some(({ reads }) => reads.eventNames.length > 0),
  )
  const size = isCounting ? COUNTED_AT_ONCE : Math.max(looking.length, 1)
  for (let from = 0; from < looking.length; from += size) {
    await lookAtEach(trx, workspaceId, looking.slice(from, from + size))
  }
  return looks.map(({ moves }) => moves)
}

/** A change, the segments for which its contact is looked at, and, when they were, what came of it. */
interface Look {
  changed: Changed
  asked: readonly KeptSegment[]
  moves: Move[]
}

const askedBy = (changed: Changed, kept: readonly KeptSegment[]): KeptSegment[] =>
  kept.filter((segment) =>
    changed.segmentIds ? changed.segmentIds.includes(segment.id) : isReadBy(segment, changed),
  )

async function lookAtEach(
  trx: Trx,
  workspaceId: WorkspaceId,
  looks: readonly Look[],
): Promise<void> {
  const segments = [...new Set(looks.flatMap(({ asked }) => asked))]
  const keyOf = (contactId: string, segmentId: string) => `${contactId} ${segmentId}`
  const known = await listMemberRows(
    trx,
    workspaceId,
    looks.map(({ changed }) => changed.contact.id),
    segments.map(({ id }) => id),
  )
  const rows = new Map(known.map((row) => [keyOf(row.contact_id, row.segment_id), row]))
  const load = await loadNeededFacts(
    trx,
    workspaceId,
    looks.map(({ changed }) => changed),
    {
      eventNames: [...new Set(segments.flatMap(({ reads }) => reads.eventNames))],
      audienceIds: [...new Set(segments.flatMap(({ reads }) => reads.audienceIds))],
    },
    Object.assign({}, ...segments.map(({ named }) => named)),
  )
  const found: FoundMember[] = []
  for (const { changed, asked, moves } of looks) {
    const facts = load(changed)
    for (const segment of asked) {
      const row = rows.get(keyOf(changed.contact.id, segment.id))
      const now = lookAt(segment, changed, facts, row)
      const was = isOf(row, segment) ? row.is_member : wasMember(segment, changed, facts)
      if (now.is_member !== was) moves.push({ segmentId: segment.id, entered: now.is_member })
      if (!isSame(now, row)) found.push(now)
    }
  }
  await writeMembers(trx, workspaceId, found)
}

type MemberRow = Awaited<ReturnType<typeof listMemberRows>>[number]

/** Whether a row is of the segment as it is now. */
const isOf = (row: MemberRow | undefined, { generation }: KeptSegment): row is MemberRow =>
  row?.generation === generation

function lookAt(
  segment: KeptSegment,
  changed: Changed,
  facts: ConditionFacts,
  row: MemberRow | undefined,
): FoundMember {
  // The clock of a process that is a little behind must not undo a turn of time, which would start workflows.
  const before = isOf(row, segment) ? (row.looked_at?.getTime() ?? 0) : 0
  const then = before > facts.now ? { ...facts, now: before } : facts
  return lookingSoon(segment, changed, toMember(segment, changed.contact.id, then))
}

/** Whether the row says what was found. */
function isSame(found: FoundMember, row: MemberRow | undefined): boolean {
  if (row === undefined) return !found.is_row
  return (
    row.generation === found.generation &&
    row.is_member === found.is_member &&
    (row.next_look_at?.getTime() ?? null) === found.next_look_at
  )
}

/** Longer than a commit takes. */
const SOON_MS = 5_000

/**
 * Who joins or leaves an audience while somebody else makes them a contact is seen by neither: a new contact is looked at once
 * more where a segment reads audiences.
 */
function lookingSoon(
  { reads }: KeptSegment,
  { contact, now }: Changed,
  found: FoundMember,
): FoundMember {
  if (!contact.isNew || reads.audienceIds.length === 0) return found
  const soon = now.getTime() + SOON_MS
  return { ...found, is_row: true, next_look_at: Math.min(found.next_look_at ?? soon, soon) }
}

/** Whether the condition of a segment holds for a contact now, and when that may change by time alone. */
export function toMember(
  { id: segment_id, generation, condition }: KeptSegment,
  contact_id: string,
  facts: ConditionFacts,
): FoundMember {
  const is_member = evaluate(condition, facts)
  const turning: Condition = is_member ? { type: 'not', rules: [condition] } : condition
  const next_look_at = nextTurn([turning], facts)
  const is_row = is_member || next_look_at !== null
  const looked_at = facts.now
  return { contact_id, segment_id, generation, is_member, next_look_at, looked_at, is_row }
}

function isReadBy(
  { reads }: KeptSegment,
  { contact, eventName, properties, at }: Changed,
): boolean {
  // A segment that counted these would change by its own changes, without end.
  if (eventName === happenings.segmentEntered || eventName === happenings.segmentLeft) return false
  if (contact.isNew) return true
  const isFieldChanged =
    contact.properties !== contact.before || contact.firstSeen.getTime() === at?.getTime()
  if (reads.fields && isFieldChanged) return true
  if (eventName === null) return false
  if (reads.eventNames.includes(eventName)) return true
  const ofAudience = [happenings.audienceJoined, happenings.audienceLeft] as string[]
  return (
    ofAudience.includes(eventName) && reads.audienceIds.includes(String(properties['audience_id']))
  )
}

/** Whether somebody of whom nothing is known was a member before the change. */
function wasMember(
  { filled, condition }: KeptSegment,
  changed: Changed,
  facts: ConditionFacts,
): boolean {
  if (filled || changed.contact.isNew) return false
  return evaluate(condition, factsBefore(changed, facts))
}

/** What the facts were before the change. */
function factsBefore(
  { eventName, properties, contact, at }: Changed,
  facts: ConditionFacts,
): ConditionFacts {
  const { eventTimes, audiences } = facts
  const id = String(properties['audience_id'])
  const others = audiences.filter((other) => other !== id)
  return {
    ...facts,
    contact: { ...facts.contact, properties: contact.before },
    eventTimes: eventName && at ? withoutOne(eventTimes, eventName, at.getTime()) : eventTimes,
    audiences:
      eventName === happenings.audienceJoined
        ? others
        : eventName === happenings.audienceLeft
          ? [...others, id]
          : audiences,
  }
}

function withoutOne(
  times: ConditionFacts['eventTimes'],
  name: string,
  at: number,
): ConditionFacts['eventTimes'] {
  if (!Object.hasOwn(times, name)) return times
  const of = times[name] ?? []
  const i = of.indexOf(at)
  return i < 0 ? times : { ...times, [name]: of.toSpliced(i, 1) }
}
