// Bounds how many executions of one workspace are with Temporal and have not begun: the others wait in the outbox, where
// they stand before nobody. What has not begun costs Temporal and the workers most, and a workspace whose executions
// cannot begin would otherwise fill both.
import { LRUCache } from 'lru-cache'
import type { WorkspaceId } from '../rules/ids.ts'

interface Bounds {
  /** Executions of one workspace that this process has given to Temporal and that have not begun. */
  size: number
  /** After so long an execution counts no longer, in ms. */
  forget_ms: number
}

const usual: Bounds = { size: 64, forget_ms: 300_000 }

/** Workspaces that are kept in mind; one that is forgotten has all its room again. */
const WORKSPACES_MAX = 10_000

/** Tells which of some executions have not begun. */
type NotBegun = (workspaceId: WorkspaceId, executionIds: string[]) => Promise<string[]>

/** Makes the windows of one starter. */
export function createStartWindow(notBegun: NotBegun, bounds: Partial<Bounds> = {}) {
  const { size, forget_ms } = { ...usual, ...bounds }
  /** By workspace: when each execution was started, by its id. */
  const started = new LRUCache<WorkspaceId, Map<string, number>>({ max: WORKSPACES_MAX })

  return {
    /** How many executions of a workspace may be started now. */
    async room(workspaceId: WorkspaceId): Promise<number> {
      const times = started.get(workspaceId)
      if (!times || times.size < size) return size - (times?.size ?? 0)
      const open = new Set(await notBegun(workspaceId, [...times.keys()]))
      const since = performance.now() - forget_ms
      for (const [id, at] of times) if (!open.has(id) || at < since) times.delete(id)
      return size - times.size
    },
    /** Counts an execution that was started. */
    add(workspaceId: WorkspaceId, executionId: string): void {
      const times = started.get(workspaceId) ?? new Map()
      times.set(executionId, performance.now())
      started.set(workspaceId, times)
    },
  }
}
