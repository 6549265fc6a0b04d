// `npm run lanes`: prints who owns which delivery lane, and how much mail each has. Reads only.
import { Client, Connection } from '@temporalio/client'
import { connect } from '../db/connect.ts'
import { type LaneState, listLaneStates } from './laneStates.ts'

/** A lane that has not been heard of for so long moves to another worker. */
const SILENT_MS = 6_000

const env: Record<string, string | undefined> = process.env
const address = env['TEMPORAL_ADDRESS'] || '127.0.0.1:7233'
const namespace = env['TEMPORAL_NAMESPACE'] || 'default'

const say = (line: string) => process.stdout.write(`${line}\n`)

function fail(text: string, hint: string): never {
  process.stderr.write(`${text}\n${hint}\n`)
  process.exit(1)
}

const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`

function toCells(lane: LaneState): string[] {
  return [
    String(lane.lane),
    lane.shards,
    lane.workflowId,
    lane.worker ?? 'none',
    lane.heartbeatAge_ms === null ? '-' : seconds(lane.heartbeatAge_ms),
    lane.attempt === null ? '-' : String(lane.attempt),
    lane.waiting,
    String(lane.underWay),
    seconds(lane.oldest_s * 1000),
  ]
}

const HEADER = [
  'lane',
  'shards',
  'workflow',
  'worker',
  'heartbeat',
  'attempt',
  'waiting',
  'under way',
  'overdue',
]

function print(rows: string[][]): void {
  const widths = HEADER.map((_, i) => Math.max(...rows.map((row) => (row[i] ?? '').length)))
  for (const row of rows)
    say(
      row
        .map((cell, i) => cell.padEnd(widths[i] ?? 0))
        .join('  ')
        .trimEnd(),
    )
}

function printFaults(lanes: LaneState[]): void {
  for (const { lane, worker, heartbeatAge_ms, lastFailure } of lanes) {
    if (worker === null) {
      say(`lane ${lane} is held by no worker: start one with the role "delivery"`)
    } else if (heartbeatAge_ms !== null && heartbeatAge_ms > SILENT_MS) {
      say(`lane ${lane}: ${worker} is silent; another worker takes the lane over within 15 s`)
    }
    if (lastFailure) say(`lane ${lane}: the last attempt ended with "${lastFailure}"`)
  }
  const wanted = Number(env['DELIVERY_LANES'] || lanes.length)
  if (wanted !== lanes.length) {
    say(
      `${lanes.length} lanes run, DELIVERY_LANES is ${wanted}: the next worker to start changes it`,
    )
  }
}

const url = env['DATABASE_URL']
if (!url) {
  fail('DATABASE_URL is missing', 'Run this with the environment of a worker; see the README.')
}

const connection = await Connection.connect({ address, connectTimeout: '5s' }).catch(() =>
  fail(
    `Temporal does not answer at ${address}, so nobody can say who owns the lanes.`,
    'Lanes that run go on for as long as their workers live, none moves; API and queue work without it.\n' +
      'Check TEMPORAL_ADDRESS, or start Temporal, then ask again.',
  ),
)
const { db } = connect({ url, poolSize: 2, name: 'dripline-lanes', onIdleError: () => undefined })
try {
  const lanes = await listLaneStates(new Client({ connection, namespace }), db, new Date())
  if (lanes.length === 0) {
    say(`No delivery lane runs in the namespace "${namespace}" of ${address}.`)
    say('Start a worker with the role "delivery" (npm run start:worker): it starts them.')
  } else {
    print([HEADER, ...lanes.map(toCells)])
    printFaults(lanes)
  }
} catch (err) {
  fail(
    `The lanes could not be read: ${err instanceof Error ? err.message : String(err)}`,
    'Temporal and Postgres must both answer: check TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE and DATABASE_URL.',
  )
} finally {
  await db.destroy()
  await connection.close()
}
