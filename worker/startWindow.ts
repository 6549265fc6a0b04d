// Bounds how many executions of one workspace are with Temporal and have not begun, and shares that between its workflows:
// the others wait in the outbox, where they stand before nobody. An execution has begun when its first segment is
// committed, or when it has ended. Those that have not cost Temporal and the workers most, and a workspace whose
// executions cannot begin would otherwise fill both.
import { LRUCache } from 'lru-cache'
import type { WorkspaceId } from '../rules/ids.ts'

interface Bounds {
  /** Executions of one workspace that this process has started and that have not begun. */
  size: number
  /** After so long an execution counts no longer, in ms. */
  forget_ms: number
}

/**
 * A workflow alone gets half: 24, which is less than a worker runs local activities at once (`LOCAL_ACTIVITIES_MAX` in `createWorker.ts`).
 * With more of them Temporal is busier: where it takes over a second to record that a workflow task was started, the task is lost until
 * its ten seconds are over (temporalio/temporal#11733).
 */
const usual: Bounds = { size: 48, forget_ms: 60_000 }

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

/** Makes the windows of one starter. */
export function createStartWindow(notBegun: NotBegun, bounds: Partial<Bounds> = {}) {
  const { size, forget_ms } = { ...usual, ...bounds }
  /** By workspace: the executions that were started, by their ids. */
  const started = new LRUCache<WorkspaceId, Map<string, Started>>({ max: WORKSPACES_MAX })

  /** A workflow may start one more while it has fewer ahead than are free: alone it gets half, two get a third each. */
  const freeFor = (workflowId: string, ahead: Map<string, Started> | undefined): number => {
    if (!ahead) return Math.ceil(size / 2)
    let own = 0
    for (const one of ahead.values()) if (one.workflowId === workflowId) own += 1
    return Math.max(0, Math.ceil((size - ahead.size - own) / 2))
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
        const open = new Set(await notBegun(workspaceId, [...ahead.keys()]))
        const since = performance.now() - forget_ms
        for (const [id, { at }] of ahead) if (!open.has(id) || at < since) ahead.delete(id)
        return freeFor(workflowId, ahead)
      }
    },
    /** Counts an execution that was started. */
    add(workspaceId: WorkspaceId, workflowId: string, executionId: string): void {
      const ahead = started.get(workspaceId) ?? new Map<string, Started>()
      ahead.set(executionId, { workflowId, at: performance.now() })
      started.set(workspaceId, ahead)
    },
  }
}
