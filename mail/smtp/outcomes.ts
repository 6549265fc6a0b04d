// From a server's reply to an Outcome.
import type { Outcome, Phase, Rejection } from '../transport.ts'

const REPLY_CHARS_MAX = 4096

/** A Rejection out of a reply of 4xx or 5xx. */
export function rejection(phase: Phase, response: string): Rejection {
  const reply = printable(response)
  const enhanced = /^\d{3}[ -]([245]\.\d{1,3}\.\d{1,3})\b/m.exec(reply)?.[1] ?? null
  return { kind: 'rejected', phase, code: Number(reply.slice(0, 3)), enhanced, reply }
}

/** The outcome of a message that no connection was made for. */
export function failedToConnect(error: string): Outcome {
  return { kind: 'failed', phase: 'connect', error }
}

/** The last line of a reply. */
export function lastLine(response: string): string {
  return printable(response.slice(response.trimEnd().lastIndexOf('\n') + 1)).trimEnd()
}

/** At most 4 KiB, without control characters: replies are stored, and Postgres takes no NUL. */
function printable(text: string): string {
  return text.slice(0, REPLY_CHARS_MAX).replace(/[^\P{Cc}\n]/gu, '?')
}
