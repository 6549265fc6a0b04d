// A few kept connections to one destination: messages take turns on them, and connections are reused and renewed.
import type { MailTransport, Outcome } from '../transport.ts'
import { failedToConnect, busy as notTried } from './outcomes.ts'
import { Recorder } from './recorder.ts'
import type { Session } from './session.ts'
import type { Mail } from './unsent.ts'

/** Makes a connection that is ready for its first message, or says what came of trying. */
type OpenSession = (recorder: Recorder | null) => Promise<Session | Outcome>

export interface PoolOptions {
  /** Connections in use at most, asked before each message. */
  limit: () => number
  /** An unused connection is closed after it. */
  idleMs: number
  /** A message that gets no connection for so long is given back (`busy`). Null: it waits. */
  waitMs?: number | null
  /** Messages that wait at most, asked before each; one more is given back (`busy`). */
  waitingMax?: () => number
  /** 0 ≤ x < 1, spreads what is given back. */
  random?: () => number
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

interface Job extends Mail {
  open: OpenSession
  beforeDot: () => Promise<boolean>
  recorder: Recorder | null
  report: (outcome: Outcome) => void
  /** When it has waited too long, by performance.now(). */
  deadline: number
  timer: NodeJS.Timeout | undefined
  /** Why it waits. */
  reason: string
}

const MESSAGES_PER_CONNECTION = 100
const CLOSED = 'the transport is closed'
/** A server that says nothing for so long to commands that came with a dot may have dropped them. */
const UNHEARD_MS = 10_000
/** When what was given back should come again: one to three times as much. */
const BUSY_MS = 1_000

/**
 * Makes a pool of SMTP sessions: a message takes an unused one, opens one below the limit, or waits for one. A session is
 * closed after 100 messages, or when it was unused for `idleMs`.
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
  /** Whether the next message's commands go out with the dot of the one before. */
  let ahead = true

  /** A kept connection, the one used last, or a new one; or the outcome of not getting one. */
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

  /** Keeps a connection for the next message; closes it when it is used up or the transport is. */
  async function giveBack(session: Session, outcome: Outcome): Promise<void> {
    if (session.usable() && outcome.kind === 'rejected') await session.reset()
    // It may be open still, with a reply that nobody asked for.
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

  /** Reports the outcome as soon as it is known; ends when the connection is ready for the next message. */
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

  /** The message that goes next on this session, taken from those that wait. */
  function upNext(session: Session): Job | null {
    if (!ahead || closed || busy > limit() || session.messages() >= MESSAGES_PER_CONNECTION)
      return null
    const job = waiting.shift() ?? null
    if (job) clearTimeout(job.timer)
    return job
  }

  /**
   * Sends it and those that follow on the same connection. A message is given back when the server had closed the
   * kept connection, which is no news: it takes another.
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
