// What is done at each command of a client that submits mail.
import { setTimeout as pause } from 'node:timers/promises'
import type { SMTPServerOptions, SMTPServerSession } from 'smtp-server'
import type { FindKey } from '../../commands/api-keys/find.ts'
import type { RequestKey } from '../../commands/api-keys/keyCache.ts'
import { createWrongKeyPause } from '../../commands/api-keys/wrongKeys.ts'
import type { CountRequest } from '../../commands/limits/requests.ts'
import { limits } from '../../rules/limits.ts'
import { mayCall, permittedBy } from '../../rules/permissions.ts'
import type { Log } from '../../runtime/log.ts'
import type { createInHand } from '../inHand.ts'
import { SmtpRefusal } from '../refusal.ts'
import { readRecipient } from './addresses.ts'
import type { createGuard } from './guard.ts'
import type { CountReply } from './metrics.ts'
import { createReceiver, type SubmissionReceiverDeps } from './receive.ts'
import { replyOf, tryAgain } from './replies.ts'

/** Connections that wait for the answer to a wrong key, which is late for an address that shows many. */
const PAUSED_MAX = 300

export const LOG_IN_FIRST =
  'Log in first, after STARTTLS where that is offered; the password is an API key'

export interface HandlerDeps extends SubmissionReceiverDeps {
  log: Log
  now: () => Date
  findKey: FindKey
  /** Counts each mail as a request. */
  countRequest: CountRequest
  count: CountReply
}

/** What a session knows of whoever has logged in. */
interface User {
  /** The key now; undefined when it was revoked or has expired since. */
  findKeyNow: () => Promise<RequestKey | undefined>
}

/** Makes a function that answers with what work gives, or with the reply that it throws. What is no reply is a fault of ours. */
function createAnswer({ log, count }: Pick<HandlerDeps, 'log' | 'count'>) {
  return <T>(
    phase: Parameters<CountReply>[0],
    work: Promise<T>,
    done: (err: SmtpRefusal | null, value?: T) => void,
  ): void => {
    const taken = (value: T) => {
      count(phase, phase === 'auth' ? 235 : 250)
      done(null, value)
    }
    const failed = (err: unknown) => {
      if (!(err instanceof SmtpRefusal)) {
        log.warn({ err }, 'mail could not be taken; its sender keeps it')
      }
      const refusal = err instanceof SmtpRefusal ? err : tryAgain()
      count(phase, refusal.responseCode)
      done(refusal)
    }
    work.then(taken, failed)
  }
}

/** What is done at each command. */
export function createHandlers(
  deps: HandlerDeps,
  guard: ReturnType<typeof createGuard>,
  inHand: ReturnType<typeof createInHand>,
) {
  const { findKey, count } = deps
  const answer = createAnswer(deps)
  const receive = createReceiver(deps)
  const wrongKeyPause = createWrongKeyPause(
    (ms) => pause(ms, undefined, { ref: false }),
    deps.now,
    PAUSED_MAX,
  )

  const logIn = async (password: string, session: SMTPServerSession): Promise<User> => {
    const { remoteAddress } = session
    const findKeyNow = findKey(password.trim(), remoteAddress)
    const key = await findKeyNow()
    if (!key) throw await guard.onWrongKey(session, () => wrongKeyPause(remoteAddress))
    checkPermission(key)
    const isKeyGood = async () => (await findKeyNow()) !== undefined
    const refusal = await guard.onKey(session, key.workspace_id, isKeyGood)
    if (refusal) throw refusal
    return { findKeyNow }
  }

  const handlers = {
    onAuth({ password }, session, done) {
      answer('auth', logIn(password ?? '', session), (err, user) =>
        err ? done(err) : done(null, { user }),
      )
    },
    onMailFrom(_address, session, done) {
      answer('mail', beginMail(deps, inHand, session), (err) => {
        guard.gatherReplies(session)
        done(err)
      })
    },
    onRcptTo({ address }, session, done) {
      guard.gatherReplies(session)
      const refusal = recipientFault(address, session, guard)
      count('rcpt', refusal?.responseCode ?? 250)
      done(refusal)
    },
    onData(stream, session, done) {
      const message = inHand.take(session.id)
      const ended = guard.onMessage(session, stream)
      const taking = receive(stream, sendingOf(session), message).finally(message.end)
      answer('data', taking.finally(ended), (err, id) => done(err, `2.0.0 Taken as ${id}`))
    },
    onClose(session) {
      guard.onClose(session)
      inHand.onClose(session.id)
    },
  } satisfies Partial<SMTPServerOptions>
  return handlers
}

/** Who sends the message that begins. */
function sendingOf(session: SMTPServerSession) {
  const { rcptTo } = session.envelope
  return {
    keyNow: () => keyOf(session),
    recipients: [...new Set(rcptTo.flatMap(({ address }) => readRecipient(address) ?? []))],
  }
}

/** The key of a session, which may have been revoked since it was shown. @throws SmtpRefusal */
async function keyOf({ user }: SMTPServerSession): Promise<RequestKey> {
  if (!user) throw replyOf({ reply: 530, enhanced: '5.7.0', code: null, text: LOG_IN_FIRST })
  const key = await (user as User).findKeyNow()
  if (key) return checkPermission(key)
  const gone = 'The API key was revoked or has expired'
  throw replyOf({ reply: 530, enhanced: '5.7.0', code: 'invalid_api_key', text: gone })
}

/** @throws SmtpRefusal when the listener stops, or the key, or its workspace, makes more requests than it may */
async function beginMail(
  { countRequest }: Pick<HandlerDeps, 'countRequest'>,
  inHand: ReturnType<typeof createInHand>,
  session: SMTPServerSession,
) {
  const stopping = inHand.refusal()
  if (stopping) throw stopping
  const refused = (await countRequest(await keyOf(session)))?.refused
  if (!refused) return
  throw replyOf({ reply: 451, enhanced: '4.7.0', code: 'rate_limited', text: refused.text })
}

/** @throws SmtpRefusal unless the key may send mail */
function checkPermission(key: RequestKey): RequestKey {
  if (mayCall(key.permission, 'send')) return key
  const text = `This API key has the permission ${key.permission}; this needs ${permittedBy('send').join(' or ')}`
  throw replyOf({ reply: 535, enhanced: '5.7.8', code: 'restricted_api_key', text })
}

function recipientFault(
  address: string,
  session: SMTPServerSession,
  guard: ReturnType<typeof createGuard>,
): SmtpRefusal | null {
  const max = limits.recipientsPerEmailMax
  if (session.envelope.rcptTo.length >= max) return guard.onExcessRecipient(session, max)
  if (readRecipient(address) !== null) return null
  const text = 'the recipient must be one address such as ada@example.com'
  return replyOf({ reply: 553, enhanced: '5.1.3', code: 'invalid_address', text })
}
