// Accepts a whole message that names itself by a key, once.
import { createHmac, type Hmac, hash } from 'node:crypto'
import { setImmediate as turn } from 'node:timers/promises'
import { MEBIBYTE } from '../../rules/limits.ts'
import type { Reach } from '../../rules/reach.ts'
import { isRefusal } from '../../rules/refusals.ts'
import { type NamedRequest, once } from '../once.ts'
import { type SubmitDeps, type SubmitEmail, submitEmail } from './submit.ts'

/** `reused`: the key came with another message before. `in_progress`: a message with it is being taken now. */
export type KeyFault = 'reused' | 'in_progress'

/** How a message names itself. */
export interface MessageKey {
  idempotencyKey: string
  /** What is the same when its attachments are; null: it has none. */
  attachmentsDigest: string | null
}

/** Accepts it as `submitEmail` does, or gives the id of the email that the same message has made within 24 hours. */
export async function submitOnce(
  deps: SubmitDeps,
  reach: Reach,
  input: SubmitEmail,
  key: MessageKey,
): Promise<Awaited<ReturnType<typeof submitEmail>> | { fault: KeyFault }> {
  let made: Awaited<ReturnType<typeof submitEmail>> | undefined
  const outcome = await once(deps, await nameOf(reach, input, key), async () => {
    made = await submitEmail(deps, reach, input)
    // It is not kept.
    if (isRefusal(made)) return { status: 400, body: '' }
    return { status: 200, body: JSON.stringify({ id: made.id }) }
  })
  if (outcome.kind === 'replayed') return JSON.parse(outcome.answer.body) as { id: string }
  if (outcome.kind !== 'done') return { fault: outcome.kind }
  if (!made) throw new Error('work was done that gave nothing')
  return made
}

/**
 * The key counts within the workspace, for these recipients: a client that may not name all of them in one mail names the rest in a
 * second one. Whoever makes a message again makes its date, its id and its boundaries anew, so the message is the same when what is read of
 * it is.
 */
async function nameOf(
  { workspaceId, domainId }: Reach,
  input: SubmitEmail,
  { idempotencyKey, attachmentsDigest }: MessageKey,
): Promise<NamedRequest> {
  const { recipients, from, to, cc, replyTo, subject, html, text } = input
  const { tags, metadata, tracking, scheduledAt } = input
  const scope = JSON.stringify(['submission', domainId, idempotencyKey, [...recipients].sort()])
  const read = [from, to, cc, replyTo, subject, html, text, tags, metadata, tracking]
  // Only where there are any, so that a key of the release before is still that of the same message.
  const more = [scheduledAt, attachmentsDigest].filter((one) => one !== null)
  return {
    workspaceId,
    keyHash: hash('sha256', scope, 'buffer'),
    // With the key, so that nobody who reads the table can try out what a short text was.
    fingerprint: await macOf(createHmac('sha256', idempotencyKey), [...read, ...more]),
  }
}

/** Characters that are written as JSON at once. */
const SLICE_CHARS = MEBIBYTE

/** The digest of the JSON of a list. Long texts are added in slices: a body of ten million lines takes more than half a second. */
async function macOf(mac: Hmac, values: readonly unknown[]): Promise<Buffer> {
  let before = '['
  for (const value of values) {
    mac.update(before)
    before = ','
    if (typeof value === 'string') await addText(mac, value)
    else mac.update(JSON.stringify(value))
  }
  return mac.update(']').digest()
}

async function addText(mac: Hmac, text: string): Promise<void> {
  mac.update('"')
  for (let start = 0; start < text.length; ) {
    let end = start + SLICE_CHARS
    // The halves of a character stay together: alone each is written otherwise.
    if (end < text.length && text.charCodeAt(end - 1) >= 0xd800) end += 1
    mac.update(JSON.stringify(text.slice(start, end)).slice(1, -1))
    if (end < text.length) await turn()
    start = end
  }
  mac.update('"')
}
