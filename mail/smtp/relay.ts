// Relay mode: every mail goes to one server, over a few kept connections.
import type { ConnectionOptions } from 'node:tls'
import type { Envelope, MailTransport, Outcome, Phase } from '../transport.ts'
import type { SessionOptions } from './handshake.ts'
import { createSession, type Session } from './session.ts'

export interface RelayTimeouts {
  connectMs: number
  bannerMs: number
  /** EHLO, STARTTLS, AUTH, MAIL, RCPT. */
  commandMs: number
  dataMs: number
  /** Without progress while the message is being written. */
  bodyMs: number
  /** From the dot to its reply. */
  dotMs: number
  /** An unused connection is closed after it. */
  idleMs: number
}

export interface RelayOptions {
  /**
   * `smtp://` or `smtps://`, `user:password@`, host, port (587, 465). TLS is required unless the host is
   * loopback; `?tls=off` and `?tls=required` say otherwise.
   */
  url: string
  /** Connections at most. */
  connections: number
  ehloName: string
  timeouts?: Partial<RelayTimeouts>
  /** For a private certificate authority. */
  tls?: ConnectionOptions
}

/** RFC 5321 section 4.5.3.2. */
const defaultTimeouts: RelayTimeouts = {
  connectMs: 30_000,
  bannerMs: 60_000,
  commandMs: 300_000,
  dataMs: 120_000,
  bodyMs: 180_000,
  dotMs: 600_000,
  idleMs: 10_000,
}

const MESSAGES_PER_CONNECTION = 100

/** @throws Error when the URL is not one of a relay, or would send a password in the clear */
export function createRelayTransport(options: RelayOptions): MailTransport {
  const timeouts = { ...defaultTimeouts, ...options.timeouts }
  const sessionOptions = toSessionOptions(options, timeouts)
  const idle: { session: Session; timer: NodeJS.Timeout }[] = []
  const waiting: (() => void)[] = []
  const inFlight = new Set<Promise<void>>()
  let busy = 0
  let closed = false

  /** A kept connection, the one used last, or a new one; or the outcome of not getting one. */
  async function take(): Promise<Session | Outcome> {
    for (;;) {
      const kept = idle.pop()
      if (kept === undefined) break
      clearTimeout(kept.timer)
      if (kept.session.usable()) return kept.session
    }
    const session = createSession(sessionOptions)
    return (await session.open()) ?? session
  }

  /** Keeps a connection for the next message; closes it when it is used up or the transport is. */
  async function giveBack(session: Session, outcome: Outcome): Promise<void> {
    if (session.usable() && outcome.kind === 'rejected') await session.reset()
    if (!session.usable()) return
    if (closed || session.messages() >= MESSAGES_PER_CONNECTION) return session.quit()
    const entry = { session, timer: setTimeout(() => retire(entry), timeouts.idleMs) }
    idle.push(entry)
  }

  function retire(entry: (typeof idle)[number]): void {
    const index = idle.indexOf(entry)
    if (index >= 0) idle.splice(index, 1)
    clearTimeout(entry.timer)
    void entry.session.quit()
  }

  /** Reports the outcome as soon as it is known; ends when the connection is ready for the next message. */
  async function attempt(
    envelope: Envelope,
    message: Buffer,
    beforeDot: () => Promise<boolean>,
    report: (outcome: Outcome) => void,
  ): Promise<void> {
    for (;;) {
      if (closed) return report(failedToConnect('the transport is closed'))
      const session = await take()
      if ('kind' in session) return report(session)
      const reused = session.messages() > 0
      const replies = session.replies()
      const outcome = await session.send(envelope, message, beforeDot)
      const unheard = outcome.kind === 'failed' && session.replies() === replies
      const farewell = outcome.kind === 'rejected' && outcome.code === 421
      const stale = (unheard || farewell) && outcome.phase === 'mail' && !session.usable()
      // the server had closed a kept connection, which is no news: the message takes the next one
      if (reused && stale) continue
      report(outcome)
      return giveBack(session, outcome)
    }
  }

  async function inTurn(work: () => Promise<void>): Promise<void> {
    if (busy >= options.connections) await new Promise<void>((resolve) => waiting.push(resolve))
    else busy += 1
    await work()
    // the place goes to the one who waits longest
    const next = waiting.shift()
    if (next) next()
    else busy -= 1
  }

  return {
    send(envelope, message, beforeDot) {
      return new Promise((report) => {
        const sending = inTurn(() =>
          attempt(envelope, message, beforeDot, report).catch((error: unknown) =>
            report(failedToConnect(String(error))),
          ),
        )
        inFlight.add(sending)
        void sending.then(() => inFlight.delete(sending))
      })
    },
    async close() {
      closed = true
      await Promise.all(inFlight)
      const rest = idle.splice(0)
      for (const { timer } of rest) clearTimeout(timer)
      await Promise.all(rest.map(({ session }) => session.quit()))
    },
  }
}

function failedToConnect(error: string): Outcome {
  return { kind: 'failed', phase: 'connect', error }
}

function toSessionOptions(options: RelayOptions, timeouts: RelayTimeouts): SessionOptions {
  const url = new URL(options.url)
  if (!/^smtps?:$/.test(url.protocol) || url.hostname === '') {
    throw new Error('the relay must be smtp://host or smtps://host')
  }
  const implicit = url.protocol === 'smtps:'
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const loopback = /^(localhost|127\.\d+\.\d+\.\d+|::1)$/.test(host)
  const asked = url.searchParams.get('tls')
  const required = asked === 'required' || (asked !== 'off' && !loopback)
  const auth =
    url.username === ''
      ? null
      : { user: decodeURIComponent(url.username), pass: decodeURIComponent(url.password) }
  if (auth && !implicit && !required && !loopback) {
    throw new Error('the relay has a password and tls=off')
  }
  const { connectMs, bannerMs, commandMs, dataMs, bodyMs, dotMs } = timeouts
  const phaseMs: Record<Phase, number> = {
    connect: connectMs,
    banner: bannerMs,
    ehlo: commandMs,
    tls: commandMs,
    mail: commandMs,
    rcpt: commandMs,
    data: dataMs,
    body: bodyMs,
    dot: dotMs,
  }
  return {
    host,
    port: url.port === '' ? (implicit ? 465 : 587) : Number(url.port),
    tls: implicit ? 'implicit' : required ? 'starttls' : 'none',
    tlsOptions: options.tls ?? {},
    auth,
    ehloName: options.ehloName,
    phaseMs,
  }
}
