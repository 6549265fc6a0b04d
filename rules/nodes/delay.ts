// Waits for a span of time.
import { z } from 'zod'
import { checkDuration, checkMs, checkOnlyOne, isNoTime } from '../design/fieldChecks.ts'
import { addDuration, parseDuration } from '../duration.ts'
import { fnv1a } from '../shard.ts'
import { always, defineNode, namesNothing, noConditions, type Place } from './define.ts'
import { duration, ms } from './fields.ts'
import { failed } from './moves.ts'

const jitter_ms = ms
  .describe('Waits up to this many ms longer, a different time for each execution')
  .exactOptional()

const data = z.xor([
  z.object({ duration, jitter_ms }).describe('A duration of the calendar'),
  z
    .object({ ms: ms.describe('Milliseconds; 0 does not wait'), jitter_ms })
    .describe('An exact time'),
])

/** 0 to max_ms, drawn from the step's own name: the same at every replay, another for each execution and lap. */
function jitter(max_ms: number | undefined, { nodeId, facts }: Place): number {
  if (!max_ms) return 0
  return fnv1a(`${facts.executionId}:${nodeId}:${facts.execution.step_count}`) % (max_ms + 1)
}

export const delay = defineNode({
  type: 'delay',
  summary: 'Waits for a span of time: either `duration` or `ms`.',
  data,
  handles: always('default'),
  handleTexts: { default: 'The time is over' },
  waits: (data) => !isNoTime(data['duration']) && data['ms'] !== 0,
  check: (at) => [
    ...checkOnlyOne(at, ['duration', 'ms'], { none: 'bad_duration', both: 'bad_duration' }),
    ...checkDuration(at, 'duration'),
    ...checkMs(at, 'ms'),
    ...checkMs(at, 'jitter_ms'),
  ],
  conditions: noConditions,
  names: namesNothing,
  enter(data, place) {
    const { since } = place
    const { now } = place.facts
    const span =
      'duration' in data && data.duration
        ? parseDuration(data.duration)
        : { kind: 'exact' as const, ms: 'ms' in data ? data.ms : Number.NaN }
    if (!span || Number.isNaN(span.ms)) {
      return { end: failed(`${place.nodeId}: bad duration`), why: null }
    }
    const until = addDuration(since, span) + jitter(data.jitter_ms, place)
    // Nothing to wait for: no timer, and no segment of its own. Asked again, it has waited.
    if (until <= now) return { handle: 'default', why: since < now ? null : 'no time to wait' }
    return { wait: { for: 'nothing', until }, why: null }
  },
})
