// Connections to a database with the settings of a worker's.
import { connect } from '../db/connect.ts'
import type { Settings } from '../db/settings.ts'
import type { Servers } from './servers.ts'

/** Opens a pool that stays open until the process ends. @param more settings besides, such as those of claims */
export function openAsWorker(url: string, more: Settings = {}) {
  const settings = { enable_seqscan: 'off', ...more }
  const onIdleError = () => undefined
  return connect({ url, poolSize: 2, name: 'bench', settings, onIdleError }).db
}

/** Opens a pool that is closed with the servers. @param more as for `openAsWorker` */
export function connectAsWorker(servers: Servers, url: string, more: Settings = {}) {
  const db = openAsWorker(url, more)
  servers.add(() => db.destroy())
  return db
}
