// `npm run recover`: shows which executions, checks of domains and schedules Temporal has lost, and has them started again.
import { setTimeout as delay } from 'node:timers/promises'
import { Client, Connection } from '@temporalio/client'
import { fateOf } from '../commands/executions/startAgain.ts'
import { connect } from '../db/connect.ts'
import { findRestart, isStartLeft } from '../db/executions/lost.ts'
import { findNamespace } from '../db/namespaces/reads.ts'
import { workerSettings } from '../db/settings.ts'
import { readOperatorConfig } from '../runtime/config.ts'
import { registerSearchAttributes } from '../runtime/temporal.ts'
import { type Look, lookAt, type WalkPosition, walkBegin } from '../worker/lost.ts'
import { describeNamespace } from '../worker/namespace.ts'
import { restore } from '../worker/restore.ts'
import { knownOf } from '../worker/rounds.ts'
import { readArguments } from './arguments.ts'
import { type Lost, lostLines } from './recoverTable.ts'

/** Lost ones that are shown each by itself. */
const SHOWN_MAX = 100
const LOOK_MS = 500
/** How long the starts of a page may stay in the outbox before the next page begins: there may be no worker. */
const LEFT_MS_MAX = 10_000

const USAGE = `Usage: npm run recover -- [--apply]
Shows which executions, checks of domains and schedules live in Postgres and are not in Temporal, as when its data was lost.
  --apply  starts them again where Postgres has them: what they did is not done again
Workers find them too, more slowly. Needs DATABASE_URL and TEMPORAL_ADDRESS.
`

function fail(text: string, hint: string): never {
  process.stderr.write(`${text}\n${hint}\n`)
  process.exit(1)
}

const { apply = false } = readArguments({ apply: { type: 'boolean' } }, USAGE)
const config = readOperatorConfig(process.env, [
  'databaseUrl',
  'temporalAddress',
  'temporalNamespace',
])
const { databaseUrl: url, temporalAddress: address, temporalNamespace: namespace } = config
const now = () => new Date()

const connection = await Connection.connect({ address, connectTimeout: '5s' }).catch(() =>
  fail(
    `Temporal does not answer at ${address}, so nobody can say what it has lost.`,
    'Check TEMPORAL_ADDRESS, or start Temporal, then ask again. Nothing was changed.',
  ),
)
const onIdleError = () => undefined
const settings = workerSettings
const { db } = connect({ url, poolSize: 2, name: 'dripline-recover', settings, onIdleError })
const client = new Client({ connection, namespace })
const deps = {
  ...{ db, client, namespace, now },
  stop: new AbortController().signal,
  // Workers look each second without being woken.
  wake: () => undefined,
  log: { warn: (about: object, text: string) => process.stderr.write(`${text}: ${say(about)}\n`) },
}

function say(about: object): string {
  const { err, id } = about as { err?: unknown; id?: string }
  return `${id ?? ''} ${err instanceof Error ? err.message : String(err)}`.trim()
}

/** What becomes of the executions of a page, of which some were ended from outside and dropped. */
async function fatesOf(look: Look, unseenUntil: Date | null): Promise<Lost[]> {
  const found: Lost[] = []
  for (const { id, workspace_id } of look.executions) {
    const restart = await findRestart(db, workspace_id, id)
    if (!restart) continue
    const fate = fateOf(restart, unseenUntil)
    found.push({ what: 'execution', id, workspace_id, segment: restart.segment, fate })
  }
  for (const { id, workspace_id } of look.domains) {
    found.push({ what: 'domain', id, workspace_id, segment: null, fate: 'started' })
  }
  for (const { workflow_id, node_id, workspace_id } of look.schedules) {
    const id = `${workflow_id}/${node_id}`
    found.push({ what: 'schedule', id, workspace_id, segment: null, fate: 'started' })
  }
  return found
}

/** Fresh events come first: no page is begun while the one before fills the outbox. */
async function untilHandedOver(started: string[]): Promise<void> {
  const end = Date.now() + LEFT_MS_MAX
  while (started.length > 0 && Date.now() < end && (await isStartLeft(db, started)))
    await delay(LOOK_MS)
}

async function walk(): Promise<void> {
  const space = await describeNamespace(client, namespace)
  const row = await findNamespace(db, namespace)
  const { unseenUntil } = row ? knownOf(row, space, now()) : { unseenUntil: null }
  if (apply) await registerSearchAttributes(connection, namespace)
  const shown: Lost[] = []
  const counts = { started: 0, closed: 0, failed: 0 }
  let at: WalkPosition | null = walkBegin
  while (at) {
    const look: Look = await lookAt(deps, at, space)
    const fates = await fatesOf(look, unseenUntil)
    shown.push(...fates.slice(0, SHOWN_MAX - shown.length))
    if (apply) {
      const { started, closed, failed } = await restore(deps, look, unseenUntil)
      counts.started += started.length
      counts.closed += closed
      counts.failed += failed
      await untilHandedOver(started)
    } else {
      const ended = fates.filter(({ fate }) => fate === 'ended').length
      counts.started += fates.length - ended
      counts.closed += look.ended.length + ended
    }
    at = look.next
  }
  const lines = lostLines({ shown, counts, isApplied: apply, namespace, address })
  process.stdout.write(`${lines.join('\n')}\n`)
  if (counts.failed > 0) process.exitCode = 1
}

try {
  await walk()
} catch (err) {
  fail(
    `What Temporal has lost could not be found: ${err instanceof Error ? err.message : String(err)}`,
    'Temporal and Postgres must both answer: check TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE and DATABASE_URL, then say it again: ' +
      'nothing is started twice.',
  )
} finally {
  await db.destroy()
  await connection.close()
}
