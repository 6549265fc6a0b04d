// Loads what conditions read of a contact to whom something happens.
import type { Trx } from '../../db/connect.ts'
import type { ArrivedEvent } from '../../db/events/receivers.ts'
import { listEventTimes, listMemberships } from '../../db/executions/facts.ts'
import { conditionNeeds } from '../../rules/conditions/needs.ts'
import type { Condition, ConditionFacts } from '../../rules/conditions/types.ts'
import type { WorkspaceId } from '../../rules/ids.ts'

/** What has happened, as far as conditions read it. */
interface Happened extends Pick<ArrivedEvent, 'email' | 'properties' | 'now'> {
  contact: Pick<ArrivedEvent['contact'], 'id' | 'firstSeen' | 'properties'>
}

/** Loads only what the conditions read: most need only the contact and the event. */
export async function loadContactFacts(
  trx: Trx,
  workspaceId: WorkspaceId,
  { email, properties, contact, now }: Happened,
  ...conditions: Condition[]
): Promise<ConditionFacts> {
  const { eventNames, audienceIds } = conditionNeeds(...conditions)
  return {
    now: now.getTime(),
    contact: { email, first_seen: contact.firstSeen.getTime(), properties: contact.properties },
    event: properties,
    trigger: {},
    waitEvents: {},
    steps: {},
    execution: { step_count: 0 },
    eventTimes:
      eventNames.length > 0 ? await listEventTimes(trx, workspaceId, contact.id, eventNames) : {},
    emailActivity: {},
    audiences:
      audienceIds.length > 0 ? await listMemberships(trx, workspaceId, email, audienceIds) : [],
  }
}
