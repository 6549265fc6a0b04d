// Takes a message that is submitted: keeps it while it comes, reads it, and commits it.
import type { Readable } from 'node:stream'
import type { SMTPServerDataStream } from 'smtp-server'
import { type RequestKey, reachOf } from '../../commands/api-keys/keyCache.ts'
import type { SubmitEmail } from '../../commands/emails/submit.ts'
import type { MessageKey, submitOnce } from '../../commands/emails/submitOnce.ts'
import { ClientGone } from '../../db/shares.ts'
import { MEBIBYTE } from '../../rules/limits.ts'
import type { Reach } from '../../rules/reach.ts'
import { isRefusal } from '../../rules/refusals.ts'
import { createFairBudget } from '../../runtime/fairBudget.ts'
import type { InHand } from '../inHand.ts'
import { lineFaults, watchLines } from './lines.ts'
import { readMessage } from './message.ts'
import { badMessage, keyReply, replyOf, toReply } from './replies.ts'
import { createSpool, type Spooled } from './spool.ts'

export interface SubmissionReceiverDeps {
  /** Commits an email; one that names itself, once. @throws ClientGone when it was given up by the signal, and nothing was committed */
  submit: (
    reach: Reach,
    input: SubmitEmail,
    messageKey: MessageKey | null,
    signal: AbortSignal,
  ) => ReturnType<typeof submitOnce>
  now: () => Date
  /** Where large messages stand while they come. */
  stateFolder: string
}

/** Who sends a message, and to whom. */
interface Sending {
  /** Gives the key of the session as it is now. @throws SmtpRefusal when it may send nothing any more */
  keyNow: () => Promise<RequestKey>
  /** Bare addresses of the envelope, each once. */
  recipients: string[]
}

/** Messages up to this size wait for no larger ones. */
const SMALL_BYTES_MAX = MEBIBYTE

/**
 * Bytes of messages that are read and committed at a time, which takes about three times their size, and of those of one
 * workspace. A larger message is taken when nothing else is under way.
 */
export const receiving = {
  small: { bytesMax: 32 * MEBIBYTE, ownerBytesMax: 8 * MEBIBYTE },
  large: { bytesMax: 64 * MEBIBYTE, ownerBytesMax: 32 * MEBIBYTE },
}

/**
 * Makes a function that takes a message for the workspace of a key, and gives the id of its email when it is committed.
 * The function reads the stream to its end whatever it finds, so that the client hears the reply. The key is asked for again when the
 * message is about to be committed: it may come, and wait, for minutes, and one that was revoked meanwhile sends nothing any more.
 * What its client does not wait for any more is not committed: they send it again.
 */
export function createReceiver({ submit, now, stateFolder }: SubmissionReceiverDeps) {
  const spool = createSpool(stateFolder)
  const withSmall = createFairBudget(receiving.small)
  const withLarge = createFairBudget(receiving.large)

  const commit = async (
    { keyNow, recipients }: Sending,
    spooled: Spooled,
    { signal, begin }: InHand,
  ) => {
    const key = await keyNow()
    const read = await readMessage(await spooled.read(), recipients, now())
    const { key: messageKey, ...input } = read
    begin()
    const email = { ...input, keyId: key.id }
    const made = await submit(reachOf(key), email, messageKey, signal).catch((err: unknown) => {
      throw err instanceof ClientGone ? signal.reason : err
    })
    if (isRefusal(made)) throw toReply(made)
    if ('fault' in made) throw keyReply(made.fault)
    return made.id
  }

  /** @throws SmtpRefusal with the reply for a message that is not taken */
  return async (
    stream: SMTPServerDataStream,
    sending: Sending,
    message: InHand,
  ): Promise<string> => {
    const key = await sending.keyNow()
    const spooled = spool.open(key.workspace_id)
    try {
      await keep(stream, spooled)
      const { bytes } = spooled
      const inTurn = bytes > SMALL_BYTES_MAX ? withLarge : withSmall
      const work = () => commit(sending, spooled, message)
      return await inTurn(key.workspace_id, bytes, work, message.signal)
    } finally {
      // The mail may be committed: what becomes of the file must not make its sender send it again.
      await spooled.close().catch(() => undefined)
    }
  }
}

/** @throws SmtpRefusal when the message is too large, has lines that no message may have, or does not come whole */
async function keep(stream: SMTPServerDataStream, spooled: Spooled): Promise<void> {
  const lines = watchLines()
  let failure: { err: unknown } | null = null
  const take = (chunk: Buffer) => {
    lines.add(chunk)
    if (stream.sizeExceeded || failure || lines.isFaulty()) return null
    const failed = (err: unknown) => {
      failure = { err }
    }
    return spooled.add(chunk)?.catch(failed) ?? null
  }
  await readAll(stream, take).catch(() => {
    throw replyOf({ reply: 451, enhanced: '4.4.2', code: null, text: 'The connection broke' })
  })
  // The library replies 552 to this, whatever is thrown.
  if (stream.sizeExceeded) throw badMessage('the message is too large')
  if (failure) throw (failure as { err: unknown }).err
  const fault = lines.fault()
  if (fault) throw badMessage(lineFaults[fault], 'invalid_message')
}

/**
 * Reads a stream to its end by its events, which costs less of the processor than an iterator for small messages. It resolves or rejects only
 * when the last `take` has resolved.
 * @param take is given each part. The stream rests until what it gives has resolved; null: it goes on at once
 * @throws when the stream breaks before its end
 */
function readAll(stream: Readable, take: (part: Buffer) => Promise<void> | null): Promise<void> {
  let taking = Promise.resolve()
  return new Promise((resolve, reject) => {
    stream.on('data', (part: Buffer) => {
      const taken = take(part)
      if (!taken) return
      stream.pause()
      taking = taken.then(() => void stream.resume())
    })
    const broke = (err?: Error) =>
      void taking.then(() => reject(err ?? new Error('the stream ended early')))
    stream.once('end', () => void taking.then(resolve))
    stream.once('error', broke)
    stream.once('close', () => broke())
    // It may have broken while the key was looked up, and tells nobody then.
    if (stream.destroyed) broke()
  })
}
