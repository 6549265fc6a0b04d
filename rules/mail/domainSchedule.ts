// Decides when a sending domain is checked next, and its state after a check. Pure, so that a test can cover
// weeks.
import type { DomainStatus } from '../states.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS

/** Times of the first checks after the start of a round. */
const FIRST_POINTS_MS = [30 * SECOND_MS, MINUTE_MS, 2 * MINUTE_MS, 5 * MINUTE_MS]
/** A time this close counts as the time of the current check. */
const SLACK_MS = 5 * SECOND_MS
const VERIFIED_MS = 6 * HOUR_MS
/** After this time without the records a domain becomes FAILED. */
const GIVE_UP_MS = 72 * HOUR_MS
const MISSES_MIN = 3
const MISSING_MIN_MS = HOUR_MS

export const FIRST_CHECK_MS = 30 * SECOND_MS
/** How long the record of a replaced key must stay published, because mail that it signed is still on its way. */
const KEY_OVERLAP_MS = 7 * 24 * HOUR_MS
/** A key signs from this long after its record was seen, when every worker has loaded it. */
export const KEY_NOTICE_MS = 10 * SECOND_MS

/**
 * What can be wrong with a record. The last two mean that the DNS did not answer, so nothing is known about the
 * record.
 */
export type RecordError =
  | 'HOST_NOT_FOUND'
  | 'TYPE_NOT_FOUND'
  | 'INVALID_VALUE'
  | 'DNS_SERVER_ERROR'
  | 'SERVICE_ERROR'
export type RecordState = 'SUCCESS' | RecordError

/** `unknown`: the DNS did not answer for one of the records, so the check decides nothing. */
export type Finding = 'found' | 'missing' | 'unknown'

/** The columns of a domain that decide its next state and check. */
export interface DomainProgress {
  status: DomainStatus
  /** When the current round of checks started. */
  checkingSince: Date
  /** The first miss since the last success. */
  failingSince: Date | null
  misses: number
}

/** The finding from the states of the required records, and the first fault among them. */
export function judge(required: readonly RecordState[]): {
  finding: Finding
  error: RecordError | null
} {
  const errors = required.filter((state) => state !== 'SUCCESS')
  const unanswered = errors.find(
    (error) => error === 'DNS_SERVER_ERROR' || error === 'SERVICE_ERROR',
  )
  if (unanswered) return { finding: 'unknown', error: unanswered }
  const [error = null] = errors
  return { finding: error === null ? 'found' : 'missing', error }
}

/** The progress after a check. An unanswered question changes nothing. */
export function afterCheck(before: DomainProgress, finding: Finding, now: Date): DomainProgress {
  if (finding === 'unknown') return before
  if (finding === 'found') return { ...before, status: 'SUCCESS', failingSince: null, misses: 0 }
  switch (before.status) {
    case 'NOT_STARTED':
    case 'PENDING': {
      const over = since(before.checkingSince, now) >= GIVE_UP_MS
      return { ...before, status: over ? 'FAILED' : 'PENDING' }
    }
    case 'SUCCESS': {
      const failingSince = before.failingSince ?? now
      const misses = before.misses + 1
      const over = misses >= MISSES_MIN && since(failingSince, now) >= MISSING_MIN_MS
      return { ...before, status: over ? 'TEMPORARY_FAILURE' : 'SUCCESS', failingSince, misses }
    }
    case 'TEMPORARY_FAILURE': {
      const failingSince = before.failingSince ?? now
      const over = since(failingSince, now) >= GIVE_UP_MS
      const status = over ? 'FAILED' : 'TEMPORARY_FAILURE'
      return { ...before, status, failingSince, misses: before.misses + 1 }
    }
    case 'FAILED':
      return before
  }
}

/**
 * Time until the next check, in ms; null: none until a request asks for one.
 * @param keysSince creation of the keys whose records were not seen yet
 */
export function nextCheckMs(
  progress: DomainProgress,
  keysSince: readonly Date[],
  now: Date,
): number | null {
  const { status, checkingSince, failingSince } = progress
  if (status === 'FAILED') return null
  if (status === 'NOT_STARTED' || status === 'PENDING') return stepMs(since(checkingSince, now))
  if (failingSince !== null) return stepMs(since(failingSince, now))
  const young = keysSince.map((date) => since(date, now)).filter((age) => age < GIVE_UP_MS)
  return Math.min(VERIFIED_MS, ...young.map(stepMs))
}

/** Time to the next check, when a round has lasted `elapsed_ms`. */
function stepMs(elapsed_ms: number): number {
  const point = FIRST_POINTS_MS.find((at) => at > elapsed_ms + SLACK_MS)
  if (point !== undefined) return point - elapsed_ms
  if (elapsed_ms < HOUR_MS) return 5 * MINUTE_MS
  if (elapsed_ms < 24 * HOUR_MS) return 15 * MINUTE_MS
  return HOUR_MS
}

/** The columns of a key that its rotation depends on. */
export interface KeyAge {
  id: string
  algorithm: 'rsa' | 'ed25519'
  activated_at: Date | null
}

/** The key of that algorithm that signs mail accepted at that time: the latest key that was active then. */
export function signingKey<K extends Omit<KeyAge, 'id'>>(
  keys: readonly K[],
  algorithm: K['algorithm'],
  acceptedAt: Date,
): K | undefined {
  return keys
    .filter(
      (key) =>
        key.algorithm === algorithm &&
        (key.activated_at?.getTime() ?? Infinity) <= acceptedAt.getTime(),
    )
    .sort((a, b) => (a.activated_at?.getTime() ?? 0) - (b.activated_at?.getTime() ?? 0))
    .at(-1)
}

/** Ids of keys to retire: a newer key of the same algorithm has signed for the whole `KEY_OVERLAP_MS`. */
export function keysToRetire(keys: readonly KeyAge[], now: Date): string[] {
  return keys
    .filter((key) => {
      const signing = signingKey(keys, key.algorithm, now)
      if (!signing?.activated_at || !key.activated_at || key.id === signing.id) return false
      return (
        key.activated_at <= signing.activated_at &&
        since(signing.activated_at, now) >= KEY_OVERLAP_MS
      )
    })
    .map(({ id }) => id)
}

function since(date: Date, now: Date): number {
  return now.getTime() - date.getTime()
}
