// What a segment knows of events that its own nodes have recorded since its facts were read.
import type { SegmentFacts } from './interpreterTypes.ts'

/** Conditions and goals further on in the segment count the event. */
export function withEvent(facts: SegmentFacts, name: string): SegmentFacts {
  const arrived = [...(facts.arrived ?? []), name]
  const known = Object.hasOwn(facts.eventTimes, name) ? (facts.eventTimes[name] ?? []) : null
  // What nobody counts was not read, and its events before are not known.
  if (known === null) return { ...facts, arrived }
  return { ...facts, arrived, eventTimes: { ...facts.eventTimes, [name]: [...known, facts.now] } }
}
