// A process waits for the schema of its release and reports missing migrations.
import { expect, inject, onTestFinished, test } from 'vitest'
import { connect } from '../../db/connect.ts'
import { migrateUrl, waitForSchema } from '../../db/migrate.ts'
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
