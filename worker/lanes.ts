// Makes sure that every delivery lane runs and knows the configured count of lanes.
import { setTimeout as delay } from 'node:timers/promises'
import { type Client, WorkflowExecutionAlreadyStartedError } from '@temporalio/client'
import type { Db } from '../db/connect.ts'
import { findLaneCount } from '../db/lanes/reads.ts'
import { signals, taskQueues, workflowIds, workflowTypes } from '../rules/wire.ts'
import type { Log } from '../runtime/log.ts'
import { repeat } from '../runtime/repeat.ts'
import type { DeliveryLaneInput } from '../workflows/messages.ts'

const EVERY_MS = 60_000
const RETRY_MS = 5_000

const numbers = (lanes: number) => Array.from({ length: lanes }, (_, lane) => lane)

const startOptions = (input: DeliveryLaneInput) => ({
  workflowId: workflowIds.lane(input.lane),
  taskQueue: taskQueues.delivery,
  args: [input] as [DeliveryLaneInput],
  workflowIdReusePolicy: 'ALLOW_DUPLICATE' as const,
})

/** Starts missing lanes and signals the count to all of them. */
async function startLanes(client: Client, lanes: number): Promise<void> {
  await Promise.all(
    numbers(lanes).map((lane) =>
      client.workflow.signalWithStart(workflowTypes.deliveryLane, {
        ...startOptions({ lane, lanes }),
        signal: signals.laneCount,
        signalArgs: [lanes],
      }),
    ),
  )
}

/**
 * Signals the count to lanes beyond it, by which they end.
 * @param count is asked when it is known which lanes run: Temporal may list nothing for long. @throws also while Temporal runs and cannot list
 */
async function endLanesBeyond(client: Client, count: () => Promise<number>): Promise<void> {
  const running: string[] = []
  const listed = client.workflow.list({
    query: `WorkflowType = '${workflowTypes.deliveryLane}' AND ExecutionStatus = 'Running'`,
  })
  for await (const { workflowId } of listed) running.push(workflowId)
  const lanes = await count()
  const wanted = new Set(numbers(lanes).map(workflowIds.lane))
  for (const workflowId of running) {
    if (wanted.has(workflowId)) continue
    await client.workflow.getHandle(workflowId).signal(signals.laneCount, lanes)
  }
}

/**
 * Starts missing lanes and signals the count to all; lanes beyond the count end. Any number of workers may call
 * it.
 */
export async function ensureLanes(client: Client, lanes: number): Promise<void> {
  await startLanes(client, lanes)
  await endLanesBeyond(client, async () => lanes)
}

/**
 * Starts lanes that do not run, for example because somebody terminated one. It brings no count of its own: of workers with
 * different settings the one that started last decides, and its count stands beside the owner of the first lane. While lanes of
 * another count have owners (one was not yet listed when the count changed, or two workers started at once), all lanes
 * are told that count again: otherwise they would take shards from each other for ever.
 * @param configured the count while the first lane never had an owner
 */
export async function startMissingLanes(
  { db, client }: { db: Db; client: Client },
  configured: number,
): Promise<void> {
  const found = await findLaneCount(db, new Date())
  if (found?.isDisputed) return ensureLanes(client, found.lanes)
  const lanes = found?.lanes ?? configured
  await Promise.all(
    numbers(lanes).map(async (lane) => {
      try {
        await client.workflow.start(workflowTypes.deliveryLane, startOptions({ lane, lanes }))
      } catch (err) {
        if (!(err instanceof WorkflowExecutionAlreadyStartedError)) throw err
      }
    }),
  )
}

/**
 * Makes what gives the count to tell: the configured one, until the first lane has another count than before this worker told its own. From then
 * on it is the first lane's: this worker's, or that of one that has started since.
 */
function createCount(db: Db, configured: number): () => Promise<number> {
  let before: { lanes: number | undefined } | null = null
  let isHeard = false
  return async () => {
    const lanes = (await findLaneCount(db, new Date()))?.lanes
    before ??= { lanes }
    isHeard ||= lanes !== before.lanes
    return (isHeard ? lanes : null) ?? configured
  }
}

/**
 * Starts the lanes in the configured count, once, however long Temporal does not take it: a worker that has begun to send does not end for it.
 * From then on it starts missing lanes and settles disputed counts every minute. `stop` ends it.
 */
export function keepLanes(
  deps: { db: Db; client: Client; log: Pick<Log, 'warn'> },
  configured: number,
): { stop: () => Promise<void> } {
  const { db, client, log } = deps
  const stopping = new AbortController()
  const { signal } = stopping
  const count = createCount(db, configured)
  /** Each step is done once, and what is told late is the count of then: an older one would undo that of a worker that has started since. */
  const untilDone = async (step: (lanes: number) => Promise<void>) => {
    while (!signal.aborted) {
      try {
        const lanes = await count()
        return await client.withAbortSignal(signal, () => step(lanes))
      } catch (err) {
        if (!signal.aborted) log.warn({ err }, 'lanes were not told their count; trying again')
        await delay(RETRY_MS, null, { signal }).catch(() => undefined)
      }
    }
  }
  const beginning = untilDone((lanes) => startLanes(client, lanes)).then(() =>
    untilDone(() => endLanesBeyond(client, count)),
  )
  const keeping = repeat({
    every_ms: EVERY_MS,
    work: () => startMissingLanes(deps, configured),
    onFailure: (err) =>
      log.warn({ err }, 'missing lanes could not be started; tried again in a minute'),
  })
  return {
    async stop() {
      stopping.abort()
      await Promise.all([beginning, keeping.stop()])
    },
  }
}
