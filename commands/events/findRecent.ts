// Looks back for an event that a wait would have taken had it begun earlier.
import type { Trx } from '../../db/connect.ts'
import { evaluate } from '../../rules/conditions/evaluate.ts'
import type { Condition } from '../../rules/conditions/types.ts'
import type { Next, SegmentFacts } from '../../rules/interpreterTypes.ts'

const LOOKED_AT_MAX = 100

/** The latest event within the wait's look-back that its filter takes; never the one that triggered the execution. */
export async function findRecentEvent(
  trx: Trx,
  execution: { contact_id: string; trigger_event_id: string | null },
  wait: Extract<Next, { kind: 'wait_event' }>,
  facts: SegmentFacts,
) {
  if (wait.lookbackMs <= 0) return undefined
  const events = await trx
    .selectFrom('automation_events')
    .select(['id', 'properties'])
    .where('contact_id', '=', execution.contact_id)
    .where('event_name', '=', wait.eventName)
    .where('at', '>=', new Date(facts.now - wait.lookbackMs))
    .orderBy('at', 'desc')
    .limit(LOOKED_AT_MAX)
    .execute()
  return events.find((event) => {
    if (event.id === execution.trigger_event_id) return false
    if (wait.filter === null) return true
    return evaluate(wait.filter as Condition, {
      ...facts,
      event: event.properties,
      trigger: facts.event,
    })
  })
}
