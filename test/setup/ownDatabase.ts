// A separate Postgres server with a handle to its database, for tests that stop and start the server.
import { onTestFinished } from 'vitest'
import { connect } from '../../db/connect.ts'
import { startPrivatePostgres } from './servers.ts'

/**
 * Starts the server, which ends with the test. The handle survives a restart of the server: its next query
 * reconnects.
 */
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
