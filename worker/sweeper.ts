// The sweeper: closes the rows of executions that ended in Temporal only: terminated in the Web UI, or timed out.
import type { Client } from '@temporalio/client'
import { type ClosedAs, closeExecution } from '../commands/executions/close.ts'
import type { Db } from '../db/connect.ts'
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

/** Closes the rows of executions that ended since the given time. Any number of workers may run it at once. */
export async function sweep(deps: SweeperDeps, since: Date): Promise<void> {
  const query = `WorkflowType = '${workflowTypes.runExecution}' AND ExecutionStatus IN ('Terminated', 'TimedOut', 'Failed') AND CloseTime > '${since.toISOString()}'`
  for await (const { workflowId, status } of deps.client.workflow.list({ query })) {
    const isTerminated = status.name === 'TERMINATED'
    await closeExecution(deps, workflowId, isTerminated ? TERMINATED : FAILED)
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
