// Decides which workflows an arriving event starts and which waits it ends.
import type { Trx } from '../../db/connect.ts'
import {
  type ArrivedEvent,
  type EventReceivers,
  findCandidates,
  type TriggerRow,
  type WaitRow,
} from '../../db/events/receivers.ts'
import { listEmailActivity, listEventTimes, listMemberships } from '../../db/executions/facts.ts'
import { evaluate } from '../../rules/conditions/evaluate.ts'
import { conditionNeeds } from '../../rules/conditions/needs.ts'
import type { ConditionFacts } from '../../rules/conditions/types.ts'
import { matchTrigger } from '../../rules/design/triggers.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { mayEnter } from './reEntry.ts'

/**
 * The caller holds the contact's lock. An event still ends a wait whose deadline has passed, as long as no segment
 * has ended it by the timeout.
 */
export async function findReceivers(
  trx: Trx,
  workspaceId: WorkspaceId,
  event: ArrivedEvent,
): Promise<EventReceivers> {
  const candidates = await findCandidates(trx, workspaceId, event)
  if (candidates.triggers.length === 0 && candidates.waits.length === 0) return candidates
  const facts = await loadFacts(trx, workspaceId, event, candidates)

  const waits: EventReceivers['waits'] = []
  for (const { filter, trigger, wait_events, ...wait } of candidates.waits) {
    if (filter) {
      const needsMail = conditionNeeds(filter).emailActivity
      const waiting: ConditionFacts = {
        ...facts,
        trigger: trigger ?? {},
        waitEvents: wait_events ?? {},
        emailActivity: needsMail
          ? await listEmailActivity(trx, workspaceId, wait.execution_id)
          : {},
      }
      if (!evaluate(filter, waiting)) continue
    }
    waits.push(wait)
  }

  const triggers: EventReceivers['triggers'] = []
  for (const ofWorkflow of groupByWorkflow(candidates.triggers)) {
    const match = matchTrigger(ofWorkflow, facts)
    if (!match) continue
    const { workflow_id, node_id, version, re_entry } = match
    const entry = { contactId: event.contact.id, workflowId: workflow_id, now: event.now }
    if (!(await mayEnter(trx, workspaceId, entry, re_entry, event.properties))) continue
    triggers.push({ workflow_id, node_id, version })
  }
  return { triggers, waits }
}

/** Loads only what the filters read: most need only the contact and the event. */
async function loadFacts(
  trx: Trx,
  workspaceId: WorkspaceId,
  { email, properties, contact, now }: ArrivedEvent,
  candidates: { triggers: TriggerRow[]; waits: WaitRow[] },
): Promise<ConditionFacts> {
  const filters = [...candidates.triggers, ...candidates.waits].flatMap((row) => row.filter ?? [])
  const { eventNames, audienceIds } = conditionNeeds(...filters)
  return {
    now: now.getTime(),
    contact: { email, first_seen: contact.firstSeen.getTime(), properties: contact.properties },
    event: properties,
    trigger: {},
    waitEvents: {},
    execution: { step_count: 0 },
    eventTimes:
      eventNames.length > 0 ? await listEventTimes(trx, workspaceId, contact.id, eventNames) : {},
    emailActivity: {},
    audiences:
      audienceIds.length > 0 ? await listMemberships(trx, workspaceId, email, audienceIds) : [],
  }
}

function groupByWorkflow(triggers: TriggerRow[]): TriggerRow[][] {
  const groups = new Map<string, TriggerRow[]>()
  for (const trigger of triggers) {
    const group = groups.get(trigger.workflow_id)
    if (group) group.push(trigger)
    else groups.set(trigger.workflow_id, [trigger])
  }
  return [...groups.values()]
}
