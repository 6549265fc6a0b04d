// A Postgres server of its own with a handle to its database, for tests that stop and start the server.
import { onTestFinished } from 'vitest'
import { connect } from '../../db/connect.ts'
import { startPrivatePostgres } from './servers.ts'

/** Ends with the test. The handle outlives the server: its next query after a restart connects anew. */
export async function startOwnDatabase() {
  const postgres = await startPrivatePostgres()
  const { db } = connect({
    url: postgres.url,
    poolSize: 4,
    name: 'test',
    onIdleError: () => undefined,
  })
  onTestFinished(() => db.destroy())
  return { postgres, db, url: postgres.url }
}
