// What a schema found wrong with a request, as a sentence: the field, what came, and what is allowed.
import type { z } from '@hono/zod-openapi'
import { mustBeOneOf, shown, shownText, typeName } from '../../rules/shown.ts'

type Issue = z.core.$ZodIssue

/** Fields whose value is nobody else's to read, should an answer be kept somewhere. */
const SECRET = /(^|_)(password|secret|token|key|authorization)$/i

/**
 * The first fault that a schema found: `contacts[3].email must be a string, not a number`.
 * @param given what was parsed: a body, a query, the parts of a path
 * @param whole what the given is called where the fault is that of all of it; an item of a batch is no body
 */
export function issueText(
  error: { issues: readonly Issue[] },
  given: unknown,
  whole = 'The body',
): string {
  const [issue] = error.issues
  if (!issue) return 'The request is not valid'
  return sentence(issue, given, whole)
}

function sentence(issue: Issue, given: unknown, whole: string): string {
  const value = valueAt(given, issue.path)
  const inner = issue.code === 'invalid_union' ? closest(issue) : undefined
  if (inner) return sentence({ ...inner, path: [...issue.path, ...inner.path] }, given, whole)
  // A rule of a schema as a whole, such as "one of these keys", is a sentence already.
  if (issue.path.length === 0 && issue.code === 'custom') return issue.message
  return `${pathText(issue.path) || whole} ${faultOf(issue, value)}`
}

/** `contacts[3].email` */
function pathText(path: readonly PropertyKey[]): string {
  return path
    .map((part, i) => {
      if (typeof part === 'number') return `[${part}]`
      return `${i === 0 ? '' : '.'}${shownText(String(part))}`
    })
    .join('')
}

function valueAt(given: unknown, path: readonly PropertyKey[]): unknown {
  let value = given
  for (const part of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined
    value = (value as Record<PropertyKey, unknown>)[part]
  }
  return value
}

function faultOf(issue: Issue, value: unknown): string {
  if (value === undefined) return 'is required'
  switch (issue.code) {
    case 'invalid_type':
      return wrongType([issue.expected], value)
    case 'invalid_union':
      return unionFault(issue, value)
    case 'invalid_value':
      return mustBeOneOf(issue.values.map(String), value)
    case 'too_big':
      return tooBig(Number(issue.maximum), issue.inclusive !== false, value)
    case 'too_small':
      return tooSmall(Number(issue.minimum), issue.inclusive !== false, value)
    default:
      return withValue(issue, value)
  }
}

/** What a type is called by, where it is not by its own name. */
const typeNames: Record<string, string> = {
  int: 'a whole number',
  array: 'an array',
  object: 'an object',
  record: 'an object',
  null: 'null',
  boolean: 'true or false',
}

function wrongType(expected: readonly string[], value: unknown): string {
  const names = expected.map((type) => typeNames[type] ?? `a ${type}`)
  const isNumber = typeof value === 'number'
  return `must be ${names.join(' or ')}, not ${isNumber && names.some(isOfNumbers) ? value : typeName(value)}`
}
const isOfNumbers = (name: string): boolean => name.endsWith('number')

type Union = Extract<Issue, { code: 'invalid_union' }>

/** The fault of the one alternative that was surely meant: the only one whose type fits. */
function closest({ errors }: Union): Issue | undefined {
  const fitting = errors.filter(([first]) => first && first.path.length > 0)
  return fitting.length === 1 ? fitting[0]?.[0] : undefined
}

function unionFault(issue: Union, value: unknown): string {
  if ('options' in issue && Array.isArray(issue.options)) {
    return mustBeOneOf(issue.options.map(String), value)
  }
  const types = issue.errors.flatMap(([first]) =>
    first?.code === 'invalid_type' ? [first.expected] : [],
  )
  return types.length > 0 ? wrongType(types, value) : 'is not one of the forms that are allowed'
}

function tooBig(max: number, inclusive: boolean, value: unknown): string {
  if (typeof value === 'string') return `must not exceed ${max} characters, has ${value.length}`
  if (Array.isArray(value)) return `must not exceed ${max} items, has ${value.length}`
  return `must be ${inclusive ? 'at most' : 'less than'} ${max}, not ${shown(value)}`
}

function tooSmall(min: number, inclusive: boolean, value: unknown): string {
  if (typeof value === 'string' || Array.isArray(value)) {
    if (value.length === 0) return 'must not be empty'
    const unit = typeof value === 'string' ? 'characters' : 'items'
    return `must have at least ${min} ${unit}, has ${value.length}`
  }
  return `must be ${inclusive ? 'at least' : 'more than'} ${min}, not ${shown(value)}`
}

/** A schema's own message; one that says what the value must be is followed by what came. */
function withValue(issue: Issue, value: unknown): string {
  const isShown = issue.message.startsWith('must be ') && !SECRET.test(String(issue.path.at(-1)))
  return isShown ? `${issue.message}, not ${shown(value)}` : issue.message
}
