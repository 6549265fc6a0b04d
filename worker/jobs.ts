// Starts the workflow functions of jobs that are to be carried on: new ones, resumed ones, and those that Temporal has lost.
import { setTimeout as delay } from 'node:timers/promises'
import { type Client, WorkflowExecutionAlreadyStartedError } from '@temporalio/client'
import { LRUCache } from 'lru-cache'
import type { Db } from '../db/connect.ts'
import { listLiveJobs } from '../db/jobs/reads.ts'
import { taskQueues, workflowTypes } from '../rules/wire.ts'
import type { Log } from '../runtime/log.ts'
import type { RunJobInput } from '../workflows/messages.ts'

const EVERY_MS = 1_000
/** How long nobody asks again for one that was started, or runs. */
const ASKED_MS = 5_000
const MAX = 1_000

/**
 * Looks every second, which is one step into an index while there is no job. Any number of workers may do it: Temporal runs one workflow
 * function for each job, and Postgres says which are not over. @returns `stop` ends it
 */
export function startJobs({ db, client, log }: { db: Db; client: Client; log: Log }): {
  stop: () => Promise<void>
} {
  const stopping = new AbortController()
  const { signal } = stopping
  const asked = new LRUCache<string, true>({ max: 10 * MAX, ttl: ASKED_MS })
  const run = async () => {
    while (!signal.aborted) {
      try {
        for (const id of await listLiveJobs(db, MAX)) {
          if (!asked.has(id)) await startJob(client, id)
          asked.set(id, true, { noUpdateTTL: true })
        }
      } catch (err) {
        log.warn({ err }, 'jobs were not started; tried again')
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

async function startJob(client: Client, jobId: string): Promise<void> {
  const input: RunJobInput = { jobId }
  try {
    await client.workflow.start(workflowTypes.runJob, {
      workflowId: jobId,
      taskQueue: taskQueues.executions,
      args: [input],
      workflowIdReusePolicy: 'ALLOW_DUPLICATE',
    })
  } catch (err) {
    if (!(err instanceof WorkflowExecutionAlreadyStartedError)) throw err
  }
}
