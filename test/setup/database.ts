// A separate database for each test file, copied from the migrated template.

import type pg from 'pg'
import { afterAll, inject } from 'vitest'
import { connect, type Db } from '../../db/connect.ts'
import type { Settings } from '../../db/settings.ts'
import { databaseUrl, runSql, TEMPLATE } from './template.ts'
import { uniqueName } from './unique.ts'

export interface TestDatabase {
  url: string
  db: Db
  pool: pg.Pool
}

/**
 * Creates the database. It is dropped after the file's last test, even if there are connections. Call it in
 * `beforeAll` or at the top of a file, not inside a test.
 */
export async function createTestDatabase(
  options: { poolSize?: number; settings?: Settings; shared?: boolean } = {},
): Promise<TestDatabase> {
  const server = inject('postgresUrl')
  const name = uniqueName('t').replaceAll('-', '_')
  await runSql(server, `create database ${name} template ${TEMPLATE}`)
  const url = databaseUrl(server, name)
  const { db, pool } = connect({
    ...options,
    url,
    poolSize: options.poolSize ?? 10,
    name: 'test',
    onIdleError: () => undefined,
  })
  afterAll(async () => {
    await db.destroy()
    await runSql(server, `drop database ${name} with (force)`)
  })
  return { url, db, pool }
}
