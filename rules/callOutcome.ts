// Decides what comes after a try of a request: the handle by which its node is left, or another try.
import type { CallResult } from './interpreterTypes.ts'
import { limits } from './limits.ts'

/** What one try gave. Faults are those of the client; `forbidden`: the host has no address, or the URL no port, that may be connected to. */
export type CallTry =
  | { kind: 'answer'; status: number; isCut: boolean; retryAfter: string | null }
  | { kind: 'fault'; fault: 'forbidden' | 'unknown_host' | 'timeout' | 'connection' }

export type CallVerdict =
  | ({ kind: 'end' } & CallResult)
  | { kind: 'again'; why: string; after_ms: number }

/** Besides 5xx. */
const tryAgain = new Set([408, 425, 429])

/**
 * What follows from a try.
 * @param tries how many there were, this one among them
 * @param now ms, for a Retry-After that names a time
 */
export function judgeCall(given: CallTry, tries: number, now: number): CallVerdict {
  const why = whyOf(given)
  if (given.kind === 'answer' && given.status >= 200 && given.status < 300) {
    return { kind: 'end', handle: given.isCut ? 'error' : 'success', why }
  }
  if (!mayHelp(given) || tries >= limits.httpTriesMax) {
    return { kind: 'end', handle: 'error', why: tries > 1 ? `${why} after ${tries} tries` : why }
  }
  const usual_ms = limits.httpPauseMs * 2 ** (tries - 1)
  const asked_ms = given.kind === 'answer' ? retryAfter_ms(given.retryAfter, now) : 0
  return { kind: 'again', why, after_ms: Math.max(usual_ms, asked_ms) }
}

/** The status, or a word. */
function whyOf(given: CallTry): string {
  if (given.kind === 'fault') return given.fault === 'forbidden' ? 'private_address' : given.fault
  const isSuccess = given.status >= 200 && given.status < 300
  return isSuccess && given.isCut ? 'answer_too_large' : String(given.status)
}

/** Whether another try may end otherwise. */
const mayHelp = (given: CallTry): boolean =>
  given.kind === 'fault'
    ? given.fault !== 'forbidden'
    : given.status >= 500 || tryAgain.has(given.status)

/** Seconds or a date (RFC 9110, 10.2.3); 0 for anything else. */
function retryAfter_ms(text: string | null, now: number): number {
  if (text === null) return 0
  const given = /^\s*\d+\s*$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now
  return Number.isNaN(given) ? 0 : Math.min(Math.max(given, 0), limits.httpRetryAfterMsMax)
}
