// Checks of single keys of a node's data. Each gives the problems of its key; an absent optional key has none.
import { addressDomain, parseMailbox } from '../addresses.ts'
import { isMany, parseField } from '../conditions/fields.ts'
import { type ConditionContext, validateCondition } from '../conditions/validate.ts'
import { isTooLong, parseDuration } from '../duration.ts'
import { isEventName } from '../eventNames.ts'
import { isJsonObject, type Json } from '../json.ts'
import { limits } from '../limits.ts'
import { type CheckAt, problemAt } from './context.ts'
import type { Problem } from './types.ts'

/** Undefined, null and '' all count as absent. */
export function isGiven(value: Json | undefined): value is Exclude<Json, null> {
  return value !== undefined && value !== null && value !== ''
}

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

export function checkOneOf(at: CheckAt, key: string, names: readonly string[]): Problem[] {
  const value = at.data[key]
  if (!isGiven(value) || (typeof value === 'string' && names.includes(value))) return []
  return problemAt(at, key, 'bad_value', `${key} must be one of ${names.join(', ')}`)
}

const spanMsMax = limits.durationYearsMax * 365.25 * 86_400_000

/** Whole milliseconds, at most a hundred years. */
export function checkMs(at: CheckAt, key: string): Problem[] {
  const value = at.data[key]
  if (!isGiven(value)) return []
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= spanMsMax) {
    return []
  }
  return problemAt(at, key, 'bad_value', `${key} must be whole milliseconds, 100 years at most`)
}

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

export function checkMailbox(at: CheckAt, key: string): Problem[] {
  const value = at.data[key]
  if (!isGiven(value) || (typeof value === 'string' && parseMailbox(value))) return []
  return problemAt(at, key, 'bad_address', `${key} must be one address, or Name <address>`)
}

/** The domain of a sender, wherever it was written, is one that may send; an unreadable sender says nothing here. */
export function checkSenderDomain(at: CheckAt, key: string, from: string): Problem[] {
  const mailbox = parseMailbox(from)
  const domain = mailbox && addressDomain(mailbox.address)
  if (domain === null || at.context.verifiedDomains.has(domain)) return []
  return problemAt(at, key, 'domain_not_verified', `the domain ${domain} is not verified`)
}

/** A condition at a key. */
export function checkCondition(
  at: CheckAt,
  key: string,
  scope: ConditionContext['scope'],
  value: Json | undefined = at.data[key],
): Problem[] {
  return validateCondition(value, `${at.path}.${key}`, {
    nodeId: at.nodeId,
    scope,
    waitNodes: at.waitNodes,
    sendNodes: at.sendNodes,
    audiences: at.context.audiences,
  })
}

/** As checkCondition, but it may be absent. */
export function checkOptionalCondition(
  at: CheckAt,
  key: string,
  scope: ConditionContext['scope'],
): Problem[] {
  return isGiven(at.data[key]) ? checkCondition(at, key, scope) : []
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
