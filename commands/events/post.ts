// Accepts an automation event from outside: one commit, by which the contact is made when it is new.

import { isReservedEventName } from '../../rules/eventNames.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { JsonObject } from '../../rules/json.ts'
import { limits } from '../../rules/limits.ts'
import { type Refusal, refuse } from '../../rules/refusals.ts'
import type { CommandDeps } from '../deps.ts'
import { transact } from '../transact.ts'
import { EventIdRace, type RecordedEvent, recordAutomationEvent } from './record.ts'

export interface PostedEvent {
  event_name: string
  /** In lower case. */
  email: string
  properties?: JsonObject | undefined
  /** Deep-merged into the contact's; null deletes a key. */
  contact_properties?: JsonObject | undefined
  /** ms; the time of arrival when it is absent. */
  timestamp?: number | undefined
  /** The caller's own id, by which the event is recorded once for ever. */
  event_id?: string | undefined
}

/** A race for one event_id ends with the first commit; the second try reads its answer. */
const TRIES = 3

/**
 * An event that was posted before is answered as it was then. Outermost only: a race for its event_id is tried again in
 * a transaction of its own.
 */
export async function postAutomationEvent(
  deps: Pick<CommandDeps, 'db' | 'newId' | 'now' | 'wake'>,
  workspaceId: WorkspaceId,
  input: PostedEvent,
): Promise<
  RecordedEvent | Refusal<'reserved_event_name' | 'timestamp_ahead' | 'contact_properties_refused'>
> {
  const now = deps.now()
  if (isReservedEventName(input.event_name)) {
    return refuse('reserved_event_name', { eventName: input.event_name })
  }
  const timestamp = input.timestamp ?? now.getTime()
  if (timestamp > now.getTime() + limits.eventAheadMsMax) return refuse('timestamp_ahead', {})
  const event = {
    eventId: input.event_id ?? null,
    eventName: input.event_name,
    email: input.email,
    properties: input.properties ?? {},
    at: new Date(timestamp),
    contactProperties: input.contact_properties ?? null,
    createContact: true,
  }
  for (let tries = 1; ; tries++) {
    try {
      const recorded = await transact({ ...deps, now: () => now }, (inTrx) =>
        recordAutomationEvent(inTrx, workspaceId, event),
      )
      if (!recorded) throw new Error('an event for a contact that may be made was not recorded')
      return recorded
    } catch (err) {
      if (!(err instanceof EventIdRace) || tries >= TRIES) throw err
    }
  }
}
