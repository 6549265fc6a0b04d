// Records the SQL statements that the API sends to Postgres, with their parameters and results.
import type pg from 'pg'

interface CapturedStatement {
  text: string
  /** Name of a prepared statement; undefined if it is planned at each call. */
  name: string | undefined
  values: readonly unknown[]
  rows: Record<string, unknown>[]
}

/** The statements of one connection from when it is taken from the pool until it is released. */
export type CapturedSession = CapturedStatement[]

/** Records all statements that reach the pool, until `stop` is called. */
export function captureSessions(pool: pg.Pool): { sessions: CapturedSession[]; stop: () => void } {
  const sessions: CapturedSession[] = []
  const connect = pool.connect.bind(pool)
  const recording = async () => {
    const client = await connect()
    const session: CapturedSession = []
    sessions.push(session)
    return {
      async query(given: string | pg.QueryConfig<unknown[]>, values: unknown[] = []) {
        const config = typeof given === 'string' ? { text: given, values } : given
        const result = await client.query<Record<string, unknown>>(config)
        const { text, name } = config
        session.push({ text, name, values: config.values ?? [], rows: result.rows })
        return result
      },
      release: () => client.release(),
    }
  }
  pool.connect = recording as unknown as typeof pool.connect
  return {
    sessions,
    stop() {
      pool.connect = connect
    },
  }
}
