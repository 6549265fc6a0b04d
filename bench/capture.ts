// Records the SQL statements that the API sends to Postgres, with their parameters and results.
import type pg from 'pg'
import { GuardedQuery } from '../db/guarded.ts'

interface CapturedStatement {
  text: string
  /** Name of a prepared statement; undefined if it is planned at each call. */
  name: string | undefined
  values: readonly unknown[]
  rows: Record<string, unknown>[]
}

/** The statements of one connection from when it is taken from the pool until it is released. */
export type CapturedSession = CapturedStatement[]

type Asked = Pick<pg.QueryConfig, 'text' | 'name' | 'values'>
type Tell = (err: Error, result: pg.QueryResult) => void

/** Records all statements that reach the pool, until `stop` is called. */
export function captureSessions(pool: pg.Pool): { sessions: CapturedSession[]; stop: () => void } {
  const sessions: CapturedSession[] = []
  const connect = pool.connect.bind(pool)
  const recording = async () => {
    const client = await connect()
    const session: CapturedSession = []
    sessions.push(session)
    const noting = ({ text, name, values }: Asked, tell: Tell): Tell => {
      return (err, result) => {
        if (result) session.push({ text, name, values: values ?? [], rows: result.rows })
        tell(err, result)
      }
    }
    // As `db/ask.ts` asks: with a callback, and the first statement of a transaction behind its begin. All else is that of the client.
    return Object.assign(Object.create(client) as pg.PoolClient, {
      query(asked: Asked & { callback?: Tell }, tell?: Tell) {
        if (tell) return client.query(asked as pg.QueryConfig, noting(asked, tell))
        // The replay sends one statement after the other, and so would leave the guard out.
        if (asked instanceof GuardedQuery) throw new Error('a statement with a guard was captured')
        session.push({ text: 'begin', name: 'begin', values: [], rows: [] })
        asked.callback = noting(asked, asked.callback ?? (() => undefined))
        return client.query(asked as unknown as pg.Submittable)
      },
      release: () => client.release(),
    })
  }
  pool.connect = recording as unknown as typeof pool.connect
  return {
    sessions,
    stop() {
      pool.connect = connect
    },
  }
}
