// Starts the workflow functions that let go of what paused workflows have held, for each that is active again.
import { setTimeout as delay } from 'node:timers/promises'
import { type Client, WorkflowExecutionAlreadyStartedError } from '@temporalio/client'
import { LRUCache } from 'lru-cache'
import type { Db } from '../db/connect.ts'
import { listHolding } from '../db/executions/held.ts'
import { taskQueues, workflowIds, workflowTypes } from '../rules/wire.ts'
import type { Log } from '../runtime/log.ts'
import type { ReleaseHeldInput } from '../workflows/messages.ts'

const EVERY_MS = 1_000
/** How long nobody asks again for one that was started, or runs. */
const ASKED_MS = 5_000
const MAX = 100

/**
 * Looks every second, which is one step into an index while nothing is held. Any number of workers may do it: Temporal runs one
 * for each workflow. Postgres says what is left, so one that was ended from outside, or lost, is started again.
 * @returns `stop` ends it
 */
export function startReleases({ db, client, log }: { db: Db; client: Client; log: Log }): {
  stop: () => Promise<void>
} {
  const stopping = new AbortController()
  const { signal } = stopping
  const asked = new LRUCache<string, true>({ max: 10 * MAX, ttl: ASKED_MS })
  const run = async () => {
    while (!signal.aborted) {
      try {
        for (const id of await listHolding(db, MAX)) {
          if (!asked.has(id)) await startRelease(client, id)
          asked.set(id, true, { noUpdateTTL: true })
        }
      } catch (err) {
        log.warn({ err }, 'held executions were not let go; tried again')
      }
      await delay(EVERY_MS, null, { signal }).catch(() => undefined)
    }
  }
  const running = run()
  return {
    stop() {
      stopping.abort()
      return running
    },
  }
}

async function startRelease(client: Client, workflowId: string): Promise<void> {
  const input: ReleaseHeldInput = { workflowId }
  try {
    await client.workflow.start(workflowTypes.releaseHeld, {
      workflowId: workflowIds.held(workflowId),
      taskQueue: taskQueues.executions,
      args: [input],
      workflowIdReusePolicy: 'ALLOW_DUPLICATE',
    })
  } catch (err) {
    if (!(err instanceof WorkflowExecutionAlreadyStartedError)) throw err
  }
}
