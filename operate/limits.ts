// `npm run limits`: shows, sets and removes the limits of workspaces and API keys.
import { type LimitChange, setLimit } from '../commands/limits/set.ts'
import { connect } from '../db/connect.ts'
import { countDayPlaces, findSubject, listLimits } from '../db/limits/reads.ts'
import { dayOf } from '../rules/mail/warmUp.ts'
import { readOperatorConfig } from '../runtime/config.ts'
import { failUsage, readArguments } from './arguments.ts'
import { type LimitState, limitLines } from './limitsTable.ts'

const USAGE = `Usage: npm run limits -- [--workspace NAME_OR_ID | --key ID]
       [--per-second N | off] [--burst N | off] [--emails-per-day N | off] [--json]
Without a workspace or a key: all limits. Without a number: theirs, and how much of today (UTC) is used.
  --per-second      requests, for each API process; 0.5 is one in two seconds
  --burst           requests at once; without it as many as a second's
  --emails-per-day  the API refuses more; mail of workflows waits for the next day
Needs DATABASE_URL.
`

const values = readArguments(
  {
    workspace: { type: 'string' },
    key: { type: 'string' },
    'per-second': { type: 'string' },
    burst: { type: 'string' },
    'emails-per-day': { type: 'string' },
    json: { type: 'boolean', default: false },
  },
  USAGE,
)

/** Fits an integer column. */
const MOST = 1_000_000_000

type NumberName = 'per-second' | 'burst' | 'emails-per-day'

/** undefined: it was not given; null: `off`. */
function numberOf(
  name: NumberName,
  { least, whole }: { least: number; whole: boolean },
): number | null | undefined {
  const given = values[name]
  if (given === undefined) return undefined
  if (given === 'off') return null
  const number = /^\d+(\.\d+)?$/.test(given) ? Number(given) : Number.NaN
  const fits = number >= least && number <= MOST && (!whole || Number.isInteger(number))
  const kind = whole ? 'a whole number' : 'a number'
  if (!fits)
    failUsage(`--${name} is ${kind} from ${least} to ${MOST}, or off, not '${given}'`, USAGE)
  return number
}

const change: LimitChange = {}
const perSecond = numberOf('per-second', { least: 0.0001, whole: false })
const burst = numberOf('burst', { least: 1, whole: true })
const emailsPerDay = numberOf('emails-per-day', { least: 0, whole: true })
if (perSecond !== undefined) change.perSecond = perSecond
if (burst !== undefined) change.burst = burst
if (emailsPerDay !== undefined) change.emailsPerDay = emailsPerDay
const changes = Object.keys(change).length > 0

const { workspace, key } = values
if (workspace !== undefined && key !== undefined)
  failUsage('Name a workspace or a key, not both', USAGE)
const which = workspace !== undefined ? { workspace } : key !== undefined ? { key } : undefined
if (changes && !which) failUsage('Name the --workspace or the --key whose limits these are', USAGE)

const config = readOperatorConfig(process.env, ['databaseUrl'])
const now = () => new Date()
const { db } = connect({
  url: config.databaseUrl,
  poolSize: 2,
  name: 'dripline-limits',
  onIdleError: () => undefined,
})

/** All limits that are set, or those of one subject, which may have none. */
async function statesOf(subject: string | undefined): Promise<LimitState[]> {
  const day = dayOf(now().getTime())
  const rows = (await listLimits(db)).filter((row) => !subject || row.subject === subject)
  return Promise.all(
    rows.map(async (row) => ({
      ...row,
      used_today:
        row.emails_per_day === null
          ? null
          : await countDayPlaces(db, row.workspace_id, row.subject, day),
    })),
  )
}

try {
  const found = which && (await findSubject(db, which))
  if (which && !found) {
    process.stderr.write(
      'workspace' in which
        ? `No workspace has the name or id ${which.workspace}.\n`
        : `No key has the id ${which.key}, or it was revoked. GET /v1/api-keys lists the ids.\n`,
    )
    process.exitCode = 1
  } else {
    const [before] = found ? await statesOf(found.subject) : []
    const rate = change.perSecond === undefined ? before?.per_second : change.perSecond
    if (found && typeof change.burst === 'number' && (rate ?? null) === null) {
      failUsage('--burst says nothing without --per-second', USAGE)
    }
    if (found && changes) {
      // API processes hear of it by Postgres; nobody sleeps who must be woken.
      const deps = { db, now, wake: () => undefined }
      await setLimit(deps, found.workspace_id, { subject: found.subject, change })
    }
    const states = await statesOf(found?.subject)
    const lines = values.json ? [JSON.stringify(states)] : limitLines(states, found)
    process.stdout.write(`${lines.join('\n')}\n`)
  }
} catch (err) {
  process.stderr.write(
    `The limits could not be read or changed: ${err instanceof Error ? err.message : String(err)}\n` +
      'Check DATABASE_URL, and that Postgres answers, then say it again: nothing is lost by that.\n',
  )
  process.exitCode = 1
} finally {
  await db.destroy()
}
