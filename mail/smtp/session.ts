// One SMTP connection to a relay: opened once, used for many messages, watched by a timer for each phase.
import type { ConnectionOptions } from 'node:tls'
import SMTPConnection from 'nodemailer/lib/smtp-connection'
import type { Envelope, Outcome, Phase } from '../transport.ts'
import { HeldMessage } from './heldMessage.ts'
import { lastLine, rejection, type SmtpFault, toOutcome } from './outcomes.ts'
import { createPhaseLog } from './phaseLog.ts'

export interface SessionOptions {
  host: string
  port: number
  tls: 'implicit' | 'starttls' | 'none'
  tlsOptions: ConnectionOptions
  auth: { user: string; pass: string } | null
  ehloName: string
  /** How long each phase may take; `body` counts from slice to slice. */
  phaseMs: Record<Phase, number>
}

export type Session = ReturnType<typeof createSession>

const RESPONSE_BYTES_MAX = 64 * 1024
const RESET_MS = 10_000
const QUIT_MS = 1000

/** A session that is not connected yet: `open` it, `send` one message after the other, `quit`. */
export function createSession(options: SessionOptions) {
  let onFault: ((fault: SmtpFault) => void) | null = null
  let onEnd: (() => void) | null = null
  let timer: NodeJS.Timeout | undefined
  let ended = false
  let messages = 0

  /** Restarts the clock whenever the phase changes, while something is being waited for. */
  const log = createPhaseLog((phase) => {
    clearTimeout(timer)
    if (onFault === null) return
    const limit = options.phaseMs[phase]
    timer = setTimeout(() => fail({ message: `${phase} took longer than ${limit} ms` }), limit)
  })

  const { connect, banner, ehlo, tls } = options.phaseMs
  const setupMs = connect + banner + 2 * ehlo + tls
  const connection = new SMTPConnection({
    host: options.host,
    port: options.port,
    secure: options.tls === 'implicit',
    requireTLS: options.tls === 'starttls',
    ignoreTLS: options.tls === 'none',
    tls: options.tlsOptions,
    name: options.ehloName,
    logger: log.logger,
    transactionLog: true,
    // nodemailer's own timers stand behind ours
    connectionTimeout: setupMs,
    greetingTimeout: setupMs,
    socketTimeout: 2 ** 31 - 1,
    dnsTimeout: connect,
    socketCloseTimeout: 0,
    maxResponseSize: RESPONSE_BYTES_MAX,
  })
  connection.on('error', (error: SmtpFault) => fail(error))
  connection.on('end', () => {
    ended = true
    fail({ message: 'the connection was closed' })
    onEnd?.()
  })

  function fail(fault: SmtpFault): void {
    const report = onFault
    idle()
    report?.(fault)
    connection.close()
  }

  function idle(): void {
    onFault = null
    clearTimeout(timer)
  }

  const outcomeOf = (fault: SmtpFault, released: boolean) =>
    toOutcome(fault, {
      phase: log.phase(),
      answered: log.answered(),
      released,
      implicitTls: options.tls === 'implicit',
    })

  /** Connects, says EHLO, starts TLS, logs in. Null, or the outcome that every message now has. */
  function open(): Promise<Outcome | null> {
    return new Promise((resolve) => {
      const done = (fault?: SmtpFault | null) => {
        idle()
        if (fault) connection.close()
        resolve(fault ? outcomeOf(fault, false) : null)
      }
      onFault = done
      log.enter('connect')
      connection.connect((error) => {
        if (error || options.auth === null) done(error)
        else connection.login({ ...options.auth }, done)
      })
    })
  }

  /** One transaction. A session that is not `usable` afterwards has been closed. */
  function send(
    envelope: Envelope,
    message: Buffer,
    beforeDot: () => Promise<boolean>,
  ): Promise<Outcome> {
    const refused = refusedUnsent(envelope, log.ehlo())
    if (refused) return Promise.resolve(refused)
    messages += 1
    return new Promise((resolve) => {
      let settled = false
      let released = false
      let holding: Promise<unknown> = Promise.resolve()
      let dataReply: string | null = null

      const settle = (outcome: Outcome, keep: boolean) => {
        if (settled) return
        settled = true
        idle()
        if (!keep) connection.close()
        // the caller's beforeDot may be committing: its end comes first
        void holding.then(() => resolve(outcome))
      }
      const failed = (fault: SmtpFault) => {
        const outcome = outcomeOf(fault, released)
        const clean = outcome.kind === 'rejected' && outcome.phase !== 'body'
        settle(outcome, clean && outcome.code !== 421)
      }

      const held = new HeldMessage(message, {
        socket: () => connection._socket || null,
        progressed() {
          dataReply ??= log.lastReply()
          log.enter('body')
        },
        async mayEnd() {
          if (settled) return false
          if (!dataReply?.startsWith('3')) {
            settle(
              { kind: 'failed', phase: 'data', error: 'DATA was not answered with 354' },
              false,
            )
            return false
          }
          clearTimeout(timer) // the next wait is ours, not the server's
          const answer = beforeDot()
          holding = answer.catch(() => undefined)
          const leased = await answer
          if (settled) return false
          if (!leased) {
            settle({ kind: 'lost_lease' }, false)
            return false
          }
          released = true
          log.enter('dot')
          return true
        },
      })

      onFault = failed
      const sent = { from: envelope.from, to: [envelope.to], size: envelope.bytes }
      connection.send(sent, held, (error, info) => {
        if (error) return failed(error)
        if (released) return settle({ kind: 'delivered', reply: lastLine(info.response) }, true)
        settle({ kind: 'failed', phase: 'body', error: 'a reply came before the dot' }, false)
      })
    })
  }

  /** RSET, after a transaction that was refused. A session that does not take it is closed. */
  function reset(): Promise<void> {
    return new Promise((resolve) => {
      const done = (fault?: SmtpFault | null) => {
        idle()
        if (fault) connection.close()
        resolve()
      }
      onFault = done
      connection.reset(done)
      clearTimeout(timer)
      if (onFault !== null)
        timer = setTimeout(() => fail({ message: 'RSET took too long' }), RESET_MS)
    })
  }

  /** Says QUIT and waits a moment for the answer. */
  function quit(): Promise<void> {
    if (ended) return Promise.resolve()
    return new Promise((resolve) => {
      const timeout = setTimeout(() => connection.close(), QUIT_MS)
      onEnd = () => {
        clearTimeout(timeout)
        resolve()
      }
      connection.quit()
    })
  }

  return {
    open,
    send,
    reset,
    quit,
    /** Closes at once. */
    close: () => connection.close(),
    usable: () => !ended && !connection.destroyed,
    /** Messages begun on this connection. */
    messages: () => messages,
    /** Replies so far: none since a message began means that the server never saw it. */
    replies: log.replies,
    onEnd(callback: () => void) {
      onEnd = callback
    },
  }
}

/** What no server needs to be asked about, in the words of one. */
function refusedUnsent({ from, to }: Envelope, ehlo: string): Outcome | null {
  if (/[\s<>\p{Cc}]/u.test(from)) {
    return { kind: 'failed', phase: 'mail', error: 'the return path is not an address' }
  }
  if (to === '' || /[\s<>\p{Cc}]/u.test(to)) {
    return rejection('rcpt', '553 5.1.3 the recipient is not an address')
  }
  if (/[^\p{ASCII}]/u.test(from + to) && !/SMTPUTF8/i.test(ehlo)) {
    return rejection('mail', '553 5.6.7 the server takes no addresses outside ASCII (SMTPUTF8)')
  }
  return null
}
