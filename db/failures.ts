// Tells a database that cannot answer from one that answered with an error.

const UNAVAILABLE_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOTFOUND',
  'EPIPE',
  'ETIMEDOUT',
  'EAI_AGAIN',
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

/** True when Postgres could not be reached or went away: to be tried again, nothing is wrong with the query. */
export function isUnavailable(err: unknown): boolean {
  if (!(err instanceof Error)) return false
  const code = 'code' in err ? String(err.code) : ''
  if (UNAVAILABLE_CODES.has(code) || UNAVAILABLE_TEXTS.test(err.message)) return true
  if (err instanceof AggregateError) return err.errors.some(isUnavailable)
  return err.cause !== undefined && isUnavailable(err.cause)
}

/** True when a unique key refused a row; `constraint` narrows it to one. */
export function isUniqueViolation(err: unknown, constraint?: string): boolean {
  if (!(err instanceof Error) || !('code' in err) || err.code !== '23505') return false
  return constraint === undefined || ('constraint' in err && err.constraint === constraint)
}

/** True when the same transaction, run again, may succeed: a deadlock, or two that could not be put in an order. */
export function isRetryable(err: unknown): boolean {
  if (!(err instanceof Error) || !('code' in err)) return false
  return err.code === '40P01' || err.code === '40001'
}
