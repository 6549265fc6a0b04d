// An operator looks at what is too old, and deletes it.
import { sql } from 'kysely'
import { beforeAll, expect, test } from 'vitest'
import { claimRetention } from '../../commands/retention/claim.ts'
import { retentionNames } from '../../rules/retention.ts'
import { createTestDatabase } from '../setup/database.ts'
import { seedWorkspace } from '../setup/harness.ts'
import { ago, labelsLeft, labelsOf, NOW, oldRows, usualDays } from '../setup/oldRows.ts'
import { runOperator } from '../setup/operator.ts'

const { url, db } = await createTestDatabase()
const run = (words: string[], env: Record<string, string> = {}) =>
  runOperator('retention', words, { DATABASE_URL: url, ...env })

beforeAll(async () => {
  const { workspaceId } = await seedWorkspace(db)
  for (const { write } of oldRows) await write(db, workspaceId)
})

/** As a worker with these settings notes it. */
async function look(days = usualDays) {
  await sql`truncate retention_parts`.execute(db)
  await claimRetention({ db, now: () => new Date(), wake: () => undefined }, days)
}

test('it goes by what workers keep and by the time of Postgres, and does nothing where it knows neither', {
  timeout: 120_000,
}, async () => {
  const all = labelsOf('gone', 'stay')
  const unknown = await run([], { JOB_RETENTION_DAYS: '90' })
  expect([unknown.code, unknown.stdout]).toEqual([1, ''])
  expect(unknown.stderr).toMatch(/no worker has looked.*Not set: WEBHOOK_RETENTION_DAYS, /)
  expect(unknown.stderr).not.toContain('JOB_RETENTION_DAYS')
  expect(await labelsLeft(db)).toEqual(all)

  // A shell whose clock is 300 days ahead, beside workers that keep everything for ten years.
  await look(Object.fromEntries(retentionNames.map((name) => [name, 3650])) as typeof usualDays)
  await sql`update idempotency_keys set created_at = now()`.execute(db)
  await sql`update email_days set day = current_date`.execute(db)
  const clock = `const D=Date;const at=()=>D.now()+300*864e5;
    globalThis.Date=class extends D{constructor(...a){if(a.length>0)super(...a);else super(at())}static now(){return at()}}`
  const done = await run([], {
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(clock)}`,
  })
  expect([done.code, done.stderr]).toEqual([0, ''])
  expect(await labelsLeft(db)).toEqual(all)
  await sql`update idempotency_keys set created_at = ${ago(2)}`.execute(db)
  await sql`update email_days set day = '2026-01-01'`.execute(db)
  await look()
})

interface Shown {
  part: string
  rows: number
  oldest_at: string | null
}

test('it shows what it would delete, deletes it, and says what it has deleted', {
  timeout: 120_000,
}, async () => {
  const dry = await run(['--dry-run', '--json'])
  expect([dry.code, dry.stderr]).toEqual([0, ''])
  const shown = JSON.parse(dry.stdout) as Shown[]
  expect(shown.map(({ part }) => part)).toEqual(expect.arrayContaining(['jobs', 'complaints']))
  // By the clock of today all of these are older than that of the rows.
  // Rows of these two go once others have gone.
  const later = ['jobs', 'webhook_events']
  for (const { table, gone } of oldRows.filter((one) => !later.includes(one.table))) {
    const row = shown.find(({ part }) => part === table)
    expect([table, (row?.rows ?? 0) >= gone.length]).toEqual([table, true])
    expect(new Date(row?.oldest_at ?? '') < NOW).toBe(true)
  }
  // What cannot be counted hides nothing of the others.
  await sql`alter table http_calls rename to away`.execute(db)
  const partly = await run(['--dry-run', '--json'])
  await sql`alter table away rename to http_calls`.execute(db)
  expect([partly.code, partly.stderr]).toEqual([1, expect.stringContaining('http_calls could not')])
  expect(JSON.parse(partly.stdout)).toEqual(
    (shown as object[]).map((row) =>
      'part' in row && row.part === 'http_calls'
        ? { ...row, rows: null, oldest_at: null, error: expect.stringContaining('http_calls') }
        : row,
    ),
  )
  expect((await run(['--dry-run'])).stdout).toMatch(
    /^table +kept +rows too old +oldest\nidempotency_keys +1 day +4 +\d+ days\n/,
  )
  expect(await labelsLeft(db)).toEqual(labelsOf('gone', 'stay'))

  // A setting is heeded, and a wrong one refused.
  const wrong = await run([], { JOB_RETENTION_DAYS: '0' })
  expect([wrong.code, wrong.stdout]).toEqual([1, ''])
  expect(wrong.stderr).toContain('JOB_RETENTION_DAYS')
  const env = { JOB_RETENTION_DAYS: '3650' }
  const done = await run([], env)
  expect([done.code, done.stderr]).toEqual([0, ''])
  expect(done.stdout).toMatch(/^table +rows deleted\nidempotency_keys +4\n/)
  const left = await labelsLeft(db)
  const all = labelsOf('gone', 'stay')
  expect([left['jobs'], left['idempotency_keys']]).toEqual([all['jobs'], []])
  const again = JSON.parse((await run(['--json'], env)).stdout) as {
    deleted: number
    error: null
  }[]
  expect(again.every(({ deleted, error }) => deleted === 0 && error === null)).toBe(true)
})
