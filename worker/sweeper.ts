// The sweeper: closes the rows of executions that ended in Temporal only: terminated in the Web UI, or timed out.
import { type Client, WorkflowNotFoundError } from '@temporalio/client'
import { type ClosedAs, closeExecution } from '../commands/executions/close.ts'
import type { Db } from '../db/connect.ts'
import { listLiveIds } from '../db/executions/reads.ts'
import type { Wake } from '../db/wake.ts'
import { workflowTypes } from '../rules/wire.ts'
import type { Log } from '../runtime/log.ts'

export interface SweeperDeps {
  db: Db
  client: Client
  log: Log
  now: () => Date
  wake: Wake
}

const TERMINATED: ClosedAs = { status: 'CANCELLED', code: 'terminated' }
const FAILED: ClosedAs = { status: 'FAILED', error: 'the execution failed in Temporal' }

/** How the row of a run is closed that has ended, and that did not close it, by the names that the client gives to its states. */
const ENDS: Record<string, ClosedAs | undefined> = {
  TERMINATED,
  TIMED_OUT: FAILED,
  FAILED,
  // These close their row before they end. It is live again where Postgres was restored to an earlier moment.
  COMPLETED: { status: 'COMPLETED' },
  CANCELLED: { status: 'CANCELLED', code: 'cancelled' },
}

/** undefined: the run has not ended, or has continued as new. */
export const endOfRun = (status: string): ClosedAs | undefined => ENDS[status]

const PAGE = 500

/**
 * Closes the rows of executions that ended since the given time. Any number of workers may run it at once.
 * @throws Error if a row could not be closed; all others were looked at then
 */
export async function sweep(deps: SweeperDeps, since: Date): Promise<void> {
  const query = `WorkflowType = '${workflowTypes.runExecution}' AND ExecutionStatus IN ('Terminated', 'TimedOut', 'Failed') AND CloseTime > '${since.toISOString()}'`
  let failed = 0
  /** Of each execution the status of the run that is listed first, its latest. */
  let listed = new Map<string, string>()
  for await (const { workflowId, status } of deps.client.workflow.list({ query })) {
    if (!listed.has(workflowId)) listed.set(workflowId, status.name)
    if (listed.size < PAGE) continue
    failed += await closeEnded(deps, listed)
    listed = new Map()
  }
  failed += await closeEnded(deps, listed)
  if (failed > 0) throw new Error(`the rows of ${failed} ended executions could not be closed`)
}

/** Closes those of these executions that are live in Postgres. @returns how many of them failed */
async function closeEnded(deps: SweeperDeps, listed: Map<string, string>): Promise<number> {
  let failed = 0
  for (const id of await listLiveIds(deps.db, [...listed.keys()])) {
    try {
      const as = ENDS[await statusOf(deps.client, id, listed.get(id) ?? '')]
      if (as) await closeExecution(deps, id, as)
    } catch (err) {
      failed += 1
      deps.log.warn({ err, execution_id: id }, 'the row of an ended execution could not be closed')
    }
  }
  return failed
}

/** The status of the latest run, since one that was reset runs on; as it is listed, if Temporal has deleted the run. */
async function statusOf(client: Client, id: string, listed: string): Promise<string> {
  try {
    const { status } = await client.workflow.getHandle(id).describe()
    return status.name
  } catch (err) {
    if (err instanceof WorkflowNotFoundError) return listed
    throw err
  }
}
