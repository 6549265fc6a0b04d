// A pool of SMTP connections to one destination: messages take turns on them by class, and connections are reused and
// renewed.
import type { Outcome } from '../transport.ts'
import { createConnections } from './connections.ts'
import { createLine } from './line.ts'
import { failedToConnect, busy as notTried } from './outcomes.ts'
import type { Pool, PoolOptions, Route } from './poolOptions.ts'
import { Recorder } from './recorder.ts'
import type { Session } from './session.ts'
import type { Mail } from './unsent.ts'

interface Job extends Mail {
  route: Route
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
 * Makes a pool of SMTP sessions. A message takes an unused session of its route, opens one below the limit where a place
 * is free, or waits. A session is closed after 100 messages, after `idleMs` without use, or when others need its place.
 */
export function createPool(options: PoolOptions): Pool {
  const waitMs = options.waitMs ?? null
  const { random = Math.random, waitingMax = () => Number.POSITIVE_INFINITY, places } = options
  const waiting = createLine<Job>(({ envelope }) => envelope.class ?? 'transactional')
  const inFlight = new Set<Promise<void>>()
  const connections = createConnections(places, options.idleMs, startWaiting)
  const { holder, drop, leave } = connections
  const limit = () => Math.max(1, options.limit())
  let busy = 0
  let connected = 0
  let closed = false
  /** Whether the commands of the next message are sent together with the dot of the one before. */
  let ahead = true

  /**
   * The unused connection of the message's route that was used last, or a new one, or the outcome of trying. null: there
   * is no place for a new one.
   */
  async function take({ route, recorder }: Job): Promise<Session | Outcome | null> {
    const held = options.held?.()
    if (held) return held
    const kept = connections.unused(route.takes)
    if (kept) return kept
    // What is left leads to other servers, and must not be there beyond the limit.
    while (busy + connections.idle() > limit() || !places.ready(holder)) {
      const closing = connections.closeOldest()
      if (!closing) break
      await closing
    }
    if (!places.take(holder)) return null
    const opened = await places.opening(holder, () => route.open(recorder))
    if ('kind' in opened) places.release(holder)
    else connections.opened(opened)
    return opened
  }

  const comeBack = (reason: string) => notTried(reason, BUSY_MS * (1 + 2 * random()))

  /** Keeps a connection for the next message. Closes it after its last message, or if others wait for its place. */
  async function giveBack(session: Session, outcome: Outcome): Promise<void> {
    if (session.usable() && outcome.kind === 'rejected') await session.reset()
    // It may still be open, with an unexpected reply.
    if (!session.usable()) return drop(session)
    if (closed || session.messages() >= MESSAGES_PER_CONNECTION) return leave(session)
    const unused = waiting.size() === 0 && places.wanted(holder)
    if (unused || places.yields(holder, session.messages())) return places.closing(leave(session))
    connections.keep(session)
  }

  /** Reports the outcome as soon as it is known. Resolves when the connection is ready for the next message. */
  async function attempt(first: Job): Promise<void> {
    for (let job = first; ; ) {
      if (closed) return job.report(comeBack(CLOSED))
      const session = await take(job)
      if (session === null) return enqueue(job, 'first')
      if ('kind' in session) {
        if (session.kind === 'busy') return job.report(session)
        const hasIdle = connections.hasUnused(job.route.takes)
        // Who answers some connections is there: one that is being opened at this moment may take the message.
        const hasOpening = session.kind === 'rejected' && busy > connected + 1
        const others = connected + (hasIdle || (connected === 0 && hasOpening) ? 1 : 0)
        const waits = options.onRefused?.(session, others) ?? false
        if (hasIdle) continue
        if (!waits || others === 0) return job.report(session)
        if ('error' in session) job.reason = session.error
        else if ('reply' in session) job.reason = session.reply
        return enqueue(job, 'first')
      }
      connected += 1
      // The limit may be higher now.
      startWaiting()
      try {
        const again = await sendOn(session, job)
        if (!again) return
        job = again
      } catch (err) {
        drop(session)
        throw err
      } finally {
        connected -= 1
      }
    }
  }

  /** Takes a waiting message to send next on this session. */
  function upNext(session: Session): Job | null {
    if (!ahead || closed || busy > limit() || waiting.size() === 0) return null
    if (session.messages() >= MESSAGES_PER_CONNECTION || options.held?.()) return null
    if (places.yields(holder, session.messages())) return null
    const job = waiting.next(({ route }) => route.takes(session))
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
        drop(session)
        return job
      }
      options.onOutcome?.(outcome, session)
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
    if (closed) turnAway()
    while (
      waiting.size() > 0 &&
      busy < limit() &&
      (connections.idle() > 0 || places.ready(holder))
    ) {
      const job = waiting.next()
      if (job) start(job)
    }
  }

  function turnAway(): void {
    for (const job of waiting.clear()) {
      clearTimeout(job.timer)
      job.report(comeBack(CLOSED))
    }
  }

  function enqueue(job: Job, place: 'first' | 'last'): void {
    if (place === 'first') waiting.putBack(job)
    else waiting.push(job)
    if (waitMs === null) return
    job.timer = setTimeout(() => {
      waiting.remove(job)
      job.report(comeBack(job.reason))
    }, job.deadline - performance.now())
  }

  return {
    send(route, envelope, message, beforeDot, trace) {
      return new Promise((report) => {
        const job: Job = {
          route,
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
        enqueue(job, 'last')
        startWaiting()
        if (waiting.size() <= waitingMax()) return
        // It may have been started in the place of one that waits.
        const last = waiting.giveWay(job) ?? (waiting.remove(job) ? job : null)
        if (!last) return
        clearTimeout(last.timer)
        last.report(comeBack('too many wait for a connection already'))
      })
    },
    async close() {
      closed = true
      turnAway()
      while (inFlight.size > 0) await Promise.all(inFlight)
      await connections.close()
    },
    size: () => ({ busy, connected, idle: connections.idle(), waiting: waiting.size() }),
  }
}
