// The way out: what a delivery lane asks of the wire, and every way that it can answer.
import type { ConversationLine } from '../rules/mail/conversation.ts'
import type { Phase } from '../rules/mail/phases.ts'

export interface Rejection {
  kind: 'rejected'
  phase: Phase
  /** 400-599. */
  code: number
  /** RFC 3463, `5.1.1`; null when the reply has none. */
  enhanced: string | null
  /** The whole reply, lines joined by \n. */
  reply: string
}

export type Outcome =
  /** 2xx after the dot; its last line. */
  | { kind: 'delivered'; reply: string }
  /** 4xx or 5xx said by the server, or by us in its place before anything was sent (size, SMTPUTF8). */
  | Rejection
  /** Before the dot: safe to retry. */
  | { kind: 'failed'; phase: Phase; error: string }
  /**
   * Not tried: no connection was free in time, or the destination is left alone for now. No attempt, no fault of the
   * mail's.
   */
  | { kind: 'busy'; error: string; retryAfter_ms: number }
  /** beforeDot said no: the connection was dropped, the message never ended. */
  | { kind: 'lost_lease' }
  /** After the dot, no reply (RFC 1047): delivered or not, nobody knows. */
  | { kind: 'ambiguous'; error: string }

export interface Envelope {
  /** Return path, without angle brackets. */
  from: string
  /** One recipient, without angle brackets. */
  to: string
  /** Size of the message, declared as SIZE (RFC 1870). */
  bytes: number
}

/** What an attempt said and heard; the transport fills it in while it runs. */
export interface Trace {
  /** Name of the mail server, null until one is connected to. */
  host: string | null
  /** Its `ip:port`. */
  address: string | null
  /** TLS version (`TLSv1.3`), null in the clear. */
  tls: string | null
  lines: ConversationLine[]
  /** ms that each phase took; a reused connection has none of the first. */
  phase_ms: Partial<Record<Phase, number>>
}

export interface MailTransport {
  /**
   * Sends one message to one recipient. Never throws: every end is an Outcome.
   * @param message CRLF bytes, without dot-stuffing and without the final dot
   * @param beforeDot called at most once, when the server has said 354 and has been given every byte
   *   but the dot. Only when it resolves true does the dot follow. When it throws, nothing is sent
   *   (`failed`). An outcome is never reported while it is still running.
   * @param trace is told of servers, lines and times
   */
  send(
    envelope: Envelope,
    message: Buffer,
    beforeDot: () => Promise<boolean>,
    trace?: Trace,
  ): Promise<Outcome>
  /** Takes no more mail, waits for what is in flight, says QUIT on the rest. */
  close(): Promise<void>
}
