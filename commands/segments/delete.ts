// Deletes a segment of contacts that nothing names.
import { findSegmentRow, listSegmentLinks } from '../../db/segments/reads.ts'
import { deleteSegmentRow, lockSegments } from '../../db/segments/writes.ts'
import { listUsedDesignsHolding } from '../../db/workflows/usedDesigns.ts'
import { designReferences } from '../../rules/design/references.ts'
import { isId, type WorkspaceId } from '../../rules/ids.ts'
import { type Refusal, refuse } from '../../rules/refusals.ts'
import type { CommandDeps } from '../deps.ts'
import { transact } from '../transact.ts'

/**
 * Refuses `segment_in_use` while another segment names it, the active version of a workflow that is not archived does, or that of an
 * execution which still runs. Who becomes active with it at the same moment, or names it in a draft, finds nobody in it.
 */
export function deleteSegment(
  deps: Pick<CommandDeps, 'db' | 'now' | 'wake'>,
  workspaceId: WorkspaceId,
  { id }: { id: string },
): Promise<undefined | Refusal<'segment_not_found' | 'segment_in_use'>> {
  return transact(deps, async ({ db: trx }) => {
    await lockSegments(trx, workspaceId)
    const stored = isId('segment', id) ? await findSegmentRow(trx, workspaceId, id) : undefined
    if (!stored) return refuse('segment_not_found', { id })
    for (const [other, named] of await listSegmentLinks(trx, workspaceId)) {
      if (named.includes(id)) return refuse('segment_in_use', { by: 'segment', id: other })
    }
    const designs = await listUsedDesignsHolding(trx, workspaceId, [id])
    const user = designs.find(({ design }) => designReferences(design).segmentIds.includes(id))
    if (user) return refuse('segment_in_use', { by: 'workflow', id: user.id })
    await deleteSegmentRow(trx, workspaceId, id)
    return undefined
  })
}
