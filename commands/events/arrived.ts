// Events that have arrived and are recorded together: which of them cannot be, and the rows that are written of them.
import type { GroupedRow } from '../../db/events/groupWrites.ts'
import type { NewAutomationEvent } from '../../db/events/writes.ts'
import { isRefusedByPostgres } from '../../db/failures.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { eventIdHash, type RecordDeps } from './record.ts'

/** An event that no execution caused. It makes its contact. */
export type GroupedEvent = NewAutomationEvent & { createContact: true; chainDepth?: never }

export interface Arrived {
  event: GroupedEvent
  /** When it came. */
  now: Date
}

/** Events with one of these in common are recorded one after the other. */
export const keysOfArrived = ({ event: { email, eventId } }: Arrived): string[] => [
  `email ${email}`,
  ...(eventId === null ? [] : [`id ${eventId}`]),
]

/** In place of a result: the event is recorded alone, by who asked for it, so that the next group need not wait. */
export const ALONE = Symbol('alone')

/** Thrown to roll back a group of which one cannot be recorded with the others. */
export class Unfit extends Error {}

/** Whether a group was given up for one of its events, so that each is recorded alone. */
export const isUnfit = (error: unknown): boolean =>
  error instanceof Unfit || isRefusedByPostgres(error)

/** An event with the row that is written of it; the id of the row is new. */
interface Made extends Arrived {
  row: GroupedRow
}

/** Makes the rows of events, in order, and writes nothing. */
export const makeRows = (
  deps: Pick<RecordDeps, 'newId' | 'addressMac'>,
  workspaceId: WorkspaceId,
  group: readonly Arrived[],
): Made[] =>
  group.map(({ event, now }) => {
    const id = deps.newId('automationEvent')
    const { eventId } = event
    const idHash = eventId === null ? null : eventIdHash(deps, workspaceId, eventId).toString('hex')
    const row = {
      id,
      event_id: eventId ?? id,
      id_hash: idHash,
      event_name: event.eventName,
      email: event.email,
      properties: event.properties,
      at: event.at,
      historical: event.historical === true,
      now,
    }
    return { event, now, row }
  })
