// Reads the header X-Dripline-Options: what the body of POST /v1/emails says beside the message itself.
import { isJsonObject, type JsonObject } from '../../rules/json.ts'
import { findJsonFault, isStorableText } from '../../rules/jsonFault.ts'
import { limits } from '../../rules/limits.ts'
import { readScheduledAt } from '../../rules/mail/scheduledAt.ts'
import { shown, shownText, typeName } from '../../rules/shown.ts'
import { isVisibleAscii } from '../../rules/visibleAscii.ts'
import { badMessage } from './replies.ts'

interface SubmissionOptions {
  tags: Record<string, string>
  metadata: JsonObject
  /** Off unless asked for, whatever the domain says: a message is carried as it was written. */
  tracking: { opens: boolean; clicks: boolean }
  /** The time that is asked for, in ms; null: none is. */
  scheduledAt: number | null
  /** null: the mail has none. */
  idempotencyKey: string | null
}

const none: SubmissionOptions = {
  tags: {},
  metadata: {},
  tracking: { opens: false, clicks: false },
  scheduledAt: null,
  idempotencyKey: null,
}

/**
 * Reads the options. Unknown keys are ignored, as in a body.
 * @param value of the header; undefined: there is none
 * @throws SmtpRefusal with the code that a body with the same fault gets
 */
export function readOptions(value: string | undefined, now: Date): SubmissionOptions {
  if (value === undefined) return none
  const given = parse(value)
  return {
    tags: readTags(given),
    metadata: readMetadata(given),
    tracking: readTracking(given),
    scheduledAt: readTime(given, now),
    idempotencyKey: readKey(given),
  }
}

function readTime({ scheduled_at: asked }: JsonObject, now: Date): number | null {
  const read = readScheduledAt(asked, now.getTime())
  if ('fault' in read) throw badMessage(read.fault)
  return read.at
}

function readKey({ idempotency_key: key }: JsonObject): string | null {
  if (key === undefined || key === null) return null
  const max = limits.idempotencyKeyCharsMax
  if (typeof key === 'string' && isVisibleAscii(key, max)) return key
  const form = `1-${max} visible ASCII characters`
  throw badMessage(`idempotency_key must be ${form}, not ${shown(key)}`, 'invalid_idempotency_key')
}

function parse(value: string): JsonObject {
  let given: unknown
  try {
    given = JSON.parse(value)
  } catch {
    throw badMessage('X-Dripline-Options: Invalid JSON payload', 'invalid_json')
  }
  if (isJsonObject(given)) return given
  throw badMessage(`X-Dripline-Options must be an object, not ${typeName(given)}`)
}

function readTags({ tags: value }: JsonObject): Record<string, string> {
  if (value === undefined || value === null) return {}
  if (!isJsonObject(value)) {
    throw badMessage(`tags must be an object of strings, not ${typeName(value)}`)
  }
  const entries = Object.entries(value)
  const max = limits.tagsPerEmailMax
  if (entries.length > max) {
    throw badMessage(`tags must not exceed ${max} entries, has ${entries.length}`)
  }
  for (const [key, item] of entries) {
    if (typeof item !== 'string') {
      throw badMessage(`tags.${shownText(key)} must be a string, not ${typeName(item)}`)
    }
    for (const text of [key, item]) {
      if (text.length > limits.nameCharsMax || !isStorableText(text)) {
        const form = `up to ${limits.nameCharsMax} characters without NUL`
        throw badMessage(`tags: keys and values must be ${form}, not ${shown(text)}`)
      }
    }
  }
  return value as Record<string, string>
}

function readMetadata({ metadata: value }: JsonObject): JsonObject {
  if (value === undefined || value === null) return {}
  if (!isJsonObject(value)) throw badMessage(`metadata must be an object, not ${typeName(value)}`)
  const fault = findJsonFault(value)
  if (fault) throw badMessage(`metadata ${fault.message}`)
  return value
}

function readTracking({ tracking: value }: JsonObject): SubmissionOptions['tracking'] {
  if (value === undefined || value === null) return none.tracking
  if (!isJsonObject(value)) throw badMessage(`tracking must be an object, not ${typeName(value)}`)
  const wanted = (field: 'opens' | 'clicks'): boolean => {
    const given = value[field]
    if (given === undefined || given === null) return false
    if (typeof given === 'boolean') return given
    throw badMessage(`tracking.${field} must be true or false, not ${shown(given)}`)
  }
  return { opens: wanted('opens'), clicks: wanted('clicks') }
}
