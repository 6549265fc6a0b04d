// Waits until a moment: one that the design names, or a date of the contact.
import { z } from 'zod'
import { type CheckAt, problemAt } from '../design/context.ts'
import { checkOneOf, checkOnlyOne, isGiven, isPropertyPath } from '../design/fieldChecks.ts'
import type { Problem } from '../design/problem.ts'
import type { Settings } from '../design/settings.ts'
import { checkMoment, checkTimeOfDay, checkTimezone } from '../design/timeChecks.ts'
import { spanMsMax } from '../duration.ts'
import type { SegmentFacts } from '../interpreterTypes.ts'
import type { Json } from '../json.ts'
import { limits } from '../limits.ts'
import { own } from '../paths.ts'
import { propertyPath } from '../properties/update.ts'
import { shown } from '../shown.ts'
import { midnightOf, parseTimeOfDay, readMoment } from '../time/clock.ts'
import { DAY_MS, firstInstant, type Wall, wallAt, zoneOf } from '../time/zones.ts'
import { defineNode, namesNothing, noConditions } from './define.ts'
import { timeOfDay, timezone } from './fields.ts'
import { completed, failStep } from './moves.ts'

const afterPast = ['continue', 'exit', 'next_day'] as const

const more = {
  offset_ms: z
    .int()
    .min(-spanMsMax)
    .max(spanMsMax)
    .describe('Moves the moment by so many ms; below 0 to before it')
    .meta({ default: 0 })
    .exactOptional(),
  time_of_day: timeOfDay
    .describe(
      '`HH:MM`: moves the moment on to this time of its day, or of the next day where it is earlier than the moment',
    )
    .exactOptional(),
  timezone,
  if_past: z
    .enum(afterPast)
    .describe(
      'When the moment is not after now: `continue` goes on at once, by `past` where that is wired; `exit` ends the ' +
        'execution, COMPLETED with the outcome `past`; `next_day` takes the same time of the next day that is ahead',
    )
    .meta({ default: 'continue' })
    .exactOptional(),
}

const data = z.xor([
  z
    .object({
      at: z
        .union([z.number(), z.string()])
        .describe(
          'The moment: ms since 1970 or ISO 8601; without an offset it is a time on the clocks of `timezone`',
        ),
      ...more,
    })
    .describe('A moment that is the same for all'),
  z
    .object({
      property_path: z
        .string()
        .max(limits.pathCharsMax)
        .describe(
          'Dot path of a property of the contact that holds the moment, written as `at` is',
        ),
      ...more,
    })
    .describe('A moment of the contact'),
])

type WaitUntilData = z.infer<typeof data>

function check(at: CheckAt): Problem[] {
  const { offset_ms } = at.data
  const isOffset =
    !isGiven(offset_ms) || (Number.isInteger(offset_ms) && Math.abs(Number(offset_ms)) <= spanMsMax)
  return [
    ...checkOnlyOne(at, ['at', 'property_path'], { none: 'missing_value', both: 'bad_value' }),
    ...checkMoment(at, 'at'),
    ...checkPath(at),
    ...(isOffset ? [] : problemAt(at, 'offset_ms', 'bad_value', offsetFault(offset_ms))),
    ...checkTimeOfDay(at, 'time_of_day'),
    ...checkTimezone(at, 'timezone'),
    ...checkOneOf(at, 'if_past', afterPast),
  ]
}

function checkPath(at: CheckAt): Problem[] {
  const value = at.data['property_path']
  if (!isGiven(value) || isPropertyPath(value)) return []
  const message = `property_path must be a dot path such as contract.ends_at, not ${shown(value)}`
  return problemAt(at, 'property_path', 'bad_value', message)
}

function offsetFault(value: Json | undefined): string {
  const most = `${-spanMsMax} to ${spanMsMax} (${limits.durationYearsMax} years)`
  return `offset_ms must be a whole number of milliseconds from ${most}, not ${shown(value)}`
}

export type WaitTarget =
  | { kind: 'at'; at_ms: number }
  /** The moment was over when the wait began, and `next_day` does not move it. */
  | { kind: 'past' }
  /** The property is missing, or holds no date. */
  | { kind: 'no_date' }

/**
 * Until when a `wait_until` waits: also where a property that it reads changes during the wait.
 * @param since when the wait began, ms: a moment that is not after it is past
 */
export function waitTarget(
  data: WaitUntilData,
  { contact }: Pick<SegmentFacts, 'contact'>,
  settings: Settings,
  since: number,
): WaitTarget {
  const zone = zoneOf(data.timezone, contact.properties, settings.timezone)
  const moment = readMoment(writtenMoment(data, contact.properties), zone)
  if (!moment) return { kind: 'no_date' }
  let at_ms = moment.at + (data.offset_ms || 0)
  // The asked time of the wall clock: where it lies in a gap of spring, the next day has it again.
  let wall = data.offset_ms || moment.wall === null ? wallAt(at_ms, zone) : moment.wall
  const time = parseTimeOfDay(data.time_of_day)
  if (time !== null) {
    const reached = at_ms
    wall = midnightOf(wallAt(reached, zone)) + time
    if (firstInstant(wall, zone) < reached) wall += DAY_MS
    at_ms = firstInstant(wall, zone)
  }
  if (at_ms > since) return { kind: 'at', at_ms }
  if (data.if_past !== 'next_day') return { kind: 'past' }
  return { kind: 'at', at_ms: nextDayAfter(since, wall, zone) }
}

function writtenMoment(data: WaitUntilData, properties: SegmentFacts['contact']['properties']) {
  if ('at' in data && isGiven(data.at)) return data.at
  const names = 'property_path' in data ? propertyPath(data.property_path) : null
  return names?.reduce<Json | undefined>(own, properties)
}

/** The first instant after `since` at which clocks show the time of `wall` on a later day. */
function nextDayAfter(since: number, wall: Wall, zone: string): number {
  const days = Math.max(1, Math.floor((wallAt(since, zone) - wall) / DAY_MS) + 1)
  let next = wall + days * DAY_MS
  while (firstInstant(next, zone) <= since) next += DAY_MS
  return firstInstant(next, zone)
}

export const waitUntil = defineNode({
  type: 'wait_until',
  summary: 'Waits until a moment: `at`, or the date in a property of the contact.',
  data,
  handles: () => ({ required: ['default'], optional: ['past'] }),
  handleTexts: {
    default: 'The moment has come. Without an edge from `past`, also when it was over already',
    past: 'The moment was over already (`if_past` is `continue`), or the property is missing or holds no date',
  },
  waits: ({ if_past }) => if_past === 'next_day',
  check,
  conditions: noConditions,
  names: namesNothing,
  enter(data, place) {
    const { facts, settings, wired, since } = place
    const target = waitTarget(data, facts, settings, since)
    if (target.kind === 'no_date') {
      return wired.has('past') ? { handle: 'past', why: 'no_date' } : failStep('no_date', place)
    }
    if (target.kind === 'past') {
      if (data.if_past === 'exit') return { end: completed('past'), why: 'past' }
      return { handle: wired.has('past') ? 'past' : 'default', why: 'past' }
    }
    if (target.at_ms <= facts.now) return { handle: 'default', why: null }
    // A date of the far future would be a longer timer than Temporal has.
    const until = Math.min(target.at_ms, since + spanMsMax)
    const path = 'property_path' in data && data.property_path ? { path: data.property_path } : {}
    return { wait: { for: 'nothing', until, ...path }, why: null }
  },
})
