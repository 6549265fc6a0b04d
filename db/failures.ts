// Classifies database errors: not reachable, passing, busy, unique key violated, worth another try.
import { NoPlace } from './shares.ts'

const UNAVAILABLE_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOTFOUND',
  'EPIPE',
  'ETIMEDOUT',
  'EAI_AGAIN',
  'EHOSTDOWN',
  'EHOSTUNREACH',
  'ENETDOWN',
  'ENETUNREACH',
  '57P01', // admin_shutdown
  '57P02', // crash_shutdown
  '57P03', // cannot_connect_now
  '53300', // too_many_connections
  '08000',
  '08003',
  '08006',
  '08001',
])

const UNAVAILABLE_TEXTS =
  /timeout exceeded when trying to connect|Connection terminated|Client has encountered a connection error|connection is not queryable/i

/**
 * True if Postgres could not be reached or the connection broke. The query is not at fault and may be tried again.
 */
export function isUnavailable(err: unknown): boolean {
  if (!(err instanceof Error)) return false
  const code = 'code' in err ? String(err.code) : ''
  if (UNAVAILABLE_CODES.has(code) || UNAVAILABLE_TEXTS.test(err.message)) return true
  if (err instanceof AggregateError) return err.errors.some(isUnavailable)
  return err.cause !== undefined && isUnavailable(err.cause)
}

/**
 * True if Postgres cannot be used as it is configured: it is away, or refuses the user, the password or the database.
 */
export function isUnusable(err: unknown): boolean {
  if (isUnavailable(err)) return true
  if (!(err instanceof Error) || !('code' in err)) return false
  // invalid_authorization_specification and its kind, invalid_catalog_name, insufficient_privilege.
  return /^(28...|3D000|42501)$/.test(String(err.code))
}

/**
 * Classes of SQLSTATE that speak of the connection, of a transaction that may not write, of want of room, of what others hold, of an
 * operator, and of the system below: not of what was to be written.
 */
const PASSING = /^(08|25|40|53|55|57|58)...$/

/**
 * True if Postgres takes nothing of this kind now, and may take the very same later: it is away or is refused as it is configured, its disk
 * is full, it is read-only, somebody holds a row or a table, an operator has cancelled the statement.
 */
export const isPassing = (err: unknown): boolean =>
  isUnusable(err) || (err instanceof Error && 'code' in err && PASSING.test(String(err.code)))

/**
 * Of what is passing, true where it may be of one of a group, which somebody holds or which met others, or of the size of the group: a smaller
 * one may be taken. lock_not_available, what ends a transaction for others, query_canceled, out_of_memory.
 */
export const isWorthSplitting = (err: unknown): boolean =>
  err instanceof Error && 'code' in err && /^(55P03|40...|57014|53200)$/.test(String(err.code))

/** True when a unique key refused a row; `constraint` narrows it to one. */
export function isUniqueViolation(err: unknown, constraint?: string): boolean {
  if (!(err instanceof Error) || !('code' in err) || err.code !== '23505') return false
  return constraint === undefined || ('constraint' in err && err.constraint === constraint)
}

/**
 * The SQLSTATE by which Postgres refused what was to be written (class 22, data, or 23, a constraint): written again it
 * is refused again, unless it came of a race. null for every other error.
 */
export function dataFaultOf(err: unknown): string | null {
  if (!(err instanceof Error) || !('code' in err)) return null
  const code = String(err.code)
  return /^2[23]...$/.test(code) ? code : null
}

/** True if Postgres itself has refused a statement: what it was part of is not committed. */
export function isRefusedByPostgres(err: unknown): boolean {
  if (!(err instanceof Error) || !('code' in err) || isUnavailable(err)) return false
  return /^[0-9A-Z]{5}$/.test(String(err.code))
}

/** True if the same transaction may succeed when it runs again: after a deadlock or a serialization failure. */
export function isRetryable(err: unknown): boolean {
  if (!(err instanceof Error) || !('code' in err)) return false
  return err.code === '40P01' || err.code === '40001'
}

/** True if a lock was waited for as long as the connection may (`lock_timeout`). */
export const isLockTimeout = (err: unknown): boolean =>
  err instanceof Error && 'code' in err && err.code === '55P03'

const BUSY_CODES = new Map<string, BusyReason>([
  ['55P03', 'locked'], // lock_not_available: lock_timeout
  ['40P01', 'locked'], // deadlock_detected
  ['40001', 'locked'], // serialization_failure
  ['57014', 'slow'], // query_canceled: statement_timeout, or an operator cancelled it
  ['25P03', 'slow'], // idle_in_transaction_session_timeout
])

/**
 * `locked`: another transaction holds what this one needs. `slow`: it took longer than it may. `crowded`: the
 * owner's share of the connections is in use.
 */
export type BusyReason = 'locked' | 'slow' | 'crowded'

/** Why the database is there and yet did not do it in time; null if that is not what went wrong. */
export function busyReason(err: unknown): BusyReason | null {
  if (err instanceof NoPlace) return 'crowded'
  if (!(err instanceof Error) || !('code' in err)) return null
  return BUSY_CODES.get(String(err.code)) ?? null
}
