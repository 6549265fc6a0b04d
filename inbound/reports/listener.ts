// The SMTP listener for bounces, complaints and unsubscribes: it accepts mail for return paths of this service, for the
// mailbox of feedback loops and for the postmaster, nothing else.
import type { Socket } from 'node:net'
import { SMTPServer, type SMTPServerDataStream } from 'smtp-server'
import type { Dns } from '../../mail/dns/resolver.ts'
import type { Config } from '../../runtime/config.ts'
import type { Secrets } from '../../runtime/secrets.ts'
import { openPort, StartError } from '../../runtime/startFaults.ts'
import { openCertificate } from '../certificate.ts'
import { createInHand, type InHand } from '../inHand.ts'
import { listenAt } from '../listen.ts'
import { SmtpRefusal } from '../refusal.ts'
import { createFeedback, type FeedbackDeps } from './feedback.ts'
import { createGuard } from './guard.ts'
import { createPostmaster, type PostmasterDeps } from './postmaster.ts'
import { createReceiver, type ReceiverDeps } from './receive.ts'
import { createMailboxes } from './recipients.ts'

export const MESSAGE_BYTES_MAX = 1024 * 1024
/** RFC 5321 section 4.5.3.1.8 asks for a hundred. */
const RECIPIENTS_MAX = 100
const CONNECTIONS_MAX = 100
const COMMAND_LINE_CHARS_MAX = 2048
/** RFC 5321 section 4.5.3.2.7. */
const SILENCE_MS = 5 * 60_000
/** The longest connection, so that a client that sends a byte a minute is closed too. */
const LIFE_MS = 10 * 60_000
/** At a stop, how long open sessions may go on once their messages are answered. */
const CLOSE_MS = 1_500

export interface InboundDeps extends ReceiverDeps {
  listen: NonNullable<Config['inbound']>
  /** The first of our names is the one that we say. */
  names: readonly string[]
  secrets: Pick<Secrets, 'macCheck'>
  /** For the keys of feedback loops that sign their reports. */
  dns: Pick<Dns, 'txt'>
  findSoleDelivery: FeedbackDeps['findSoleDelivery']
  isSendingDomain: PostmasterDeps['isSendingDomain']
  /** Sends on what is for the postmaster. Needed when `listen.postmaster` is set. */
  transport: PostmasterDeps['transport'] | null
  countPostmaster: PostmasterDeps['count']
  /** At a stop, how long it waits for messages that are acted on. */
  drain_ms: number
  /** How long a connection may last; ten minutes if absent. */
  life_ms?: number
}

/**
 * Starts the listener. `stop` refuses new connections and messages, waits up to `drain_ms` for those that are acted on, and gives open sessions
 * `CLOSE_MS` to end.
 * @throws StartError when the port is taken, or only one of certificate and key is given or cannot be read
 */
export async function startInbound(
  deps: InboundDeps,
): Promise<{ port: number; stop: () => Promise<void> }> {
  const { log, listen } = deps
  const { mailboxOf, postmaster, receive } = openMailboxes(deps)
  const failed = createFailed(log)
  const inHand = createInHand(new SmtpRefusal(421, '4.3.2 Stopping, try again later'))
  const guard = createGuard({ life_ms: deps.life_ms ?? LIFE_MS })
  const certificate = openCertificate(listen, log)
  // Without a certificate STARTTLS is off: the library has one of its own, whose private key is public.
  const never = ['AUTH', 'XCLIENT', 'XFORWARD', 'WIZ', 'SHELL', 'KILL']
  const server = new SMTPServer({
    ...certificate?.first,
    name: deps.names[0] ?? 'localhost',
    heloResponse: '%s',
    size: MESSAGE_BYTES_MAX,
    rejectOversized: true,
    maxRecipients: RECIPIENTS_MAX,
    maxClients: CONNECTIONS_MAX,
    maxCommandLength: COMMAND_LINE_CHARS_MAX,
    socketTimeout: SILENCE_MS,
    closeTimeout: CLOSE_MS,
    authOptional: true,
    disableReverseLookup: true,
    disabledCommands: certificate ? never : [...never, 'STARTTLS'],
    logger: false,
    onConnect(session, done) {
      const renewed = certificate?.renewed()
      if (renewed) server.updateSecureContext(renewed)
      done(guard.onConnect(session))
    },
    onClose: (session) => guard.onClose(session),
    onRcptTo({ address }, session, done) {
      const mailbox = mailboxOf(address)
      if (mailbox === null) return done(guard.onRefused(session))
      if (mailbox.kind !== 'postmaster' || postmaster === null) return done()
      postmaster
        .admit(mailbox.domain, session.remoteAddress)
        .then(
          (refusal) => done(refusal === 'unknown' ? guard.onRefused(session) : refusal),
          failed(done),
        )
    },
    onData(stream, session, done) {
      take(stream, inHand.take(session.id), (raw) => receive(raw, session)).then(
        () => done(null, '2.0.0 Report taken'),
        failed(done),
      )
    },
  })
  server.server.on('connection', (socket: Socket) => guard.limitLife(socket))
  return openPort({ host: 'INBOUND_HOST or HOST', port: 'INBOUND_PORT' }, listen, () =>
    listenAt(server, listen, {
      log,
      what: 'an inbound connection broke',
      // A report that comes again changes nothing; mail for the postmaster would come twice.
      answerAll: () => inHand.stop(deps.drain_ms, 0),
    }),
  )
}

/** The mailboxes, and what is done with mail to them. @throws StartError when POSTMASTER is one of them */
function openMailboxes(deps: InboundDeps) {
  const { listen, names, transport } = deps
  const verpCheck = deps.secrets.macCheck('verp')
  const { fblAddress, fblSigners: signers, postmaster: to } = listen
  const mailboxOf = createMailboxes({ verpCheck, fblAddress, takesPostmaster: to !== null })
  const own = to === null ? null : mailboxOf(to)
  if (own !== null && (own.kind !== 'postmaster' || names.includes(own.domain))) {
    throw new StartError(
      'POSTMASTER is an address that this service takes mail for itself.',
      'Set POSTMASTER to a mailbox elsewhere: mail to it would come back for ever.',
    )
  }
  const postmaster =
    to === null || transport === null
      ? null
      : createPostmaster({ ...deps, to, transport, count: deps.countPostmaster })
  const feedback = createFeedback({ ...deps, verpCheck, address: fblAddress, signers })
  const receive = createReceiver(deps, { mailboxOf, feedback, postmaster })
  return { mailboxOf, postmaster, receive }
}

/** Makes what answers with the reply that was thrown. What is no reply is a fault of ours. */
const createFailed =
  (log: InboundDeps['log']) =>
  (done: (err: Error) => void) =>
  (err: unknown): void => {
    const isReply = err instanceof SmtpRefusal
    if (!isReply) log.warn({ err }, 'a message could not be taken; its sender keeps it')
    done(isReply ? err : new SmtpRefusal(451, '4.3.0 Local error in processing, try again later'))
  }

/** Acts on a message when it is whole. @throws SmtpRefusal; what acting on it throws */
async function take(
  stream: SMTPServerDataStream,
  message: InHand,
  act: (raw: Buffer) => Promise<void>,
): Promise<void> {
  try {
    const raw = await readAll(stream)
    // Over the limit: the library replies 552.
    if (raw === null) return
    message.begin()
    await act(raw)
  } finally {
    message.end()
  }
}

/**
 * The whole message; null if it is over the limit.
 * @throws SmtpRefusal if the connection breaks before its end
 */
async function readAll(stream: SMTPServerDataStream): Promise<Buffer | null> {
  const chunks: Buffer[] = []
  try {
    for await (const chunk of stream) {
      if (stream.sizeExceeded) chunks.length = 0
      else chunks.push(chunk as Buffer)
    }
  } catch {
    throw new SmtpRefusal(451, '4.4.2 The connection broke')
  }
  return stream.sizeExceeded ? null : Buffer.concat(chunks)
}
