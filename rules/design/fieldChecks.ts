// Checks of single keys of a node's data. Each gives the problems of its key; an absent optional key has none.
import { parseMailbox, senderDomain } from '../addresses.ts'
import { isMany, parseField } from '../conditions/fields.ts'
import { type ConditionScope, validateCondition } from '../conditions/validate.ts'
import { isTooLong, isZero, parseDuration, spanMsMax } from '../duration.ts'
import { isEventName } from '../eventNames.ts'
import { isJsonObject, type Json } from '../json.ts'
import { limits } from '../limits.ts'
import { propertyPath } from '../properties/update.ts'
import { type CheckAt, problemAt } from './context.ts'
import type { Problem } from './problem.ts'

/** Undefined, null and '' all count as absent. */
export function isGiven(value: Json | undefined): value is Exclude<Json, null> {
  return value !== undefined && value !== null && value !== ''
}

/** Text of at most `charsMax` UTF-16 units; of any length without it. */
export function checkText(at: CheckAt, key: string, charsMax?: number): Problem[] {
  const value = at.data[key]
  if (!isGiven(value)) return []
  if (typeof value !== 'string') return problemAt(at, key, 'bad_value', `${key} must be text`)
  if (charsMax === undefined || value.length <= charsMax) return []
  return problemAt(at, key, 'bad_value', `${key} may have ${charsMax} characters`)
}

/** Liquid source. */
export function checkLiquid(at: CheckAt, key: string): Problem[] {
  const value = at.data[key]
  if (typeof value !== 'string') return checkText(at, key)
  const fault = at.context.liquidProblem?.(value) ?? null
  return fault === null ? [] : problemAt(at, key, 'bad_template_text', `${key}: ${fault}`)
}

/** One of the names. */
export function checkOneOf(at: CheckAt, key: string, names: readonly string[]): Problem[] {
  const value = at.data[key]
  if (!isGiven(value) || (typeof value === 'string' && names.includes(value))) return []
  return problemAt(at, key, 'bad_value', `${key} must be one of ${names.join(', ')}`)
}

/** Whole milliseconds, at most a hundred years. */
export function checkMs(at: CheckAt, key: string): Problem[] {
  const value = at.data[key]
  if (!isGiven(value)) return []
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= spanMsMax) {
    return []
  }
  return problemAt(at, key, 'bad_value', `${key} must be whole milliseconds, 100 years at most`)
}

/** An ISO 8601 duration, at most a hundred years. */
export function checkDuration(at: CheckAt, key: string): Problem[] {
  const value = at.data[key]
  if (!isGiven(value)) return []
  const duration = typeof value === 'string' ? parseDuration(value) : null
  if (!duration) {
    return problemAt(at, key, 'bad_duration', `${key} must be an ISO 8601 duration such as PT30M`)
  }
  if (!isTooLong(duration)) return []
  return problemAt(at, key, 'bad_duration', `${key} is over ${limits.durationYearsMax} years`)
}

/** A required event name; reserved ones are fine to listen to. */
export function checkEventName(at: CheckAt, key: string): Problem[] {
  if (isEventName(at.data[key])) return []
  const message = `${key} must be 1-${limits.eventNameCharsMax} letters, digits or . _ - : /`
  return problemAt(at, key, 'bad_event_name', message)
}

/** A JSON object. */
export function checkObject(at: CheckAt, key: string): Problem[] {
  const value = at.data[key]
  if (!isGiven(value) || isJsonObject(value)) return []
  return problemAt(at, key, 'bad_value', `${key} must be an object`)
}

/** A mailbox as sender: it parses, and its domain may send. */
export function checkSender(at: CheckAt, key: string): Problem[] {
  const problems = checkMailbox(at, key)
  const value = at.data[key]
  if (problems.length > 0 || typeof value !== 'string' || value === '') return problems
  return checkSenderDomain(at, key, value)
}

/** One mailbox: an address, or `Name <address>`. */
export function checkMailbox(at: CheckAt, key: string): Problem[] {
  const value = at.data[key]
  if (!isGiven(value) || (typeof value === 'string' && parseMailbox(value))) return []
  return problemAt(at, key, 'bad_address', `${key} must be one address, or Name <address>`)
}

/** The domain of a sender, wherever it was written, is one that may send; an unreadable sender says nothing here. */
export function checkSenderDomain(at: CheckAt, key: string, from: string): Problem[] {
  const domain = senderDomain(from)
  if (domain === null || at.context.verifiedDomains.has(domain)) return []
  return problemAt(at, key, 'domain_not_verified', `the domain ${domain} is not verified`)
}

/** A condition that a node's data holds: from this come its checks, the facts it reads and the audiences it names. */
export interface HeldCondition {
  /** Dotted path within the data. */
  key: string
  value: Json | undefined
  scope: ConditionScope
  /** False: it may be absent. */
  isRequired: boolean
}

/** Conditions that the data holds, each at its key. */
export function checkConditions(at: CheckAt, held: readonly HeldCondition[]): Problem[] {
  return held.flatMap(({ key, value, scope, isRequired }) =>
    isRequired || isGiven(value)
      ? validateCondition(value, `${at.path}.${key}`, {
          nodeId: at.nodeId,
          scope,
          waitNodes: at.waitNodes,
          sendNodes: at.sendNodes,
          audiences: at.context.audiences,
        })
      : [],
  )
}

/** A name of exactly one fact, written by the design as a value: `trigger.order_id`, `properties.plan`. */
export function checkFactName(at: CheckAt, key: string, value: Json | undefined): Problem[] {
  const field = typeof value === 'string' ? parseField(value) : null
  if (!field || isMany(field)) {
    return problemAt(at, key, 'unknown_field', 'must name one field, such as event.order_id')
  }
  const node = field.path[0]?.name ?? ''
  if (field.root !== 'wait_events' || at.waitNodes.has(node)) return []
  return problemAt(at, key, 'unknown_node', 'no wait_for_event node of that id')
}

/** A dot path of properties, without `[]`. */
export const isPropertyPath = (value: unknown): value is string =>
  typeof value === 'string' && propertyPath(value) !== null

/** A duration that is no time at all; false for what is no duration. */
export function isNoTime(value: unknown): boolean {
  const duration = typeof value === 'string' ? parseDuration(value) : null
  return duration !== null && isZero(duration)
}
