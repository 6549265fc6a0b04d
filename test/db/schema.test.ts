// A process waits for the schema of its release and reports missing migrations.
import pg from 'pg'
import { expect, inject, onTestFinished, test } from 'vitest'
import { connect } from '../../db/connect.ts'
import { isUnavailable } from '../../db/failures.ts'
import { MIGRATION_LOCK, migrateUrl, waitForSchema } from '../../db/migrate.ts'
import { eventually } from '../setup/eventually.ts'
import { openSession } from '../setup/session.ts'
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

test('a migration behind one that built indexes holds up writers for moments only', async () => {
  const server = inject('postgresUrl')
  const name = uniqueName('s').replaceAll('-', '_')
  await runSql(server, `create database ${name}`)
  onTestFinished(() => runSql(server, `drop database ${name} with (force)`))
  const url = databaseUrl(server, name)
  const schema = '2026-11-22-11-opt-outs'
  await leaveBehind(url, { recorded: 0, schema, ids: {}, rows: {} }, 0)
  const [reader, writer] = [await openSession(url), await openSession(url)]
  await reader.run('begin; lock table automation_events in access share mode')

  const migrating = migrateUrl(url)
  // Not in the transaction of the reader: an index that is built while that one looks waits for its end.
  await eventually(async () => {
    const { rows } = await writer.run(
      "select from pg_locks where relation = 'automation_events'::regclass and not granted",
    )
    expect(rows).toHaveLength(1)
  })
  // What an insert locks: it waits behind the migration, until that one gives up for now.
  await writer.run('begin; lock table automation_events in row exclusive mode; commit')
  await reader.end()
  expect(await migrating).toContain('2026-11-23-25-historical-events')
})
