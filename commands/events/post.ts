// Accepts an automation event from outside: one commit, then the starter is woken.

import type { NewAutomationEvent } from '../../api/events/schemas.ts'
import type { ApiDeps } from '../../api/http/env.ts'
import { badRequest } from '../../api/http/errors.ts'
import { isReservedEventName } from '../../rules/eventNames.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { limits } from '../../rules/limits.ts'
import {
  EventIdRace,
  PropertiesRefused,
  type RecordedEvent,
  recordAutomationEvent,
} from './record.ts'

/** A race for one event_id ends with the first commit; the second try reads its answer. */
const TRIES = 3

/** @throws ApiError 400 `reserved_event_name`, or for a timestamp or properties that cannot be */
export async function recordEvent(
  { db, newId, now, wake }: Pick<ApiDeps, 'db' | 'newId' | 'now' | 'wake'>,
  workspaceId: WorkspaceId,
  input: NewAutomationEvent,
): Promise<RecordedEvent> {
  const at = now()
  if (isReservedEventName(input.event_name)) {
    throw badRequest(`event_name: ${input.event_name} is reserved`, 'reserved_event_name')
  }
  const timestamp = input.timestamp ?? at.getTime()
  if (timestamp > at.getTime() + limits.eventAheadMsMax) {
    throw badRequest('timestamp: must not be more than 24 hours ahead')
  }
  const event = {
    workspaceId,
    eventId: input.event_id ?? null,
    eventName: input.event_name,
    email: input.email,
    properties: input.properties ?? {},
    at: new Date(timestamp),
    contactProperties: input.contact_properties ?? null,
    createContact: true,
  }
  const record = async (triesLeft: number): Promise<RecordedEvent | null> => {
    try {
      return await db
        .transaction()
        .execute((trx) => recordAutomationEvent(trx, { newId, now: at }, event))
    } catch (err) {
      if (err instanceof EventIdRace && triesLeft > 1) return record(triesLeft - 1)
      if (err instanceof PropertiesRefused) throw badRequest(err.message)
      throw err
    }
  }
  const recorded = await record(TRIES)
  if (!recorded) throw new Error('an event for a contact that may be made was not recorded')
  if (recorded.wroteOutbox) wake('dripline_outbox')
  return recorded
}
