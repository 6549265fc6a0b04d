// Takes a person out of an answer that is kept for a repeated request.

import { spelledAddress } from '../../db/contacts/spelledAddress.ts'
import { wholeAddress } from '../../db/contacts/wholeAddress.ts'
import { isJsonObject, type Json } from '../../rules/json.ts'

/** Keys whose texts are the service's own, of answers to events, executions, audience contacts and mail; bodies of webhooks have others (`db/contacts/blank.ts`). */
const KEPT = new Set([
  ...['id', 'event_id', 'event_name', 'workspace_id', 'status', 'code'],
  ...['execution_id', 'workflow_id', 'current_step_id', 'schedule_name'],
])

/** Whether a text names them: a longer address that holds theirs is another one. */
type Names = (text: string) => boolean

// A quote has a backslash before it here, so that what stands between quotes is looked for alone.
const mayName = (body: string, email: string): boolean =>
  new RegExp(spelledAddress(email), 'iu').test(body.replaceAll('\\"', '"'))

/** The answer without them; null: it does not name them. @param email in lower case @param body JSON, or '' */
export function blankAnswer(body: string, email: string): string | null {
  if (!mayName(body, email)) return null
  const pattern = new RegExp(wholeAddress(email, 'javascript'), 'iu')
  const answer = JSON.parse(body) as Json
  const without = JSON.stringify(withoutThem(answer, email, (text) => pattern.test(text)))
  return without === JSON.stringify(answer) ? null : without
}

/** The execution with the address that an answer is about; null: it is about none. @param body as `blankAnswer` takes it */
export function executionIn(body: string, email: string): string | null {
  if (!mayName(body, email)) return null
  const answer = JSON.parse(body) as Json
  const id = isJsonObject(answer) && isAbout(answer, email) && answer['execution_id']
  return typeof id === 'string' ? id : null
}

/**
 * What is about them keeps ids, numbers and its form. Elsewhere a text that names them goes as a whole: a rendered template or a message may say
 * more of them than their address.
 */
function withoutThem(value: Json, email: string, names: Names): Json {
  if (typeof value === 'string') return names(value) ? '' : value
  if (Array.isArray(value)) return value.map((each) => withoutThem(each, email, names))
  if (!isJsonObject(value)) return value
  const isTheirs = isAbout(value, email)
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => !names(key))
      .map(([key, each]) => [
        key,
        isTheirs && key !== 'context' ? blank(key, each, names) : withoutThem(each, email, names),
      ]),
  )
}

function isAbout(value: { [key: string]: Json | undefined }, email: string): boolean {
  const { context } = value
  return isOf(value, email) || (isJsonObject(context) && isOf(context, email))
}

const isOf = ({ email: given }: { [key: string]: Json | undefined }, email: string): boolean =>
  typeof given === 'string' && given.toLowerCase() === email

function blank(key: string, value: Json, names: Names): Json {
  if (Array.isArray(value)) return key === 'executions' ? value : []
  if (isJsonObject(value)) return {}
  if (typeof value !== 'string') return value
  return KEPT.has(key) && !names(value) ? value : ''
}
