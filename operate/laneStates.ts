// Reads which worker runs which delivery lane (from Temporal) and how much mail each lane has (from Postgres).
import type { Client } from '@temporalio/client'
import type { LaneBeat } from '../activities/deliverShards.ts'
import type { Db } from '../db/connect.ts'
import { listQueueDepths, QUEUE_COUNTED_MAX } from '../db/deliveries/queueDepth.ts'
import { laneShards } from '../delivery/lane/shards.ts'
import { limits } from '../rules/limits.ts'
import { isUnderWay, isWaiting } from '../rules/states.ts'
import { workflowIds, workflowTypes } from '../rules/wire.ts'

export interface LaneState {
  lane: number
  /** For example `0-15`. */
  shards: string
  workflowId: string
  /** Identity of the worker that runs the lane; null if none does. */
  worker: string | null
  heartbeatAge_ms: number | null
  /** How often its activity was started since it last ended without a failure. */
  attempt: number | null
  /** Message of the last failure. */
  lastFailure: string | null
  /** How many breakers its worker has open, by kind; null: it has not said so. */
  breakers: LaneBeat['breakers'] | null
  /** Count of waiting deliveries; `1200+` if not all were counted. */
  waiting: string
  underWay: number
  oldest_s: number
}

/** A protobuf timestamp in ms. */
const msOf = (time: { seconds?: unknown; nanos?: number | null } | null | undefined) =>
  time ? Number(time.seconds ?? 0) * 1000 + Math.floor((time.nanos ?? 0) / 1e6) : null

/** What a heartbeat says; null if it says nothing that is understood. */
function beatOf(data: Uint8Array | null | undefined): Partial<LaneBeat> | null {
  try {
    return data ? JSON.parse(Buffer.from(data).toString('utf8')) : null
  } catch {
    return null
  }
}

/** The running lanes, in the order of their numbers. */
export async function listLaneStates(client: Client, db: Db, now: Date): Promise<LaneState[]> {
  const query = `WorkflowType = '${workflowTypes.deliveryLane}' AND ExecutionStatus = 'Running'`
  const running = new Set<string>()
  for await (const { workflowId } of client.workflow.list({ query })) running.add(workflowId)
  const depths = await listQueueDepths(db, now)

  const describe = async (lane: number): Promise<LaneState> => {
    const workflowId = workflowIds.lane(lane)
    const { raw } = await client.workflow.getHandle(workflowId).describe()
    const activity = raw.pendingActivities?.[0]
    const heartbeatAt = msOf(activity?.lastHeartbeatTime)
    const { from, to } = laneShards(lane, running.size)
    const own = depths.filter(({ shard }) => shard >= from && shard < to)
    const sum = (rows: typeof own) => rows.reduce((total, { count }) => total + count, 0)
    const waiting = own.filter(({ state }) => isWaiting(state))
    const byShard = new Map<number, number>()
    for (const { shard, count } of waiting) {
      byShard.set(shard, (byShard.get(shard) ?? 0) + count)
    }
    const isCut = [...byShard.values()].some((count) => count >= QUEUE_COUNTED_MAX)
    return {
      lane,
      shards: to - from > 1 ? `${from}-${to - 1}` : `${from}`,
      workflowId,
      worker: activity?.lastWorkerIdentity || null,
      heartbeatAge_ms: heartbeatAt === null ? null : Math.max(0, now.getTime() - heartbeatAt),
      attempt: activity?.attempt ?? null,
      lastFailure: activity?.lastFailure?.message ?? null,
      breakers: beatOf(activity?.heartbeatDetails?.payloads?.[0]?.data)?.breakers ?? null,
      waiting: `${sum(waiting)}${isCut ? '+' : ''}`,
      underWay: sum(own.filter(({ state }) => isUnderWay(state))),
      oldest_s: Math.max(0, ...waiting.map(({ oldest_s }) => oldest_s)),
    }
  }
  const lanes = Array.from({ length: limits.shards }, (_, lane) => lane)
  return Promise.all(lanes.filter((lane) => running.has(workflowIds.lane(lane))).map(describe))
}
