// Makes the migrated template database that each test file copies.
import pg from 'pg'
import { migrateUrl } from '../../db/migrate.ts'
import { stateTriggers } from './states.ts'

export const TEMPLATE = 'dripline_template'

/** Creates the template on the run's server. No connection to it stays open, because a copy needs that. */
export async function makeTemplate(postgresUrl: string): Promise<void> {
  await runSql(postgresUrl, `create database ${TEMPLATE}`)
  const url = databaseUrl(postgresUrl, TEMPLATE)
  await migrateUrl(url)
  await runSql(url, stateTriggers)
}

/** The URL of another database on the same server. */
export function databaseUrl(url: string, database: string): string {
  const changed = new URL(url)
  changed.pathname = `/${database}`
  return changed.href
}

/** Runs one statement over a separate connection. */
export async function runSql(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(sql)
  } finally {
    await client.end()
  }
}
