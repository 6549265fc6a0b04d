// A connection beside the pool, for what must not wait for it: wake-ups and readiness.
import pg from 'pg'

/** A notification or a look takes a few ms; what takes longer counts as failed. */
const ANSWER_MS = 3_000

export interface Spare {
  /** Runs one statement. @throws errors of the connection, also after 3 s without an answer */
  query(text: string): Promise<unknown>
  close(): Promise<void>
}

/**
 * Opens one connection when it is first needed, and another one when it broke. Statements run one after the other.
 * @param onError is called when it breaks while nothing runs
 */
export function openSpare(options: {
  url: string
  name: string
  onError: (err: Error) => void
}): Spare {
  const pool = new pg.Pool({
    connectionString: options.url,
    max: 1,
    application_name: options.name,
    connectionTimeoutMillis: ANSWER_MS,
    query_timeout: ANSWER_MS,
    idleTimeoutMillis: 0,
    keepAlive: true,
  })
  pool.on('error', options.onError)
  pool.on('connect', (client) => client.on('error', () => undefined))
  return { query: (text) => pool.query(text), close: () => pool.end() }
}

/** Makes a function that tells whether the database answers. It never throws. */
export function createDatabaseLook(spare: Pick<Spare, 'query'>): () => Promise<boolean> {
  return () =>
    spare.query('select 1').then(
      () => true,
      () => false,
    )
}
