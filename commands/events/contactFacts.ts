// Loads what conditions read of contacts to whom something happens.
import type { Trx } from '../../db/connect.ts'
import type { ArrivedEvent } from '../../db/events/receivers.ts'
import { listEventTimes, listMemberships } from '../../db/executions/facts.ts'
import { findSegmentConditions } from '../../db/segments/reads.ts'
import { type ConditionNeeds, withSegments } from '../../rules/conditions/needs.ts'
import type { Condition, ConditionFacts } from '../../rules/conditions/types.ts'
import type { WorkspaceId } from '../../rules/ids.ts'

/** What has happened, as far as conditions read it. */
interface Happened extends Pick<ArrivedEvent, 'email' | 'properties' | 'now'> {
  contact: Pick<ArrivedEvent['contact'], 'id' | 'firstSeen' | 'properties'>
}

/** Loads for many contacts at once only what conditions read. @returns the facts of each of them */
export async function loadFactsOfContacts(
  trx: Trx,
  workspaceId: WorkspaceId,
  all: readonly Happened[],
  needs: ConditionNeeds,
): Promise<(one: Happened) => ConditionFacts> {
  const segments = await findSegmentConditions(trx, workspaceId, needs.segmentIds)
  return loadNeededFacts(trx, workspaceId, all, withSegments(needs, segments), segments)
}

/** The same where it is known what is read. @param segments conditions of those that are named, by way of others too */
export async function loadNeededFacts(
  trx: Trx,
  workspaceId: WorkspaceId,
  all: readonly Happened[],
  { eventNames, audienceIds }: Pick<ConditionNeeds, 'eventNames' | 'audienceIds'>,
  segments: Readonly<Record<string, Condition>>,
): Promise<(one: Happened) => ConditionFacts> {
  const ids = all.map(({ contact }) => contact.id)
  const emails = all.map(({ email }) => email)
  const times =
    eventNames.length > 0 ? await listEventTimes(trx, workspaceId, ids, eventNames) : null
  const audiences =
    audienceIds.length > 0 ? await listMemberships(trx, workspaceId, emails, audienceIds) : null
  return ({ email, properties, contact, now }) => ({
    now: now.getTime(),
    contact: { email, first_seen: contact.firstSeen.getTime(), properties: contact.properties },
    event: properties,
    trigger: {},
    waitEvents: {},
    steps: {},
    execution: { step_count: 0 },
    eventTimes: times?.get(contact.id) ?? {},
    emailActivity: {},
    audiences: audiences?.get(email) ?? [],
    segments,
  })
}
