// The sweeper: closes the rows of executions that ended in Temporal only: terminated in the Web UI, or timed out.
import type { Client } from '@temporalio/client'
import { type ClosedAs, closeExecution } from '../commands/executions/close.ts'
import type { Db } from '../db/connect.ts'
import { listLiveIds } from '../db/executions/reads.ts'
import type { Wake } from '../db/wake.ts'
import { workflowTypes } from '../rules/wire.ts'
import type { Log } from '../runtime/log.ts'

const EVERY_MS = 30_000
/** How far back the first sweep of a process looks; later sweeps overlap by `OVERLAP_MS`. */
const FIRST_LOOK_BACK_MS = 24 * 60 * 60 * 1000
const OVERLAP_MS = 5 * 60 * 1000

export interface SweeperDeps {
  db: Db
  client: Client
  log: Log
  now: () => Date
  wake: Wake
}

const TERMINATED: ClosedAs = { status: 'CANCELLED', code: 'terminated' }
const FAILED: ClosedAs = { status: 'FAILED', error: 'the execution failed in Temporal' }

/** How a run ends that could not close its row. */
const ENDS: Record<string, ClosedAs | undefined> = {
  TERMINATED,
  TIMED_OUT: FAILED,
  FAILED,
}

const PAGE = 500

/** Closes the rows of executions that ended since the given time. Any number of workers may run it at once. */
export async function sweep(deps: SweeperDeps, since: Date): Promise<void> {
  const query = `WorkflowType = '${workflowTypes.runExecution}' AND ExecutionStatus IN ('Terminated', 'TimedOut', 'Failed') AND CloseTime > '${since.toISOString()}'`
  let ids: string[] = []
  for await (const { workflowId } of deps.client.workflow.list({ query })) {
    ids.push(workflowId)
    if (ids.length < PAGE) continue
    await closeEnded(deps, ids)
    ids = []
  }
  await closeEnded(deps, ids)
}

/** Closes those of these executions that are live in Postgres, and whose latest run has ended: one that was reset runs on. */
async function closeEnded(deps: SweeperDeps, ids: string[]): Promise<void> {
  for (const id of await listLiveIds(deps.db, [...new Set(ids)])) {
    const { status } = await deps.client.workflow.getHandle(id).describe()
    const as = ENDS[status.name]
    if (as) await closeExecution(deps, id, as)
  }
}

/** Sweeps now and every thirty seconds; `stop` ends it. */
export function startSweeper(deps: SweeperDeps): { stop: () => Promise<void> } {
  let since = new Date(deps.now().getTime() - FIRST_LOOK_BACK_MS)
  let running = Promise.resolve()
  const run = async () => {
    const startedAt = deps.now()
    try {
      await sweep(deps, since)
      since = new Date(startedAt.getTime() - OVERLAP_MS)
    } catch (err) {
      deps.log.warn({ err }, 'a sweep of ended executions failed; the next one covers it')
    }
  }
  const next = () => {
    running = running.then(run)
  }
  next()
  const timer = setInterval(next, EVERY_MS)
  return {
    async stop() {
      clearInterval(timer)
      await running
    },
  }
}
