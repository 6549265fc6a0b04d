// Which segments have their members kept: those that active workflows begin at. It changes with workflows, conditions and audiences.
import { countKeptBytes } from '../../db/segments/kept.ts'
import { findSegmentConditions } from '../../db/segments/reads.ts'
import { listKeeping, listKeptReading, lockSegments, startFill } from '../../db/segments/writes.ts'
import { conditionNeeds } from '../../rules/conditions/needs.ts'
import { happenings } from '../../rules/eventNames.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { CommandDeps } from '../deps.ts'
import type { InTrx } from '../transact.ts'

type Deps = InTrx<Pick<CommandDeps, 'db' | 'now'>>

/** By which triggers begin at segments. */
export const segmentTriggers: readonly string[] = [
  happenings.segmentEntered,
  happenings.segmentLeft,
]

/**
 * Begins to keep the members of those segments that a trigger begins at now, and forgets them of those that none does.
 * @returns false: there are more of them now, with more than `bytesMax` of conditions; the caller refuses it
 */
export async function keepSegments(
  deps: Deps,
  workspaceId: WorkspaceId,
  ids: readonly string[],
  bytesMax: number,
): Promise<boolean> {
  if (ids.length === 0) return true
  await lockSegments(deps.db, workspaceId)
  let isMore = false
  for (const { id, kept, wanted } of await listKeeping(
    deps.db,
    workspaceId,
    ids,
    segmentTriggers,
  )) {
    if (kept === wanted) continue
    await fill(deps, workspaceId, id, wanted)
    isMore ||= wanted
  }
  return !isMore || (await countKeptBytes(deps.db, workspaceId)) <= bytesMax
}

/** Finds the members of those anew that are kept. The caller holds the lock of the workspace's segments. */
export async function fillAgain(
  deps: Deps,
  workspaceId: WorkspaceId,
  ids: readonly string[],
): Promise<void> {
  for (const { id, kept } of await listKeeping(deps.db, workspaceId, ids, segmentTriggers)) {
    if (kept) await fill(deps, workspaceId, id, true)
  }
}

/** Finds the members of segments anew that read an audience which is no more. */
export async function fillReadersOf(
  deps: Deps,
  workspaceId: WorkspaceId,
  audienceId: string,
): Promise<void> {
  // First: a segment may come to read it at this moment.
  await lockSegments(deps.db, workspaceId)
  const ids = await listKeptReading(deps.db, workspaceId, audienceId)
  await fillAgain(deps, workspaceId, ids)
}

async function fill(
  { db: trx, now }: Deps,
  workspaceId: WorkspaceId,
  id: string,
  kept: boolean,
): Promise<void> {
  const conditions = await findSegmentConditions(trx, workspaceId, [id])
  const reads = conditionNeeds(...Object.values(conditions))
  await startFill(trx, workspaceId, id, { kept, reads }, now())
}
