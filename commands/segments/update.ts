// Changes a segment of contacts: its name, or its condition, by which all its members are found anew.
import { countKeptBytes } from '../../db/segments/kept.ts'
import { findSegmentRow } from '../../db/segments/reads.ts'
import { lockSegments, updateSegmentRow } from '../../db/segments/writes.ts'
import type { Condition } from '../../rules/conditions/types.ts'
import { isId, type WorkspaceId } from '../../rules/ids.ts'
import type { Json } from '../../rules/json.ts'
import { limits } from '../../rules/limits.ts'
import { jsonEquals } from '../../rules/paths.ts'
import { isRefusal, type Refusal, refuse } from '../../rules/refusals.ts'
import { readersOf } from '../../rules/segments/links.ts'
import type { CommandDeps } from '../deps.ts'
import { transact } from '../transact.ts'
import { requireCondition } from './condition.ts'
import { fillAgain } from './keep.ts'
import { SEGMENTS_MET, tooMuchMet } from './metConditions.ts'

export interface UpdateSegmentInput {
  id: string
  /** Undefined leaves it as it is. */
  name?: string | undefined
  /** Any JSON: what is no condition of a segment is refused. Undefined leaves it as it is. */
  condition?: unknown
}

const TOO_LARGE = refuse('segment_condition_invalid', {
  problems: [tooMuchMet('condition', SEGMENTS_MET, limits.metConditionsBytesMax)],
})

/**
 * A changed condition moves members silently: nobody enters or leaves by it, those who are in segments that name this one neither.
 * It counts from the commit on, wherever the segment is named; a wait that looks at it does so at the contact's next change.
 */
export function updateSegment(
  deps: Pick<CommandDeps, 'db' | 'now' | 'wake'>,
  workspaceId: WorkspaceId,
  { id, name, condition }: UpdateSegmentInput,
): Promise<
  | undefined
  | Refusal<
      'segment_not_found' | 'segment_condition_invalid' | 'segment_cycle' | 'segment_too_wide'
    >
> {
  return transact(deps, async (inTrx) => {
    const { db: trx } = inTrx
    await lockSegments(trx, workspaceId)
    const stored = isId('segment', id) ? await findSegmentRow(trx, workspaceId, id) : undefined
    if (!stored) return refuse('segment_not_found', { id })
    const renamed = { id, name: name ?? stored.name, at: inTrx.now() }
    const before = stored.condition as Condition
    if (condition === undefined) {
      const same = { condition: before, namedIds: stored.named_ids }
      await updateSegmentRow(trx, workspaceId, { ...renamed, ...same })
      return undefined
    }
    const checked = await requireCondition(trx, workspaceId, id, condition)
    if (isRefusal(checked)) return checked
    const bytesBefore = await countKeptBytes(trx, workspaceId)
    await updateSegmentRow(trx, workspaceId, { ...renamed, ...checked })
    const bytes = await countKeptBytes(trx, workspaceId)
    if (bytes > bytesBefore && bytes > limits.metConditionsBytesMax) return TOO_LARGE
    if (jsonEquals(checked.condition as Json, before as Json)) return undefined
    await fillAgain(inTrx, workspaceId, [id, ...readersOf(checked.links, id)])
    return undefined
  })
}
