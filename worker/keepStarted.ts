// Starts the workflow functions that Postgres says are to run: new ones, and those that were ended from outside or lost.
import { setTimeout as delay } from 'node:timers/promises'
import { type Client, WorkflowExecutionAlreadyStartedError } from '@temporalio/client'
import { LRUCache } from 'lru-cache'
import { taskQueues } from '../rules/wire.ts'
import type { Log } from '../runtime/log.ts'
import { turnOf } from './turns.ts'

const EVERY_MS = 1_000
/** How long nobody asks again for one that was started, or runs. */
const ASKED_MS = 5_000
/** Looks whose findings are remembered. */
const LOOKS = 10

interface KeptRow {
  id: string
  workspace_id: string
}

interface Kept<Row extends KeptRow> {
  client: Client
  log: Log
  /** Those that are to run, up to `max`. */
  list: (max: number) => Promise<Row[]>
  max: number
  /** How one is started. */
  run: (row: Row) => { type: string; workflowId: string; input: object }
  /** What is logged when a look failed; it is tried again. */
  failed: string
}

/**
 * Looks every second. Any number of workers may do it: Temporal runs one workflow function of an id, and Postgres says what is left.
 * @returns `stop` ends it
 */
export function keepStarted<Row extends KeptRow>({
  client,
  log,
  list,
  max,
  run,
  failed,
}: Kept<Row>): {
  stop: () => Promise<void>
} {
  const stopping = new AbortController()
  const { signal } = stopping
  const asked = new LRUCache<string, true>({ max: LOOKS * max, ttl: ASKED_MS })
  const start = async (row: Row) => {
    const { type, workflowId, input } = run(row)
    try {
      await client.workflow.start(type, {
        workflowId,
        taskQueue: taskQueues.executions,
        args: [input],
        workflowIdReusePolicy: 'ALLOW_DUPLICATE',
        ...turnOf(row.workspace_id),
      })
    } catch (err) {
      if (!(err instanceof WorkflowExecutionAlreadyStartedError)) throw err
    }
  }
  const look = async () => {
    while (!signal.aborted) {
      try {
        for (const row of await list(max)) {
          if (!asked.has(row.id)) await start(row)
          asked.set(row.id, true, { noUpdateTTL: true })
        }
      } catch (err) {
        log.warn({ err }, failed)
      }
      await delay(EVERY_MS, null, { signal }).catch(() => undefined)
    }
  }
  const looking = look()
  return {
    stop() {
      stopping.abort()
      return looking
    },
  }
}
