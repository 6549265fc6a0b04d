// `npm run warm-up`: shows how far new domains are in their warm-up, ends it, or begins it anew.
import { endWarmUp, restartWarmUp } from '../commands/domains/warmUp.ts'
import { connect } from '../db/connect.ts'
import { listWarmUps, type WarmUpRow } from '../db/domains/warmUpReads.ts'
import { isHostName } from '../rules/addresses.ts'
import { dayOf, placesOf, stepOf, warmUpLadder } from '../rules/mail/warmUp.ts'
import { readOperatorConfig, warmsUp } from '../runtime/config.ts'
import { failUsage, readWords } from './arguments.ts'

const USAGE = `Usage: npm run warm-up -- [DOMAIN [done | restart]] [--json]
Shows how far a domain is in its warm-up; without DOMAIN, all that are not warm. DOMAIN is a name or an id.
  done     the domain is warm: what waits for a place goes out now
  restart  the domain begins at the first step, today
Needs DATABASE_URL. DELIVERY_MODE and WARM_UP say whether workers let mail out in steps.
`

const { values, words } = readWords({ json: { type: 'boolean', default: false } }, USAGE)
const [domain, action, ...surplus] = words
if (surplus.length > 0) failUsage(`'${surplus.join(' ')}' is a word too many`, USAGE)
if (
  domain !== undefined &&
  !/^dom_\w+$/.test(domain) &&
  !(isHostName(domain) && domain.includes('.'))
) {
  failUsage(`'${domain}' is neither the name nor the id of a domain`, USAGE)
}
if (action !== undefined && action !== 'done' && action !== 'restart') {
  failUsage(`'${action}' is unknown: say done or restart, or nothing to see the state`, USAGE)
}
const config = readOperatorConfig(process.env, ['databaseUrl', 'deliveryMode', 'warmUp'])
const now = () => new Date()

interface State {
  id: string
  workspace_id: string
  name: string
  is_warmed_up: boolean
  warmed_up_at: string | null
  /** The step of today, from 1; null: it is warm, or its last step is over. */
  step: number | null
  steps: number
  /** Places of today; null: no limit. */
  places: number | null
  used: number
  /** Mail that was never tried and is due later. */
  waiting: number
}

function stateOf(row: WarmUpRow): State {
  const { id, workspace_id, name, is_warmed_up, warmed_up_at, days, waiting } = row
  const today = dayOf(now().getTime())
  const step = stepOf(days, today) + 1
  const { size, used } = placesOf(days, today)
  const isLimited = !is_warmed_up && step <= warmUpLadder.length
  return {
    ...{ id, workspace_id, name, is_warmed_up, waiting, used },
    warmed_up_at: warmed_up_at?.toISOString() ?? null,
    step: isLimited ? step : null,
    steps: warmUpLadder.length,
    places: isLimited ? size : null,
  }
}

function lineOf(state: State): string {
  const { id, name, is_warmed_up, warmed_up_at, step, steps, places, used, waiting } = state
  const who = `${name} (${id})`
  const rest = `${waiting} mails wait for a later day or time`
  if (is_warmed_up) return `${who}: warm since ${warmed_up_at ?? 'its beginning'}; ${rest}`
  if (step === null) return `${who}: its last step is over, its next mail makes it warm; ${rest}`
  return `${who}: step ${step} of ${steps}, ${used} of ${places} places of today (UTC) used; ${rest}`
}

function print(rows: WarmUpRow[]): void {
  const states = rows.map(stateOf)
  const lines = values.json ? [JSON.stringify(states)] : states.map(lineOf)
  if (lines.length === 0) lines.push('No domain is warming up.')
  process.stdout.write(`${lines.join('\n')}\n`)
}

const { db } = connect({
  url: config.databaseUrl,
  poolSize: 2,
  name: 'dripline-warm-up',
  onIdleError: () => undefined,
})
// Lanes look for due mail once a second without being woken.
const deps = { db, now, wake: () => undefined }
try {
  const rows = await listWarmUps(db, domain ?? null, now())
  const [row] = rows
  if (domain !== undefined && !row) {
    process.stderr.write(
      `No domain is called ${domain}.\nnpm run warm-up lists those that warm up.\n`,
    )
    process.exitCode = 1
  } else if (action !== undefined && rows.length > 1) {
    const which = rows.map((one) => `  ${one.id} of workspace ${one.workspace_id}`).join('\n')
    process.stderr.write(`Several workspaces have ${domain}. Name one by its id:\n${which}\n`)
    process.exitCode = 2
  } else {
    if (action === 'done' && row) await endWarmUp(deps, row)
    if (action === 'restart' && row) await restartWarmUp(deps, row)
    print(action === undefined ? rows : await listWarmUps(db, row?.id ?? null, now()))
    if (!values.json && !warmsUp(config.warmUp, config.deliveryMode)) {
      process.stdout.write('With this environment workers send all mail at once: WARM_UP is off.\n')
    }
  }
} catch (err) {
  process.stderr.write(
    `The warm-up could not be read or changed: ${err instanceof Error ? err.message : String(err)}\n` +
      'Check DATABASE_URL, and that Postgres answers, then say it again: nothing is lost by that.\n',
  )
  process.exitCode = 1
} finally {
  await db.destroy()
}
