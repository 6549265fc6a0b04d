// A process waits for the schema of its release and reports missing migrations.
import pg from 'pg'
import { expect, inject, onTestFinished, test } from 'vitest'
import { connect } from '../../db/connect.ts'
import { isUnavailable } from '../../db/failures.ts'
import { MIGRATION_LOCK, migrateUrl, waitForSchema } from '../../db/migrate.ts'
import { eventually } from '../setup/eventually.ts'
import { databaseUrl, runSql } from '../setup/template.ts'
import { uniqueName } from '../setup/unique.ts'
import { leaveBehind, readLeftBehind } from '../setup/upgrade.ts'

test('missing migrations are reported until they have run', async () => {
  const server = inject('postgresUrl')
  const name = uniqueName('s').replaceAll('-', '_')
  await runSql(server, `create database ${name}`)
  onTestFinished(() => runSql(server, `drop database ${name} with (force)`))
  const url = databaseUrl(server, name)
  await leaveBehind(url, readLeftBehind('2026-11-22'), 0)
  const { db } = connect({ url, poolSize: 1, name: 'test', onIdleError: () => undefined })
  onTestFinished(() => db.destroy())

  let ready = false
  const missing: string[][] = []
  const waiting = waitForSchema(db, {
    signal: new AbortController().signal,
    onPending: (names) => void missing.push(names),
    onAway: () => false,
  }).then(() => {
    ready = true
  })
  await eventually(() => expect(missing[0]).toContain('2026-11-22-06-mail-events'))
  expect(ready).toBe(false)
  await migrateUrl(url)
  await waiting
})

test('a connection that breaks while it waits for its turn to migrate is an error, and ends nothing else', async () => {
  const server = inject('postgresUrl')
  const name = uniqueName('s').replaceAll('-', '_')
  await runSql(server, `create database ${name}`)
  onTestFinished(() => runSql(server, `drop database ${name} with (force)`))
  const url = databaseUrl(server, name)
  const other = new pg.Client({ connectionString: url })
  await other.connect()
  onTestFinished(() => other.end())
  await other.query('select pg_advisory_lock($1)', [MIGRATION_LOCK])

  const migrating = expect(migrateUrl(url)).rejects.toSatisfy(isUnavailable)
  await eventually(async () => {
    const { rows } = await other.query(`
      select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and state = 'idle' and query like '%pg_try_advisory_lock%'`)
    expect(rows).toHaveLength(1)
  })
  await migrating
})
