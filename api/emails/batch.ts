// Takes the emails of a batch: in strict validation all of them or none, else those that are right.

import { type RequestKey, reachOf } from '../../commands/api-keys/keyCache.ts'
import { type AcceptEmail, prepareEmail, toAccepted } from '../../commands/emails/accept.ts'
import { acceptEmails, findSendFacts } from '../../commands/emails/acceptMany.ts'
import { batchTemplates } from '../../commands/emails/template.ts'
import { isJsonObject, type JsonObject } from '../../rules/json.ts'
import { MEBIBYTE } from '../../rules/limits.ts'
import type { Reach } from '../../rules/reach.ts'
import { isRefusal, refuse } from '../../rules/refusals.ts'
import { typeName } from '../../rules/shown.ts'
import { inParallel } from '../../runtime/parallel.ts'
import { type ItemError, itemError } from '../http/batchErrors.ts'
import type { ApiDeps } from '../http/env.ts'
import { ApiError, badRequest } from '../http/errors.ts'
import { orThrow, toApiError } from '../http/refusals.ts'
import { readEmail } from './send.ts'

type Deps = Pick<
  ApiDeps,
  'db' | 'newId' | 'now' | 'wake' | 'config' | 'renderer' | 'addressMac' | 'daily'
>
type Sent = { id: string; status: 'queued' | 'scheduled' }

/** Emails of one batch that are rendered at once. */
const AT_ONCE = 4
/** What a batch may have rendered in all before a further email of it is refused: all of it is kept until the commit. */
const RENDERED_BYTES_MAX = 16 * MEBIBYTE

const validations = ['strict', 'permissive'] as const
export type Validation = (typeof validations)[number]

/** @param header that of the request @throws ApiError 400 */
export function validationOf(header: string | undefined): Validation {
  const found = validations.find((one) => one === (header ?? 'strict'))
  if (found) return found
  throw badRequest('x-batch-validation must be strict or permissive')
}

/**
 * Commits the emails of a batch, all in one commit.
 * @param items as they came
 * @returns what became of each, in order; null for one of `errors`
 * @throws ApiError 400 `batch_refused` in strict validation if one of them is refused, 429 `daily_limit` if all of them together are too
 * many, 503
 */
export async function sendBatch(
  deps: Deps,
  key: Pick<RequestKey, 'id' | 'workspace_id' | 'domain_id' | 'permission'>,
  items: readonly unknown[],
  validation: Validation,
): Promise<{ emails: (Sent | null)[]; errors: ItemError[] }> {
  const errors: ItemError[] = []
  const read: Read[] = []
  const reading = { now: deps.now, findTemplate: batchTemplates(deps.db, key.workspace_id) }
  for (const [index, item] of items.entries()) {
    try {
      if (!isJsonObject(item)) throw badRequest(`An email must be an object, not ${typeName(item)}`)
      const input = readEmail(reading, key, item)
      read.push({ index, input: input instanceof Promise ? await input : input })
    } catch (err) {
      errors.push(errorOf(index, err))
    }
  }
  const reach = reachOf(key)
  const ready = (await prepareAll(deps, reach, read)).flatMap(({ index, made }) => {
    if (!isRefusal(made)) return { index, make: made.make }
    errors.push(errorOf(index, toApiError(made)))
    return []
  })
  errors.sort((a, b) => a.index - b.index)
  if (validation === 'strict' && errors.length > 0) throw batchRefused(errors)
  // All of them come at one time, so that what they have in common goes to Postgres once: now, since templates may have taken minutes.
  const at = deps.now()
  const each = { ...deps, now: () => at }
  const prepared = ready.map(({ index, make }) => ({ index, ...make(each) }))
  orThrow(await acceptEmails(deps, reach.workspaceId, key.id, prepared))
  const emails: (Sent | null)[] = items.map(() => null)
  for (const { index, email } of prepared) emails[index] = toAccepted(email)
  return { emails, errors }
}

interface Read {
  index: number
  input: AcceptEmail
}

async function prepareAll(deps: Deps, reach: Reach, read: readonly Read[]) {
  if (read.length === 0) return []
  const inputs = read.map(({ input }) => input)
  const facts = await findSendFacts(deps, reach.workspaceId, inputs)
  const known = read.flatMap((one, i) => (facts[i] ? { ...one, facts: facts[i] } : []))
  let bytes = 0
  const counted = (index: number, made: Made) => {
    if (!isRefusal(made)) bytes += bytesOf(made.content.html) + bytesOf(made.content.text)
    return { index, made }
  }
  return inParallel(known, AT_ONCE, ({ index, input, facts }) => {
    if (bytes > RENDERED_BYTES_MAX) return { index, made: tooMuch() }
    const made = prepareEmail(deps, reach, input, facts)
    return made instanceof Promise
      ? made.then((rendered) => counted(index, rendered))
      : counted(index, made)
  })
}

type Made = Awaited<ReturnType<typeof prepareEmail>>

const bytesOf = (text: string | Buffer | null) => (text === null ? 0 : Buffer.byteLength(text))

const tooMuch = () => refuse('batch_rendered_too_large', { most_bytes: RENDERED_BYTES_MAX })

/** @throws what is no fault of the item */
function errorOf(index: number, err: unknown): ItemError {
  if (!(err instanceof ApiError) || err.status >= 500) throw err
  return itemError(index, err)
}

function batchRefused(errors: ItemError[]): ApiError {
  const [first] = errors
  const text = `emails[${first?.index}]: ${first?.message}. Nothing was sent, because x-batch-validation is strict`
  const extra: JsonObject = { errors: errors.map((error) => ({ ...error })) }
  return badRequest(text, 'batch_refused', extra)
}
