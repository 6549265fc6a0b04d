// An operator looks at what is too old, and deletes it.
import { beforeAll, expect, test } from 'vitest'
import { createTestDatabase } from '../setup/database.ts'
import { seedWorkspace } from '../setup/harness.ts'
import { labelsLeft, labelsOf, NOW, oldRows } from '../setup/oldRows.ts'
import { runOperator } from '../setup/operator.ts'

const { url, db } = await createTestDatabase()
const run = (words: string[], env: Record<string, string> = {}) =>
  runOperator('retention', words, { DATABASE_URL: url, ...env })

beforeAll(async () => {
  const { workspaceId } = await seedWorkspace(db)
  for (const { write } of oldRows) await write(db, workspaceId)
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
  for (const { table, gone } of oldRows.filter((one) => one.table !== 'jobs')) {
    const row = shown.find(({ part }) => part === table)
    expect([table, (row?.rows ?? 0) >= gone.length]).toEqual([table, true])
    expect(new Date(row?.oldest_at ?? '') < NOW).toBe(true)
  }
  expect((await run(['--dry-run'])).stdout).toMatch(
    /^table +rows too old +oldest\nidempotency_keys +4 +\d+ days\n/,
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
