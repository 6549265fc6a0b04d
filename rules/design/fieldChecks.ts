// Checks of single keys of a node's data. Each gives the problems of its key; an absent optional key has none.
import { parseMailbox, senderDomain } from '../addresses.ts'
import { addressAdvice } from '../asciiDomains.ts'
import { isMany, parseField } from '../conditions/fields.ts'
import { type ConditionScope, unkeptFault, validateCondition } from '../conditions/validate.ts'
import { isTooLong, isZero, parseDuration, spanMsMax } from '../duration.ts'
import { eventNameFault, isEventName } from '../eventNames.ts'
import { isJsonObject, type Json } from '../json.ts'
import { limits } from '../limits.ts'
import { isVariable, propertyPath } from '../properties/update.ts'
import { mustBeOneOf, shown, shownText, typeName } from '../shown.ts'
import { type CheckAt, problemAt } from './context.ts'
import type { Problem } from './problem.ts'
import type { ProblemCode } from './problemCodes.ts'

/** Undefined, null and '' all count as absent. */
export function isGiven(value: Json | undefined): value is Exclude<Json, null> {
  return value !== undefined && value !== null && value !== ''
}

/** Text of at most `charsMax` UTF-16 units; of any length without it. */
export function checkText(at: CheckAt, key: string, charsMax?: number): Problem[] {
  const value = at.data[key]
  if (!isGiven(value)) return []
  if (typeof value !== 'string') {
    return problemAt(at, key, 'bad_value', `${key} must be a string, not ${typeName(value)}`)
  }
  if (charsMax === undefined || value.length <= charsMax) return []
  const message = `${key} must not exceed ${charsMax} characters, has ${value.length}`
  return problemAt(at, key, 'bad_value', message)
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
  return problemAt(at, key, 'bad_value', `${key} ${mustBeOneOf(names, value)}`)
}

/** Exactly one of two keys is given. @param codes of none and of both */
export function checkOnlyOne(
  at: CheckAt,
  [one, other]: readonly [string, string],
  codes: { none: ProblemCode; both: ProblemCode },
): Problem[] {
  const given = [one, other].filter((key) => isGiven(at.data[key])).length
  if (given === 1) return []
  const came = given === 0 ? 'none' : 'both'
  const message = `exactly one of ${one} and ${other} is required, not ${came}`
  return problemAt(at, one, codes[came], message)
}

/** Whole milliseconds, at most a hundred years. */
export function checkMs(at: CheckAt, key: string, least = 0): Problem[] {
  const value = at.data[key]
  if (!isGiven(value)) return []
  const isWhole = typeof value === 'number' && Number.isInteger(value)
  if (isWhole && value >= least && value <= spanMsMax) return []
  const most = `${least} to ${spanMsMax} (${limits.durationYearsMax} years)`
  const message = `${key} must be a whole number of milliseconds from ${most}, not ${shown(value)}`
  return problemAt(at, key, 'bad_value', message)
}

/** An ISO 8601 duration, at most a hundred years. */
export function checkDuration(at: CheckAt, key: string): Problem[] {
  const value = at.data[key]
  if (!isGiven(value)) return []
  const duration = typeof value === 'string' ? parseDuration(value) : null
  if (!duration) {
    const message = `${key} must be an ISO 8601 duration such as PT30M, P3D or P1M, not ${shown(value)}`
    return problemAt(at, key, 'bad_duration', message)
  }
  if (!isTooLong(duration)) return []
  const message = `${key} must not exceed ${limits.durationYearsMax} years, is ${shown(value)}`
  return problemAt(at, key, 'bad_duration', message)
}

/** A required event name; reserved ones are fine to listen to. */
export function checkEventName(at: CheckAt, key: string): Problem[] {
  const value = at.data[key]
  if (isEventName(value)) return []
  const message = isGiven(value) ? `${key} ${eventNameFault(value)}` : `${key} is required`
  return problemAt(at, key, 'bad_event_name', message)
}

/** A JSON object. */
export function checkObject(at: CheckAt, key: string): Problem[] {
  const value = at.data[key]
  if (!isGiven(value) || isJsonObject(value)) return []
  return problemAt(at, key, 'bad_value', `${key} must be an object, not ${typeName(value)}`)
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
  const message = `${key} must be one address such as hello@acme.com, or Acme <hello@acme.com>${addressAdvice(value)}, not ${shown(value)}`
  return problemAt(at, key, 'bad_address', message)
}

/** The domain of a sender, wherever it was written, is one that may send; an unreadable sender says nothing here. */
export function checkSenderDomain(at: CheckAt, key: string, from: string): Problem[] {
  const domain = senderDomain(from)
  if (domain === null || at.context.verifiedDomains.has(domain)) return []
  const whose = at.context.isBound ? 'that this API key may send from' : 'of this workspace'
  const message = `${key}: the domain ${shownText(domain)} is not a verified domain ${whose}`
  return problemAt(at, key, 'domain_not_verified', message)
}

/** A condition that a node's data holds: from this come its checks, the facts it reads, and the audiences and segments it names. */
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
          storedNames: at.storedNames,
          sendNodes: at.sendNodes,
          audiences: at.context.audiences,
          ...(at.context.segments ? { segments: at.context.segments } : {}),
        })
      : [],
  )
}

/** A required id of a workflow that exists. */
export const checkWorkflowId = (at: CheckAt, key: string): Problem[] =>
  checkKnownId(at, key, 'workflow', at.context.workflows)

/** A required id of an audience that exists. */
export const checkAudienceId = (at: CheckAt, key: string): Problem[] =>
  checkKnownId(at, key, 'audience', at.context.audiences)

/** A required id of a segment that exists. */
export const checkSegmentId = (at: CheckAt, key: string): Problem[] =>
  checkKnownId(at, key, 'segment', at.context.segments)

function checkKnownId(
  at: CheckAt,
  key: string,
  of: 'workflow' | 'audience' | 'segment',
  known: ReadonlySet<string> | undefined,
): Problem[] {
  const value = at.data[key]
  if (typeof value !== 'string' || value === '') {
    const message = `${key} must be the id of ${of === 'audience' ? 'an' : 'a'} ${of}, not ${shown(value)}`
    return problemAt(at, key, 'bad_value', message)
  }
  if (known?.has(value) !== false) return []
  const message = `${key}: this workspace has no ${of} ${shown(value)}`
  return problemAt(at, key, `unknown_${of}`, message)
}

/** The path of a `{"var"}`. */
export function checkVariable(at: CheckAt, key: string, path: string): Problem[] {
  if (isVariable(path)) return checkFactName(at, key, path)
  const message = `var must name one field such as event.plan, not ${shown(path)}`
  return problemAt(at, key, 'unknown_field', message)
}

/** A name of exactly one fact, written by the design as a value: `trigger.order_id`, `properties.plan`. */
export function checkFactName(at: CheckAt, key: string, value: Json | undefined): Problem[] {
  const field = typeof value === 'string' ? parseField(value) : null
  if (!field || isMany(field)) {
    const message = `${key} must name one field such as event.order_id, not ${shown(value)}`
    return problemAt(at, key, 'unknown_field', message)
  }
  const fault = unkeptFault(field, at)
  return fault === null ? [] : problemAt(at, key, 'unknown_node', `${key}: ${fault}`)
}

/** A dot path of properties, without `[]`. */
export const isPropertyPath = (value: unknown): value is string =>
  typeof value === 'string' && propertyPath(value) !== null

/** True for a zero duration; false for an invalid one; false for what is no duration. */
export function isNoTime(value: unknown): boolean {
  const duration = typeof value === 'string' ? parseDuration(value) : null
  return duration !== null && isZero(duration)
}
