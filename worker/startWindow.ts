// Bounds how many executions of one workspace are with Temporal and have not begun, and shares that between its workflows:
// the others wait in the outbox, where they stand before nobody. An execution has begun when its first segment is
// committed, or when it has ended. Those that have not cost Temporal and the workers most, and a workspace whose
// executions cannot begin would otherwise fill both.
import { LRUCache } from 'lru-cache'
import type { WorkspaceId } from '../rules/ids.ts'

export interface StartBound {
  /** How many executions of one workspace this process may have started that have not begun. A workflow alone gets half. */
  size: number
  /** Only those that were started within this time count, in ms. */
  within_ms: number
}

/**
 * The first is for what Temporal is busy with: 24 are less than a worker runs local activities at once (`LOCAL_ACTIVITIES_MAX` in
 * `createWorker.ts`). With more of them it may take over a second to record that a workflow task was started, and the task is then lost until
 * its ten seconds are over (temporalio/temporal#11733). An execution that has not begun after three seconds waits for something else (its
 * contact is held, its mail is rendered slowly), so that it must not stand before others that could begin.
 *
 * The second is for what cannot begin at all: 64 of a workflow. After a minute they count no longer.
 */
const USUAL: readonly StartBound[] = [
  { size: 48, within_ms: 3_000 },
  { size: 128, within_ms: 60_000 },
]

interface Started {
  workflowId: string
  /** In ms of a clock that only goes forward. */
  at: number
}

/** Workspaces that are kept in mind; one that is forgotten may start a whole window again. */
const WORKSPACES_MAX = 10_000

/** Tells which of some executions have not begun. */
type NotBegun = (workspaceId: WorkspaceId, executionIds: string[]) => Promise<string[]>

export type StartWindow = ReturnType<typeof createStartWindow>

/** Forgets those that were started before, which are the first. */
function forgetBefore(since: number, ahead: Map<string, Started>): void {
  for (const [id, { at }] of ahead) {
    if (at >= since) break
    ahead.delete(id)
  }
}

/** A workflow may start one more while it has fewer ahead than are free: alone it gets half, two get a third each. */
function freeIn(
  { size, within_ms }: StartBound,
  workflowId: string,
  ahead: readonly Started[],
): number {
  const since = performance.now() - within_ms
  const counted = ahead.filter(({ at }) => at >= since)
  const own = counted.filter((one) => one.workflowId === workflowId)
  return Math.max(0, Math.ceil((size - counted.length - own.length) / 2))
}

/** Makes the windows of one starter. */
export function createStartWindow(notBegun: NotBegun, bounds: readonly StartBound[] = USUAL) {
  const forget_ms = Math.max(...bounds.map(({ within_ms }) => within_ms))
  /** By workspace: the executions that were started, by their ids. */
  const started = new LRUCache<WorkspaceId, Map<string, Started>>({ max: WORKSPACES_MAX })

  const forget = (ahead: Map<string, Started>) => forgetBefore(performance.now() - forget_ms, ahead)

  const freeFor = (workflowId: string, ahead: Map<string, Started> | undefined): number => {
    const all = [...(ahead?.values() ?? [])]
    return Math.min(...bounds.map((bound) => freeIn(bound, workflowId, all)))
  }

  return {
    /**
     * Begins a round over the workflows. @returns a function that tells how many executions of one may be started now; it
     * asks which have begun only when there is no place, and once for each workspace
     */
    round() {
      const asked = new Set<WorkspaceId>()
      return async (workspaceId: WorkspaceId, workflowId: string): Promise<number> => {
        const ahead = started.get(workspaceId)
        const free = freeFor(workflowId, ahead)
        if (!ahead || free > 0 || asked.has(workspaceId)) return free
        asked.add(workspaceId)
        forget(ahead)
        // Others may be started meanwhile, of which nothing was asked.
        const ids = [...ahead.keys()]
        const open = new Set(await notBegun(workspaceId, ids))
        for (const id of ids) if (!open.has(id)) ahead.delete(id)
        return freeFor(workflowId, ahead)
      }
    },
    /** How many started executions of a workspace are remembered. */
    size: (workspaceId: WorkspaceId): number => started.get(workspaceId)?.size ?? 0,
    /** Counts an execution that was started. */
    add(workspaceId: WorkspaceId, workflowId: string, executionId: string): void {
      const ahead = started.get(workspaceId) ?? new Map<string, Started>()
      forget(ahead)
      // Deleted first, so that the map is in the order of time.
      ahead.delete(executionId)
      ahead.set(executionId, { workflowId, at: performance.now() })
      started.set(workspaceId, ahead)
    },
  }
}
