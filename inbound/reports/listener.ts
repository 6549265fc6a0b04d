// The SMTP listener for bounces, complaints and unsubscribes: it accepts mail for return paths of this service,
// nothing else.
import { readFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import { SMTPServer, type SMTPServerDataStream, type SMTPServerSession } from 'smtp-server'
import type { Taken } from '../../commands/reports/take.ts'
import { isFeedback, parseReport } from '../../mail/reports/parseReport.ts'
import { parseUnsubscribeMailbox, parseVerp } from '../../mail/tracking/mailboxes.ts'
import type { InboundReport } from '../../rules/mail/inboundReport.ts'
import type { Config } from '../../runtime/config.ts'
import type { Log } from '../../runtime/log.ts'
import type { Secrets } from '../../runtime/secrets.ts'
import { createGuard } from './guard.ts'
import { SmtpRefusal } from './refusal.ts'

export const MESSAGE_BYTES_MAX = 1024 * 1024
/** RFC 5321 section 4.5.3.1.8 asks for a hundred. */
const RECIPIENTS_MAX = 100
const CONNECTIONS_MAX = 100
const COMMAND_LINE_CHARS_MAX = 2048
/** RFC 5321 section 4.5.3.2.7. */
const SILENCE_MS = 5 * 60_000
/** The longest connection, so that a client that sends a byte a minute is closed too. */
const LIFE_MS = 10 * 60_000
/** At a stop, how long open sessions may go on. */
const CLOSE_MS = 1_500

export interface InboundDeps {
  listen: NonNullable<Config['inbound']>
  config: Pick<Config, 'ehloName' | 'mailHost'>
  secrets: Pick<Secrets, 'mac'>
  log: Log
  /** Commits what a report says about a delivery. Throws if it could not be committed. */
  take: (deliveryId: number, report: InboundReport) => Promise<Taken>
  /** Commits the unsubscription of the contact whose email has this token; false if there is no such email. */
  unsubscribe: (token: string) => Promise<boolean>
  /** Called for each report that was committed, for the metrics. */
  count: (report: InboundReport, taken: Taken) => void
  /** How long a connection may last; ten minutes if absent. */
  life_ms?: number
}

/**
 * Starts the listener. `stop` refuses new connections and gives open ones `CLOSE_MS` to end.
 * @throws Error when the port is taken, or only one of certificate and key is given or cannot be read
 */
export async function startInbound(
  deps: InboundDeps,
): Promise<{ port: number; stop: () => Promise<void> }> {
  const { log, listen } = deps
  const { ehloName, mailHost } = deps.config
  const verpMac = deps.secrets.mac('verp')
  const guard = createGuard({ life_ms: deps.life_ms ?? LIFE_MS })
  const tls = readCertificate(listen)
  // Without a certificate STARTTLS is off: the library would use a certificate of its own whose private key is
  // public.
  const never = ['AUTH', 'XCLIENT', 'XFORWARD', 'WIZ', 'SHELL', 'KILL']
  const server = new SMTPServer({
    ...tls,
    name: mailHost ?? ehloName,
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
    disabledCommands: tls ? never : [...never, 'STARTTLS'],
    logger: false,
    onConnect: (session, done) => done(guard.onConnect(session)),
    onClose: (session) => guard.onClose(session),
    onRcptTo({ address }, session, done) {
      const ours = parseVerp(verpMac, address) !== null || parseUnsubscribeMailbox(address) !== null
      done(ours ? null : guard.onRefused(session))
    },
    onData(stream, session, done) {
      receive(stream, session).then(
        () => done(null, '2.0.0 Report taken'),
        (err: unknown) => {
          if (err instanceof SmtpRefusal) return done(err)
          log.warn({ err }, 'a report could not be taken; its sender keeps it')
          done(new SmtpRefusal(451, '4.3.0 Local error in processing, try again later'))
        },
      )
    },
  })
  server.server.on('connection', (socket: Socket) => guard.limitLife(socket))

  /** Resolves when everything that the message says is committed. */
  async function receive(stream: SMTPServerDataStream, session: SMTPServerSession): Promise<void> {
    const raw = await readAll(stream).catch(() => {
      throw new SmtpRefusal(451, '4.4.2 The connection broke')
    })
    // Over the limit: the library replies 552.
    if (raw === null) return
    const { mailFrom, rcptTo } = session.envelope
    for (const token of rcptTo.flatMap(({ address }) => parseUnsubscribeMailbox(address) ?? [])) {
      if (!(await deps.unsubscribe(token))) throw new SmtpRefusal(550, '5.1.1 No such mailbox')
    }
    const ids = rcptTo.flatMap(({ address }) => parseVerp(verpMac, address)?.deliveryId ?? [])
    if (ids.length === 0) return
    const report = await parseReport(raw)
    const fromNobody = mailFrom !== false && mailFrom.address === ''
    if (!fromNobody && !isFeedback(report)) {
      throw new SmtpRefusal(550, '5.7.1 Only reports are taken here, from the null sender')
    }
    for (const id of ids) {
      const taken = await deps.take(id, report)
      deps.count(report, taken)
      log.info({ delivery_id: id, taken, ...summaryOf(report) }, 'a report came back')
      if (taken === 'under_way') {
        throw new SmtpRefusal(451, '4.3.0 That mail is still under way, try again later')
      }
    }
  }

  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(listen.port, listen.host, () => resolve())
    server.server.once('listening', () => server.removeListener('error', reject))
  })
  // A broken connection is no fault of this service, so it is only logged for debugging.
  server.on('error', (err) => log.debug({ err }, 'an inbound connection broke'))
  const address = server.server.address()
  return {
    port: typeof address === 'object' && address ? address.port : listen.port,
    stop: () => new Promise((resolve) => server.close(() => resolve())),
  }
}

/** The whole message; null if it is over the limit. @throws if the connection breaks before its end */
async function readAll(stream: SMTPServerDataStream): Promise<Buffer | null> {
  const chunks: Buffer[] = []
  for await (const chunk of stream) {
    if (stream.sizeExceeded) chunks.length = 0
    else chunks.push(chunk as Buffer)
  }
  return stream.sizeExceeded ? null : Buffer.concat(chunks)
}

/** The parts of a report that may be logged. Its texts may hold addresses, so they are left out. */
function summaryOf(report: InboundReport): Record<string, string | null> {
  switch (report.kind) {
    case 'bounce':
      return {
        kind: report.kind,
        type: report.bounce.type,
        subtype: report.bounce.subtype,
        status: report.status,
      }
    case 'complaint':
      return { kind: report.kind, feedback_type: report.feedbackType }
    case 'nothing':
      return { kind: report.kind, what: report.what }
  }
}

function readCertificate({ tlsCert, tlsKey }: InboundDeps['listen']) {
  if (tlsCert === null && tlsKey === null) return null
  if (tlsCert === null || tlsKey === null) {
    throw new Error('INBOUND_TLS_CERT and INBOUND_TLS_KEY belong together: set both or none')
  }
  return { cert: readFileSync(tlsCert), key: readFileSync(tlsKey) }
}
