// Finds an event from before a wait that ends the wait at once (the look-back).
import type { Trx } from '../../db/connect.ts'
import { listRecentEvents } from '../../db/events/reads.ts'
import type { SegmentRow } from '../../db/executions/segments.ts'
import { evaluate } from '../../rules/conditions/evaluate.ts'
import type { EventWait, SegmentFacts } from '../../rules/interpreterTypes.ts'
import { limits } from '../../rules/limits.ts'

/**
 * The latest event within the wait's look-back that matches its filter. The event that triggered the execution
 * never counts, nor one that has ended another wait of it.
 * @param execution `taken`: events that ended waits of this segment, which are not stored yet
 * @param marked runs the synchronous search among them
 */
export async function findRecentEvent(
  trx: Trx,
  execution: Pick<SegmentRow, 'id' | 'workspace_id' | 'contact_id' | 'trigger_event_id'> & {
    taken: readonly string[]
  },
  wait: EventWait,
  facts: SegmentFacts,
  marked: <T>(work: () => T) => T,
) {
  if (wait.lookbackMs <= 0) return undefined
  const events = await listRecentEvents(trx, execution.workspace_id, execution.contact_id, {
    eventName: wait.eventName,
    since: new Date(facts.now - wait.lookbackMs),
    byExecution: execution.id,
    limit: limits.eventsLookedBackMax,
  })
  const { filter } = wait
  return marked(() =>
    events.find((event) => {
      if (event.id === execution.trigger_event_id || execution.taken.includes(event.id))
        return false
      if (filter === null) return true
      return evaluate(filter, {
        ...facts,
        event: event.properties,
        trigger: facts.event,
      })
    }),
  )
}
