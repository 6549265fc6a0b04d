// A few kept connections to one destination: messages take turns on them, and connections are reused and renewed.
import type { Envelope, MailTransport, Outcome } from '../transport.ts'
import { failedToConnect } from './outcomes.ts'
import type { Session } from './session.ts'

/** Makes a connection that is ready for its first message, or says what came of trying. */
export type OpenSession = () => Promise<Session | Outcome>

export interface PoolOptions {
  /** Connections in use at most, asked before each message. */
  limit: () => number
  /** An unused connection is closed after it. */
  idleMs: number
  /** A message that gets no connection for so long is given back (`failed`, connect). Null: it waits. */
  waitMs?: number | null
  /**
   * Hears that no connection was made while `connected` others were in use. True: the message waits for one of
   * them; otherwise it ends with this outcome.
   */
  onRefused?: (outcome: Outcome, connected: number) => boolean
  /** Hears each outcome of a message that a connection was made for. */
  onOutcome?: (outcome: Outcome) => void
}

export interface Pool {
  /** As `MailTransport.send`. */
  send(open: OpenSession, ...message: Parameters<MailTransport['send']>): Promise<Outcome>
  close(): Promise<void>
  /** Places taken, of which `connected` have a connection; connections unused; messages waiting. */
  size(): { busy: number; connected: number; idle: number; waiting: number }
}

interface Job {
  open: OpenSession
  envelope: Envelope
  message: Buffer
  beforeDot: () => Promise<boolean>
  report: (outcome: Outcome) => void
  /** When it has waited too long, by performance.now(). */
  deadline: number
  timer: NodeJS.Timeout | undefined
  /** What the last try to connect said. */
  refusal: Outcome
}

const MESSAGES_PER_CONNECTION = 100

export function createPool(options: PoolOptions): Pool {
  const waitMs = options.waitMs ?? null
  const idle: { session: Session; timer: NodeJS.Timeout }[] = []
  const waiting: Job[] = []
  const inFlight = new Set<Promise<void>>()
  let busy = 0
  let connected = 0
  let closed = false

  /** A kept connection, the one used last, or a new one; or the outcome of not getting one. */
  async function take(open: OpenSession): Promise<Session | Outcome> {
    for (;;) {
      const kept = idle.pop()
      if (kept === undefined) break
      clearTimeout(kept.timer)
      if (kept.session.usable()) return kept.session
    }
    return open()
  }

  /** Keeps a connection for the next message; closes it when it is used up or the transport is. */
  async function giveBack(session: Session, outcome: Outcome): Promise<void> {
    if (session.usable() && outcome.kind === 'rejected') await session.reset()
    if (!session.usable()) return
    if (closed || session.messages() >= MESSAGES_PER_CONNECTION) return session.quit()
    const entry = { session, timer: setTimeout(() => retire(entry), options.idleMs) }
    idle.push(entry)
  }

  function retire(entry: (typeof idle)[number]): void {
    const index = idle.indexOf(entry)
    if (index >= 0) idle.splice(index, 1)
    clearTimeout(entry.timer)
    void entry.session.quit()
  }

  /** Reports the outcome as soon as it is known; ends when the connection is ready for the next message. */
  async function attempt(job: Job): Promise<void> {
    for (;;) {
      if (closed) return job.report(failedToConnect('the transport is closed'))
      const session = await take(job.open)
      if ('kind' in session) {
        const waits = options.onRefused?.(session, connected) ?? false
        if (!waits || connected === 0) return job.report(session)
        job.refusal = session
        return enqueue(job, 'first')
      }
      connected += 1
      try {
        if (await sendOn(session, job)) return
      } finally {
        connected -= 1
      }
    }
  }

  /** False when the server had closed a kept connection, which is no news: the message takes another. */
  async function sendOn(session: Session, job: Job): Promise<boolean> {
    const reused = session.messages() > 0
    const replies = session.replies()
    const outcome = await session.send(job.envelope, job.message, job.beforeDot)
    const unheard = outcome.kind === 'failed' && session.replies() === replies
    const farewell = outcome.kind === 'rejected' && outcome.code === 421
    const stale = (unheard || farewell) && outcome.phase === 'mail' && !session.usable()
    if (reused && stale) return false
    options.onOutcome?.(outcome)
    job.report(outcome)
    await giveBack(session, outcome)
    return true
  }

  function start(job: Job): void {
    clearTimeout(job.timer)
    busy += 1
    const work = attempt(job)
      .catch((error: unknown) => job.report(failedToConnect(String(error))))
      .then(() => {
        busy -= 1
        inFlight.delete(work)
        startWaiting()
      })
    inFlight.add(work)
  }

  function startWaiting(): void {
    while (waiting.length > 0 && busy < Math.max(1, options.limit())) {
      const job = waiting.shift()
      if (job) start(job)
    }
  }

  function enqueue(job: Job, place: 'first' | 'last'): void {
    if (place === 'first') waiting.unshift(job)
    else waiting.push(job)
    if (waitMs === null) return
    job.timer = setTimeout(() => {
      waiting.splice(waiting.indexOf(job), 1)
      job.report(job.refusal)
    }, job.deadline - performance.now())
  }

  return {
    send(open, envelope, message, beforeDot) {
      return new Promise((report) => {
        const refusal = failedToConnect(`no connection was free within ${waitMs} ms`)
        const deadline = performance.now() + (waitMs ?? 0)
        const timer = undefined
        enqueue({ open, envelope, message, beforeDot, report, deadline, timer, refusal }, 'last')
        startWaiting()
      })
    },
    async close() {
      closed = true
      for (const job of waiting.splice(0)) {
        clearTimeout(job.timer)
        job.report(failedToConnect('the transport is closed'))
      }
      while (inFlight.size > 0) await Promise.all(inFlight)
      const rest = idle.splice(0)
      for (const { timer } of rest) clearTimeout(timer)
      await Promise.all(rest.map(({ session }) => session.quit()))
    },
    size: () => ({ busy, connected, idle: idle.length, waiting: waiting.length }),
  }
}
