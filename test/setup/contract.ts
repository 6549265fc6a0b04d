// Whether an answer is one that the interface description promises: its status, its body, and the codes of its errors.
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { closed, type Operation } from './openapi.ts'

/** The part of an answer that the description speaks of. */
export interface ToldAnswer {
  status: number
  /** Parsed JSON. */
  body: unknown
  text: string
  headers: Headers
}

const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false })

/** By schema: compiled when an answer first needs it. */
const validators = new WeakMap<object, ValidateFunction>()

/**
 * What is wrong with an operation's answer; '' when nothing is. Its body may have no key that the description does
 * not name, and an error only a code that the operation lists for the status.
 */
export function faultOfAnswer({ responses, files }: Operation, answer: ToldAnswer): string {
  const { status, text } = answer
  if (files.has(status)) {
    const type = answer.headers.get('content-type') ?? 'none'
    return type.startsWith('text/csv') ? '' : `the content type is ${type}`
  }
  const schema = responses.get(status)
  if (schema === undefined) return `the status is not described: ${text}`
  if (schema === null) return text === '' ? '' : `a body, and none is described: ${text}`
  const type = answer.headers.get('content-type') ?? 'none'
  if (!type.startsWith('application/json')) return `the content type is ${type}`
  const validate = validators.get(schema) ?? ajv.compile(closed(schema))
  validators.set(schema, validate)
  if (!validate(answer.body)) return `${ajv.errorsText(validate.errors)}: ${text}`
  const { message, error } = answer.body as { message?: unknown; error?: unknown }
  return status >= 400 && !(message || error) ? `an error without a text: ${text}` : ''
}

/**
 * Finds the operation that a request is for; undefined where the description has none.
 * @param operations as `readOperations` gives them
 */
export function createOperationFinder(operations: readonly Operation[]) {
  const patterns = operations.map((operation) => ({
    operation,
    path: new RegExp(`^${operation.path.replace(/[.+]/g, '\\$&').replace(/:\w+/g, '[^/]+')}$`),
  }))
  return (method: string, target: string): Operation | undefined => {
    const path = target.split('?')[0] ?? ''
    return patterns.find((one) => one.operation.method === method && one.path.test(path))?.operation
  }
}
