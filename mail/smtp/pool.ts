// A pool of SMTP connections to one destination: messages take turns on them, and connections are reused and
// renewed.
import type { MailTransport, Outcome } from '../transport.ts'
import { failedToConnect, busy as notTried } from './outcomes.ts'
import { Recorder } from './recorder.ts'
import type { Session } from './session.ts'
import type { Mail } from './unsent.ts'

/** Opens a connection that is ready for its first message, or returns the outcome of trying. */
type OpenSession = (recorder: Recorder | null) => Promise<Session | Outcome>

export interface PoolOptions {
  /** The most connections in use; called before each message. */
  limit: () => number
  /** An unused connection is closed after this time. */
  idleMs: number
  /** A message that waits longer than this for a connection ends as `busy`. null: it waits without a limit. */
  waitMs?: number | null
  /** The most waiting messages; called before each message. A further one ends as `busy`. */
  waitingMax?: () => number
  /** 0 ≤ x < 1, spreads when `busy` messages come back. */
  random?: () => number
  /**
   * Called when no connection could be opened while `connected` others were in use. True: the message waits for
   * one of them. False: it ends with this outcome.
   */
  onRefused?: (outcome: Outcome, connected: number) => boolean
  /** Called with each outcome of a message that had a connection. */
  onOutcome?: (outcome: Outcome) => void
}

export interface Pool {
  /** Like `MailTransport.send`. */
  send(open: OpenSession, ...message: Parameters<MailTransport['send']>): Promise<Outcome>
  close(): Promise<void>
  /**
   * `busy`: messages in progress, of which `connected` have a connection; `idle`: unused connections; `waiting`:
   * waiting messages.
   */
  size(): { busy: number; connected: number; idle: number; waiting: number }
}

interface Job extends Mail {
  open: OpenSession
  beforeDot: () => Promise<boolean>
  recorder: Recorder | null
  report: (outcome: Outcome) => void
  /** When it has waited too long, on the clock of performance.now(). */
  deadline: number
  timer: NodeJS.Timeout | undefined
  /** Why it waits. */
  reason: string
}

const MESSAGES_PER_CONNECTION = 100
const CLOSED = 'the transport is closed'
/**
 * A server that does not reply for so long to commands that were sent together with a dot may have dropped them.
 */
const UNHEARD_MS = 10_000
/** A `busy` message should come back after one to three times this time. */
const BUSY_MS = 1_000

/**
 * Makes a pool of SMTP sessions. A message takes an unused session, opens one below the limit, or waits. A session
 * is closed after 100 messages, or after `idleMs` without use.
 */
export function createPool(options: PoolOptions): Pool {
  const waitMs = options.waitMs ?? null
  const { random = Math.random, waitingMax = () => Number.POSITIVE_INFINITY } = options
  const idle: { session: Session; timer: NodeJS.Timeout }[] = []
  const waiting: Job[] = []
  const inFlight = new Set<Promise<void>>()
  const limit = () => Math.max(1, options.limit())
  let busy = 0
  let connected = 0
  let closed = false
  /** Whether the commands of the next message are sent together with the dot of the one before. */
  let ahead = true

  /** The unused connection that was used last, or a new one, or the outcome of trying. */
  async function take({ open, recorder }: Job): Promise<Session | Outcome> {
    for (;;) {
      const kept = idle.pop()
      if (kept === undefined) break
      clearTimeout(kept.timer)
      if (kept.session.usable()) return kept.session
      kept.session.close()
    }
    return open(recorder)
  }

  const comeBack = (reason: string) => notTried(reason, BUSY_MS * (1 + 2 * random()))

  /** Keeps a connection for the next message. Closes it after its last message, or if the transport is closed. */
  async function giveBack(session: Session, outcome: Outcome): Promise<void> {
    if (session.usable() && outcome.kind === 'rejected') await session.reset()
    // It may still be open, with an unexpected reply.
    if (!session.usable()) return session.close()
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

  /** Reports the outcome as soon as it is known. Resolves when the connection is ready for the next message. */
  async function attempt(first: Job): Promise<void> {
    for (let job = first; ; ) {
      if (closed) return job.report(comeBack(CLOSED))
      const session = await take(job)
      if ('kind' in session) {
        const waits = options.onRefused?.(session, connected) ?? false
        if (!waits || connected === 0) return job.report(session)
        if ('error' in session) job.reason = session.error
        else if ('reply' in session) job.reason = session.reply
        return enqueue(job, 'first')
      }
      connected += 1
      try {
        const left = await sendOn(session, job)
        if (!left) return
        job = left
      } finally {
        connected -= 1
      }
    }
  }

  /** Takes a waiting message to send next on this session. */
  function upNext(session: Session): Job | null {
    if (!ahead || closed || busy > limit() || session.messages() >= MESSAGES_PER_CONNECTION)
      return null
    const job = waiting.shift() ?? null
    if (job) clearTimeout(job.timer)
    return job
  }

  /**
   * Sends a message and those that follow on the same connection. Returns a message if the server had already
   * closed the reused connection: the message then takes another one.
   */
  async function sendOn(session: Session, first: Job): Promise<Job | null> {
    for (let job = first; ; ) {
      let following: Job | null = null
      const next = () => {
        following = upNext(session)
        return following
      }
      const began = performance.now()
      const reused = session.messages() > 0
      const replies = session.replies()
      const outcome = await session.send(job, job.beforeDot, next, job.recorder)
      const unheard = outcome.kind === 'failed' && session.replies() === replies
      const farewell = outcome.kind === 'rejected' && outcome.code === 421
      const stale = (unheard || farewell) && outcome.phase === 'mail' && !session.usable()
      if (reused && stale) {
        if (performance.now() - began > UNHEARD_MS) ahead = false
        return job
      }
      options.onOutcome?.(outcome)
      job.report(outcome)
      if (!following) {
        await giveBack(session, outcome)
        return null
      }
      job = following
    }
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
    while (waiting.length > 0 && busy < limit()) {
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
      job.report(comeBack(job.reason))
    }, job.deadline - performance.now())
  }

  return {
    send(open, envelope, message, beforeDot, trace) {
      return new Promise((report) => {
        const job: Job = {
          open,
          envelope,
          message,
          beforeDot,
          recorder: trace ? new Recorder(trace) : null,
          report,
          deadline: performance.now() + (waitMs ?? 0),
          timer: undefined,
          reason: `no connection was free within ${waitMs} ms`,
        }
        if (closed) return report(comeBack(CLOSED))
        const full = busy >= limit() && waiting.length >= waitingMax()
        if (full) return report(comeBack('too many wait for a connection already'))
        enqueue(job, 'last')
        startWaiting()
      })
    },
    async close() {
      closed = true
      for (const job of waiting.splice(0)) {
        clearTimeout(job.timer)
        job.report(comeBack(CLOSED))
      }
      while (inFlight.size > 0) await Promise.all(inFlight)
      const rest = idle.splice(0)
      for (const { timer } of rest) clearTimeout(timer)
      await Promise.all(rest.map(({ session }) => session.quit()))
    },
    size: () => ({ busy, connected, idle: idle.length, waiting: waiting.length }),
  }
}
