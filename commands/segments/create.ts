// Makes a segment of contacts.
import { insertSegmentRow, lockSegments } from '../../db/segments/writes.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { isRefusal, type Refusal } from '../../rules/refusals.ts'
import type { CommandDeps } from '../deps.ts'
import { transact } from '../transact.ts'
import { requireCondition } from './condition.ts'

export interface CreateSegmentInput {
  name: string
  /** Any JSON: what is no condition of a segment is refused. */
  condition: unknown
}

/** @returns the new segment's id */
export function createSegment(
  deps: Pick<CommandDeps, 'db' | 'newId' | 'now' | 'wake'>,
  workspaceId: WorkspaceId,
  { name, condition }: CreateSegmentInput,
): Promise<string | Refusal<'segment_condition_invalid' | 'segment_cycle' | 'segment_too_wide'>> {
  return transact(deps, async ({ db: trx, newId, now }) => {
    const id = newId('segment')
    await lockSegments(trx, workspaceId)
    const checked = await requireCondition(trx, workspaceId, id, condition)
    if (isRefusal(checked)) return checked
    await insertSegmentRow(trx, workspaceId, { id, name, ...checked, at: now() })
    return id
  })
}
