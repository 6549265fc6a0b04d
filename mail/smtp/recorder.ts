// Records the SMTP conversation of an attempt, so that people can see why an email did not arrive.
import type { ConversationLine } from '../../rules/mail/conversation.ts'
import type { Phase } from '../../rules/mail/phases.ts'
import type { Trace } from '../transport.ts'
import { printable } from './outcomes.ts'

/** The server at the other end of a connection. */
export interface Peer {
  host: string
  /** `ip:port`, an IPv6 address in brackets. */
  address: string
  /** `TLSv1.3`; null without TLS. */
  tls: string | null
}

/** Limits of a recorded conversation, because it is stored with each attempt. */
const LINE_CHARS_MAX = 1_000
const REPLY_LINES_MAX = 20
const LINES_MAX = 200

/**
 * Fills a trace. Its clock starts with the first event. It is a class because one is made for each message, and
 * classes are cheap.
 */
export class Recorder {
  readonly #trace: Trace
  #startedAt = 0
  #phase: Phase | null = null
  #enteredAt = 0

  constructor(trace: Trace) {
    this.#trace = trace
  }

  /** The following lines are exchanged with this server. */
  meet({ host, address, tls }: Peer): void {
    this.#trace.host = host
    this.#trace.address = address
    this.#trace.tls = tls
  }

  /** Begins a phase and ends the one before; null: no phase, because nothing is expected from the server. */
  enter(phase: Phase | null): void {
    const now = this.#elapsed()
    const { phase_ms } = this.#trace
    if (this.#phase) {
      phase_ms[this.#phase] = tenths((phase_ms[this.#phase] ?? 0) + now - this.#enteredAt)
    }
    this.#phase = phase
    this.#enteredAt = now
  }

  /** Records lines of the client, separated by CRLF. */
  say(text: string): void {
    this.#add('client', text, '\r\n')
  }

  /** Records a reply, its lines separated by \n. */
  hear(text: string): void {
    this.#add('server', text, '\n')
  }

  #elapsed(): number {
    const now = performance.now()
    if (this.#startedAt === 0) this.#startedAt = now
    return now - this.#startedAt
  }

  #add(from: ConversationLine['from'], text: string, separator: string): void {
    const { lines } = this.#trace
    const at_ms = tenths(this.#elapsed())
    const room = Math.min(REPLY_LINES_MAX, LINES_MAX - lines.length)
    for (const line of text.includes(separator) ? text.split(separator, room) : [text]) {
      if (room > 0) lines.push({ at_ms, from, text: printable(line, LINE_CHARS_MAX) })
    }
  }
}

/** Rounds ms to a tenth. */
const tenths = (ms: number) => Math.round(ms * 10) / 10
