// Records the statements that a piece of the API sends to Postgres, with their parameters and what they gave.
import type pg from 'pg'

interface CapturedStatement {
  text: string
  /** Of a prepared statement; undefined where it is planned at each call. */
  name: string | undefined
  values: readonly unknown[]
  rows: Record<string, unknown>[]
}

/** What went over one connection between its being taken from the pool and given back. */
export type CapturedSession = CapturedStatement[]

/** Writes down everything that passes over the pool until `stop`: what reaches pg, after all that is above it. */
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
