// A database handle that runs nothing and records the text of every statement.
import {
  type DatabaseConnection,
  type Driver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
} from 'kysely'
import { transact } from '../../commands/transact.ts'
import type { Db, Trx } from '../../db/connect.ts'
import type { Database } from '../../db/schema.ts'

/**
 * Runs `work`. @returns the text of each statement that it sends; each is answered with one row that has only an
 * id
 */
export async function captureSql(work: (trx: Trx) => Promise<unknown>): Promise<string[]> {
  const texts: string[] = []
  const nothing = async () => undefined
  const connection: DatabaseConnection = {
    async executeQuery<R>({ sql }: { sql: string }) {
      texts.push(sql)
      return { rows: [{ id: 'id_0' } as R] }
    },
    streamQuery() {
      throw new Error('nothing here streams')
    },
  }
  const driver: Driver = {
    init: nothing,
    acquireConnection: async () => connection,
    beginTransaction: nothing,
    commitTransaction: nothing,
    rollbackTransaction: nothing,
    releaseConnection: nothing,
    destroy: nothing,
  }
  const db: Db = new Kysely<Database>({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => driver,
      createIntrospector: (handle) => new PostgresIntrospector(handle),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
  })
  // Errors from the made-up row do not matter.
  await transact({ db, wake: () => undefined }, ({ db: trx }) => work(trx)).catch(() => undefined)
  return texts
}
