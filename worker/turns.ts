// Whose turn a task of Temporal is: of those that wait in one queue, workspaces take turns.
import type { Priority } from '@temporalio/common'

/**
 * For the start of a workflow function: its tasks, and those of its activities, wait with the others of its workspace. A server on which
 * `matching.enableFairness` is not set passes over it.
 * @param workspaceId 64 bytes at most
 */
export const turnOf = (workspaceId: string): { priority: Priority } => ({
  priority: { fairnessKey: workspaceId },
})
