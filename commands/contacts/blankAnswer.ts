// Takes a person out of an answer that is kept for a repeated request.
import { isJsonObject, type Json } from '../../rules/json.ts'

/** Keys whose texts are the service's own, of answers to events, audience contacts and mail; bodies of webhooks have others (`db/contacts/blank.ts`). */
const KEPT = new Set(['id', 'event_id', 'event_name', 'workspace_id', 'status', 'code'])

/** The answer without them; null: it does not name them. @param email in lower case @param body JSON, or '' */
export function blankAnswer(body: string, email: string): string | null {
  if (!body.toLowerCase().includes(JSON.stringify(email))) return null
  return JSON.stringify(withoutThem(JSON.parse(body) as Json, email))
}

const isThem = (value: Json | undefined, email: string): boolean =>
  typeof value === 'string' && value.toLowerCase() === email

/** What is about them keeps ids, numbers and its form; elsewhere their address alone goes. */
function withoutThem(value: Json, email: string): Json {
  if (isThem(value, email)) return ''
  if (Array.isArray(value)) return value.map((each) => withoutThem(each, email))
  if (!isJsonObject(value)) return value
  const isAbout = isThem(value['email'], email)
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [
      key,
      isAbout ? blank(key, each, email) : withoutThem(each, email),
    ]),
  )
}

function blank(key: string, value: Json, email: string): Json {
  if (Array.isArray(value)) return key === 'executions' ? value : []
  if (isJsonObject(value)) return {}
  if (typeof value !== 'string') return value
  return KEPT.has(key) && !value.toLowerCase().includes(email) ? value : ''
}
