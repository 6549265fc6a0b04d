// Accepts a whole message that names itself by a key, once.
import { createHmac, hash } from 'node:crypto'
import { MEBIBYTE } from '../../rules/limits.ts'
import type { Reach } from '../../rules/reach.ts'
import { isRefusal } from '../../rules/refusals.ts'
import { type NamedRequest, once } from '../once.ts'
import { type SubmitDeps, type SubmitEmail, submitEmail } from './submit.ts'

/** `reused`: the key came with another message before. `in_progress`: a message with it is being taken now. */
export type KeyFault = 'reused' | 'in_progress'

/** Accepts it as `submitEmail` does, or gives the id of the email that the same message has made within 24 hours. */
export async function submitOnce(
  deps: SubmitDeps,
  reach: Reach,
  input: SubmitEmail & { idempotencyKey: string },
): Promise<Awaited<ReturnType<typeof submitEmail>> | { fault: KeyFault }> {
  let made: Awaited<ReturnType<typeof submitEmail>> | undefined
  const outcome = await once(deps, nameOf(reach, input), async () => {
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
function nameOf(
  { workspaceId, domainId }: Reach,
  input: SubmitEmail & { idempotencyKey: string },
): NamedRequest {
  const { idempotencyKey: key, recipients, from, to, cc, replyTo, subject, html, text } = input
  const { tags, metadata, tracking, scheduledAt } = input
  const scope = JSON.stringify(['submission', domainId, key, [...recipients].sort()])
  const bodies = [html, text].map(ofBody)
  const read = [from, to, cc, replyTo, subject, ...bodies, tags, metadata, tracking]
  // Only where it is asked for, so that a key of the release before is still that of the same message.
  const asked = scheduledAt === null ? read : [...read, scheduledAt]
  return {
    workspaceId,
    keyHash: hash('sha256', scope, 'buffer'),
    // With the key, so that nobody who reads the table can try out what a short text was.
    fingerprint: createHmac('sha256', key).update(JSON.stringify(asked)).digest(),
  }
}

/** A longer body stands as its hash: as JSON ten million lines take longer than all other work on the message. */
const LONG_CHARS = MEBIBYTE
const ofBody = (body: string | null) =>
  body === null || body.length <= LONG_CHARS ? body : { sha256: hash('sha256', body) }
