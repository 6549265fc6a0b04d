// Accepts an automation event of the API, in one commit. A new contact is made with it.

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
  /** ms; the time of arrival if absent. */
  timestamp?: number | undefined
  /**
   * It tells of the past: it is counted, and starts and wakes nothing. So does one that is older than
   * `limits.eventBehindMsMax`.
   */
  historical?: boolean | undefined
  /** The caller's own id: an event with the same id is recorded only once. */
  event_id?: string | undefined
}

/** Tries of a commit that lost a race for its event_id. The next try finds the recorded event. */
const TRIES = 3

/**
 * Records an event. If its event_id was recorded before with the same name and address, returns that event. Cannot
 * run inside another transaction, because it tries again in a new one after a race for the event_id.
 */
export async function postAutomationEvent(
  deps: Pick<CommandDeps, 'db' | 'newId' | 'now' | 'wake' | 'addressMac'>,
  workspaceId: WorkspaceId,
  input: PostedEvent,
): Promise<
  | RecordedEvent
  | Refusal<
      'reserved_event_name' | 'timestamp_ahead' | 'contact_properties_refused' | 'event_id_reused'
    >
> {
  const now = deps.now()
  if (isReservedEventName(input.event_name)) {
    return refuse('reserved_event_name', { eventName: input.event_name })
  }
  const timestamp = input.timestamp ?? now.getTime()
  const latest = now.getTime() + limits.eventAheadMsMax
  if (timestamp > latest) return refuse('timestamp_ahead', { timestamp, latest })
  const event = {
    eventId: input.event_id ?? null,
    eventName: input.event_name,
    email: input.email,
    properties: input.properties ?? {},
    at: new Date(timestamp),
    contactProperties: input.contact_properties ?? null,
    createContact: true,
    historical: input.historical === true || timestamp < now.getTime() - limits.eventBehindMsMax,
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
