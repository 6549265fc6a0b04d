// What a pool of connections is told and asked.
import type { MailTransport, Outcome } from '../transport.ts'
import type { Places } from './places.ts'
import type { Recorder } from './recorder.ts'
import type { Session } from './session.ts'

/** The servers that a message may go to. */
export interface Route {
  /** Opens a connection that is ready for its first message, or returns the outcome of trying. */
  open(recorder: Recorder | null): Promise<Session | Outcome>
  /** Whether the message may go over this open connection. */
  takes(session: Session): boolean
}

export interface PoolOptions {
  /** The most connections; called before each message. */
  limit: () => number
  /** Where the pool's connections have their places. */
  places: Places
  /** An unused connection is closed after this time. */
  idleMs: number
  /** A message that waits longer than this for a connection ends as `busy`. null: it waits without a limit. */
  waitMs?: number | null
  /**
   * The most waiting messages; called before each message. A further one ends as `busy`, or one of a lower class does
   * in its place.
   */
  waitingMax?: () => number
  /** Asked before each message: it ends with this outcome, untried. */
  held?: () => Outcome | null
  /** 0 ≤ x < 1, spreads when `busy` messages come back. */
  random?: () => number
  /**
   * Called when no connection could be opened while `connected` others were in use. True: the message waits for
   * one of them. False: it ends with this outcome.
   */
  onRefused?: (outcome: Outcome, connected: number) => boolean
  /** Called with each outcome of a message that had a connection. */
  onOutcome?: (outcome: Outcome, session: Session) => void
}

export interface Pool {
  /** Like `MailTransport.send`. */
  send(route: Route, ...message: Parameters<MailTransport['send']>): Promise<Outcome>
  close(): Promise<void>
  /**
   * `busy`: messages in progress, of which `connected` have a connection; `idle`: unused connections; `waiting`:
   * waiting messages.
   */
  size(): { busy: number; connected: number; idle: number; waiting: number }
}
