// The interface of a mail transport, and every outcome of sending a message.
import type { MailClass } from '../rules/mail/classes.ts'
import type { ConversationLine } from '../rules/mail/conversation.ts'
import type { Phase } from '../rules/mail/phases.ts'

export interface Rejection {
  kind: 'rejected'
  phase: Phase
  /** 400-599. */
  code: number
  /** Enhanced status (RFC 3463), for example `5.1.1`; null if the reply has none. */
  enhanced: string | null
  /** The whole reply, lines joined by \n. */
  reply: string
}

export type Outcome =
  /** A 2xx reply after the dot; `reply` is its last line. */
  | { kind: 'delivered'; reply: string }
  /** A 4xx or 5xx reply, of the server or made here before anything was sent (size, SMTPUTF8). */
  | Rejection
  /** A failure before the dot: the message may be sent again. */
  | { kind: 'failed'; phase: Phase; error: string }
  /**
   * Not tried: no connection was free in time, the destination rests, or it is `elsewhere`: one that `mayGoTo` has refused.
   * It does not count as an attempt.
   */
  | { kind: 'busy'; error: string; retryAfter_ms: number; elsewhere?: string }
  /** `beforeDot` returned false: the connection was closed before the final dot. */
  | { kind: 'lost_lease' }
  /** No reply came after the dot (RFC 1047): the message may or may not be delivered. */
  | { kind: 'ambiguous'; error: string }

export interface Envelope {
  /** Return path, without angle brackets. */
  from: string
  /** One recipient, without angle brackets. */
  to: string
  /** Size of the message, declared as SIZE (RFC 1870). */
  bytes: number
  /** What the server must offer to take it: 8BITMIME, and for a header outside ASCII SMTPUTF8. Absent: neither. */
  octets?: 'eight_bit' | 'utf8_header' | undefined
  /** Its class in the line for a connection; absent: transactional. */
  class?: MailClass
  /**
   * Asked by direct delivery when it has found the destination of the recipient's domain. If it returns false nothing is
   * sent. Absent: it may go anywhere.
   */
  mayGoTo?: (destination: string) => boolean
}

/** The record of an attempt, which the transport fills while it runs. */
export interface Trace {
  /** Whether the DNS knows the domain of the recipient; null: it was not asked, did not answer, or is doubted. */
  domainExists: boolean | null
  /** Name of the mail server; null until a connection is open. */
  host: string | null
  /** `ip:port` of the mail server. */
  address: string | null
  /** TLS version (`TLSv1.3`); null without TLS. */
  tls: string | null
  lines: ConversationLine[]
  /** Duration of each phase in ms. On a reused connection the phases before MAIL are missing. */
  phase_ms: Partial<Record<Phase, number>>
}

/** A message that may stand in a file instead of in memory. */
export interface StoredMessage {
  /** Bytes without dot-stuffing. */
  readonly length: number
  /** As `hasLoneDot` (smtp/dots.ts) says of its bytes. */
  readonly hasLoneDot: boolean
  /** The dot-stuffed message in its order, ending in CRLF, without the final dot. Called once for each try to write it. */
  parts(): Buffer[] | AsyncIterable<Buffer>
  /** Every byte is in the kernel: it is not needed again. */
  written(): void
}

/** CRLF bytes, without dot-stuffing and without the final dot. */
export type Message = Buffer | StoredMessage

/** How many messages of each destination should be under way at a time. More of them end as `busy`. */
export interface Rooms {
  /** Of destinations that are known by name: 0 of one that rests. */
  known: ReadonlyMap<string, number>
  /** Of any other destination. */
  other: number
}

export interface MailTransport {
  /**
   * Sends one message to one recipient. Never throws: every result is an Outcome.
   * @param beforeDot called at most once, after the server has replied 354 and every byte except the dot was written.
   *   The dot follows only if it resolves true. If it throws, nothing is sent (`failed`). No outcome is reported
   *   while it is running
   * @param trace filled with servers, lines and times
   */
  send(
    envelope: Envelope,
    message: Message,
    beforeDot: () => Promise<boolean>,
    trace?: Trace,
  ): Promise<Outcome>
  /** The room at this moment. */
  rooms(): Rooms
  /** Accepts no more messages, waits for those in progress, and sends QUIT on unused connections. */
  close(): Promise<void>
}
