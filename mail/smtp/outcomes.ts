// Makes outcomes from replies and errors.
import type { Phase } from '../../rules/mail/phases.ts'
import type { Outcome, Rejection } from '../transport.ts'

const REPLY_CHARS_MAX = 4096

/** The rejection of a 4xx or 5xx reply. */
export function rejection(phase: Phase, response: string): Rejection {
  const reply = printable(response, REPLY_CHARS_MAX)
  const enhanced = /^\d{3}[ -]([245]\.\d{1,3}\.\d{1,3})\b/m.exec(reply)?.[1] ?? null
  return { kind: 'rejected', phase, code: Number(reply.slice(0, 3)), enhanced, reply }
}

/** The outcome of a message that no connection could be made for. */
export function failedToConnect(error: string): Outcome {
  return { kind: 'failed', phase: 'connect', error }
}

/** The outcome of a message that was not tried. */
export function busy(error: string, retryAfter_ms: number): Extract<Outcome, { kind: 'busy' }> {
  return { kind: 'busy', error, retryAfter_ms: Math.max(0, Math.ceil(retryAfter_ms)) }
}

/** The last line of a reply. */
export function lastLine(response: string): string {
  return printable(
    response.slice(response.trimEnd().lastIndexOf('\n') + 1),
    REPLY_CHARS_MAX,
  ).trimEnd()
}

/** Cuts a text and replaces control characters, so that Postgres can store it. */
export function printable(text: string, chars_max: number): string {
  if (text.length <= chars_max && PLAIN.test(text)) return text
  return text
    .slice(0, chars_max)
    .replace(/[^\P{Cc}\n]/gu, '?')
    .replace(/[\uD800-\uDBFF]$/, '')
}

/** Characters of nearly all replies, which need no replacement. */
const PLAIN = /^[ -~\n]*$/
