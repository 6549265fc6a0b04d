// `npm run lanes`: shows which worker runs which delivery lane, and how much mail each lane has. It changes
// nothing.
import { Client, Connection } from '@temporalio/client'
import { connect } from '../db/connect.ts'
import { readOperatorConfig } from '../runtime/config.ts'
import { readArguments } from './arguments.ts'
import { listLaneStates } from './laneStates.ts'
import { laneLines } from './laneTable.ts'

const USAGE = `Usage: npm run lanes
Shows on which worker Temporal runs each delivery lane. Needs DATABASE_URL and TEMPORAL_ADDRESS, reads DELIVERY_LANES.
`

function fail(text: string, hint: string): never {
  process.stderr.write(`${text}\n${hint}\n`)
  process.exit(1)
}

readArguments({}, USAGE)
const config = readOperatorConfig(process.env, [
  'databaseUrl',
  'temporalAddress',
  'temporalNamespace',
  'deliveryLanes',
])
const { temporalAddress: address, temporalNamespace: namespace } = config

const connection = await Connection.connect({ address, connectTimeout: '5s' }).catch(() =>
  fail(
    `Temporal does not answer at ${address}, so it cannot say which worker runs which lane.`,
    'A lane that runs goes on; none moves. The API accepts mail meanwhile.\n' +
      'Who owns the lanes stands in Postgres: ' +
      'select lane, owner, until > now() as alive from lanes where epoch > 0\n' +
      'Check TEMPORAL_ADDRESS, or start Temporal, then ask again.',
  ),
)
const { db } = connect({
  url: config.databaseUrl,
  poolSize: 2,
  name: 'dripline-lanes',
  onIdleError: () => undefined,
})
try {
  const lanes = await listLaneStates(new Client({ connection, namespace }), db, new Date())
  const lines =
    lanes.length === 0
      ? [
          `No delivery lane runs in the namespace "${namespace}" of ${address}.`,
          'Start a worker with the role "delivery" (npm run start:worker): it starts them.',
        ]
      : laneLines(lanes, config.deliveryLanes)
  process.stdout.write(`${lines.join('\n')}\n`)
} catch (err) {
  fail(
    `The lanes could not be read: ${err instanceof Error ? err.message : String(err)}`,
    'Temporal and Postgres must both answer: check TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE and DATABASE_URL.',
  )
} finally {
  await db.destroy()
  await connection.close()
}
