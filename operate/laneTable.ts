// Prints lanes for a terminal: a table, and a sentence for each fault.
import type { LaneState } from './laneStates.ts'
import { tableLines } from './table.ts'

/** A lane without a heartbeat for so long moves to another worker. */
const SILENT_MS = 6_000

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

/** @param wanted the configured count of lanes; undefined if it is not known here */
export function laneLines(lanes: LaneState[], wanted: number | undefined): string[] {
  const table = tableLines(HEADER, lanes.map(toCells))
  const changes =
    wanted === undefined || wanted === lanes.length
      ? []
      : [
          `${lanes.length} lanes run, DELIVERY_LANES is ${wanted}: the next worker to start changes it`,
        ]
  // All lanes of a worker say the same of it.
  const held = new Set(lanes.flatMap(breakersOf))
  return [...table, ...lanes.flatMap(faultsOf), ...held, ...changes]
}

function breakersOf({ worker, breakers }: LaneState): string[] {
  const open = Object.entries(breakers ?? {}).filter(([, count]) => count > 0)
  if (worker === null || open.length === 0) return []
  const counts = open.map(([kind, count]) => `${kind} ${count}`).join(', ')
  return [
    `${worker} holds mail back and tries one a minute, since it was refused for a fault of ours (${counts}): ` +
      'its log says "a breaker opened", with the code',
  ]
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

function faultsOf({ lane, worker, heartbeatAge_ms, lastFailure }: LaneState): string[] {
  const faults: string[] = []
  if (worker === null) {
    faults.push(`lane ${lane} is held by no worker: start one with the role "delivery"`)
  } else if (heartbeatAge_ms !== null && heartbeatAge_ms > SILENT_MS) {
    faults.push(`lane ${lane}: ${worker} is silent; another worker takes the lane over within 15 s`)
  }
  if (lastFailure) faults.push(`lane ${lane}: the last attempt ended with "${lastFailure}"`)
  return faults
}
