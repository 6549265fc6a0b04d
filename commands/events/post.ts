// Accepts an automation event of the API. A new contact is made with it.

import { isReservedEventName } from '../../rules/eventNames.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { JsonObject } from '../../rules/json.ts'
import { limits } from '../../rules/limits.ts'
import { isRefusal, type Refusal, refuse } from '../../rules/refusals.ts'
import type { CommandDeps } from '../deps.ts'
import type { GroupedEvent } from './arrived.ts'
import type { EventGroups } from './groups.ts'
import type { RecordedEvent } from './record.ts'

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

export type PostRefusal = Refusal<
  'reserved_event_name' | 'timestamp_ahead' | 'contact_properties_refused' | 'event_id_reused'
>

/**
 * Records an event. If its event_id was recorded before with the same name and address, returns that event. It
 * may share its commit with other events of the workspace, and so cannot run inside another transaction.
 */
export async function postAutomationEvent(
  deps: Pick<CommandDeps, 'now'> & { eventGroups: EventGroups },
  workspaceId: WorkspaceId,
  input: PostedEvent,
): Promise<RecordedEvent | PostRefusal> {
  const now = deps.now()
  const event = toGroupedEvent(input, now)
  return isRefusal(event) ? event : deps.eventGroups.record(workspaceId, event, now)
}

/** @param now when it came */
export function toGroupedEvent(
  input: PostedEvent,
  now: Date,
): GroupedEvent | Refusal<'reserved_event_name' | 'timestamp_ahead'> {
  if (isReservedEventName(input.event_name)) {
    return refuse('reserved_event_name', { eventName: input.event_name })
  }
  const timestamp = input.timestamp ?? now.getTime()
  const latest = now.getTime() + limits.eventAheadMsMax
  if (timestamp > latest) return refuse('timestamp_ahead', { timestamp, latest })
  return {
    eventId: input.event_id ?? null,
    eventName: input.event_name,
    email: input.email,
    properties: input.properties ?? {},
    at: new Date(timestamp),
    contactProperties: input.contact_properties ?? null,
    createContact: true,
    historical: input.historical === true || timestamp < now.getTime() - limits.eventBehindMsMax,
  }
}
