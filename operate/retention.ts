// `npm run retention`: deletes what is too old to be kept, or shows what that would be.
import { setTimeout as delay } from 'node:timers/promises'
import { chooseRetentionDays } from '../commands/retention/days.ts'
import { forgetOld, oldBefore } from '../commands/retention/forget.ts'
import { connect } from '../db/connect.ts'
import { retentionParts } from '../db/retention/parts.ts'
import { countOld, listRetentionDays, readRetentionTime } from '../db/retention/reads.ts'
import { workerSettings } from '../db/settings.ts'
import { DAY_MS, type RetentionDays, retentionNames } from '../rules/retention.ts'
import { readOperatorConfig } from '../runtime/config.ts'
import { readArguments } from './arguments.ts'
import { COUNT_MAX, deletedLines, type OldRows, oldLines } from './retentionTable.ts'

const USAGE = `Usage: npm run retention -- [--dry-run] [--json]
Deletes what is older than its setting says, as workers do every hour, in small pages with a rest between them. It may be stopped at any
moment, and run beside itself and the workers.
  --dry-run  deletes nothing: how many rows of each table are too old, and how old the oldest is
  --json     the same as JSON
Needs DATABASE_URL. It goes by the settings *_RETENTION_DAYS of the worker that has looked last, and by its own where they are set.
`
const PROGRESS_EVERY_MS = 2_000
const REST_MS_MIN = 5

const { 'dry-run': isDry, json } = readArguments(
  { 'dry-run': { type: 'boolean', default: false }, json: { type: 'boolean', default: false } },
  USAGE,
)
const { databaseUrl, ...given } = readOperatorConfig(process.env, [
  'databaseUrl',
  ...retentionNames,
])
const { db } = connect({
  url: databaseUrl,
  poolSize: 1,
  name: 'dripline-retention',
  settings: workerSettings,
  onIdleError: () => undefined,
})
const textOf = (err: unknown) => (err instanceof Error ? err.message : String(err))
const say = (found: unknown, lines: string[]) =>
  process.stdout.write(`${json ? JSON.stringify(found) : lines.join('\n')}\n`)

async function show(days: RetentionDays, at: Date): Promise<void> {
  const found: OldRows[] = []
  for (const part of retentionParts) {
    const kept = typeof part.kept === 'number' ? part.kept / DAY_MS : days[part.kept]
    const row = {
      part: part.table,
      days: kept,
      rows: null,
      more: false,
      oldest_at: null,
      error: null,
    }
    const before = oldBefore(part, days, at)
    try {
      const { count, is_all, oldest_at } = await countOld(db, part, { before, max: COUNT_MAX })
      found.push({ ...row, rows: count, more: !is_all, oldest_at })
    } catch (err) {
      found.push({ ...row, error: textOf(err) })
    }
  }
  say(found, oldLines(found, at))
  for (const { part, error } of found.filter((one) => one.error !== null)) {
    process.stderr.write(`Old rows of ${part} could not be counted: ${error}\n`)
    process.exitCode = 1
  }
}

async function forget(days: RetentionDays, at: Date): Promise<void> {
  const deleted = new Map(retentionParts.map(({ table }): [string, number] => [table, 0]))
  const failures = new Map<string, string>()
  let told = performance.now()
  await forgetOld(
    { db, now: () => at, wake: () => undefined },
    {
      parts: retentionParts,
      days,
      pause: (took_ms) => delay(Math.max(took_ms, REST_MS_MIN)),
      isStopping: () => false,
      watch: {
        deleted({ table }, rows) {
          deleted.set(table, (deleted.get(table) ?? 0) + rows)
          if (performance.now() - told < PROGRESS_EVERY_MS) return
          told = performance.now()
          const all = [...deleted.values()].reduce((sum, one) => sum + one, 0)
          process.stderr.write(`${all} rows deleted so far, now of ${table}\n`)
        },
        failed: ({ table }, err) => void failures.set(table, textOf(err)),
      },
    },
  )
  const rows = [...deleted].map(([part, count]) => ({ part, deleted: count }))
  say(
    rows.map((row) => ({ ...row, error: failures.get(row.part) ?? null })),
    deletedLines(rows),
  )
  for (const [part, text] of failures) {
    process.stderr.write(`Old rows of ${part} were not all deleted: ${text}\n`)
    process.exitCode = 1
  }
}

try {
  const at = await readRetentionTime(db)
  const chosen = chooseRetentionDays(given, await listRetentionDays(db))
  if ('unknown' in chosen) {
    process.stderr.write(
      `Nobody knows how long this is kept: no worker has looked for what is old yet. Not set: ${chosen.unknown.join(', ')}\n` +
        'Start a worker with the role executions and say it again two minutes later, or set them. Nothing was deleted.\n',
    )
    process.exitCode = 1
  } else await (isDry ? show : forget)(chosen.days, at)
} catch (err) {
  process.stderr.write(
    `What is old could not be read: ${textOf(err)}\n` +
      'Check DATABASE_URL, and that Postgres answers, then say it again: nothing is lost by that.\n',
  )
  process.exitCode = 1
} finally {
  await db.destroy()
}
