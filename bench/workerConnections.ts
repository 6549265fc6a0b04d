// Connections to a database with the settings of a worker's.
import { connect } from '../db/connect.ts'
import type { Settings } from '../db/settings.ts'
import type { Servers } from './servers.ts'

/** Opens some, which the servers close. @param more settings besides, such as those of claims */
export function connectAsWorker(servers: Servers, url: string, more: Settings = {}) {
  const settings = { enable_seqscan: 'off', ...more }
  const onIdleError = () => undefined
  const { db } = connect({ url, poolSize: 2, name: 'bench', settings, onIdleError })
  servers.add(() => db.destroy())
  return db
}
