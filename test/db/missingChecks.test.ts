// Domains of an early release get their checks, also when Postgres cannot write them at the first try.
import { afterAll, expect, test } from 'vitest'
import { connect } from '../../db/connect.ts'
import type { Log } from '../../runtime/log.ts'
import { startChecking } from '../../worker/missingChecks.ts'
import { createTestDatabase } from '../setup/database.ts'
import { eventually } from '../setup/eventually.ts'
import { now, seedWorkspace } from '../setup/harness.ts'

const database = await createTestDatabase()
const impatient = connect({
  url: database.url,
  poolSize: 1,
  name: 'impatient',
  settings: { lock_timeout: 50 },
  onIdleError: () => undefined,
})
afterAll(() => impatient.db.destroy())

test('a domain that is locked for long ends no worker: its check is started when it can be', async () => {
  await seedWorkspace(database.db)
  const lost = { status: 'PENDING', checking_since: null } as const
  await database.db.updateTable('domains').set(lost).execute()
  const faults: unknown[] = []
  const log = { warn: ({ err }: { err: unknown }) => faults.push(err) } as unknown as Log
  const holder = await database.pool.connect()
  try {
    await holder.query('begin')
    await holder.query('select from domains for update')
    const deps = { db: impatient.db, now, wake: () => undefined, log }
    const checking = startChecking(deps, 20)
    await eventually(() => expect(faults.length).toBeGreaterThan(1), { deadline_ms: 90_000 })
    expect(faults[0]).toMatchObject({ code: '55P03' })
    await holder.query('rollback')
    await checking.done
  } finally {
    holder.release()
  }
  const domain = await database.db
    .selectFrom('domains')
    .select('checking_since')
    .executeTakeFirstOrThrow()
  expect(domain.checking_since).not.toBeNull()
}, 120_000)

test('stopped, it tries no more', async () => {
  const away = connect({
    url: 'postgres://nobody@127.0.0.1:1/none',
    poolSize: 1,
    name: 'away',
    onIdleError: () => undefined,
  })
  const faults: unknown[] = []
  const log = { warn: ({ err }: { err: unknown }) => faults.push(err) } as unknown as Log
  const checking = startChecking({ db: away.db, now, wake: () => undefined, log }, 60_000)
  await eventually(() => expect(faults).toHaveLength(1), { deadline_ms: 90_000 })
  await checking.stop()
  expect(faults).toHaveLength(1)
  await away.db.destroy()
}, 120_000)
