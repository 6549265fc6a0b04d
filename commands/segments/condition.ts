// Checks the condition of a segment: that it is one, and that the segment does not name itself by way of others.
import type { Trx } from '../../db/connect.ts'
import { findKnown } from '../../db/known.ts'
import { listSegmentLinks } from '../../db/segments/reads.ts'
import { conditionNeeds } from '../../rules/conditions/needs.ts'
import type { Condition } from '../../rules/conditions/types.ts'
import { validateCondition } from '../../rules/conditions/validate.ts'
import { namedIn } from '../../rules/design/references.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { findJsonFault } from '../../rules/jsonFault.ts'
import { limits } from '../../rules/limits.ts'
import { type Refusal, refuse } from '../../rules/refusals.ts'
import { linkFault } from '../../rules/segments/links.ts'

export interface CheckedCondition {
  condition: Condition
  /** Segments that it names. */
  namedIds: string[]
  /** Of each segment of the workspace those that it names, this one included. */
  links: ReadonlyMap<string, readonly string[]>
}

/** The caller holds the lock of the workspace's segments. @param given any JSON */
export async function requireCondition(
  trx: Trx,
  workspaceId: WorkspaceId,
  id: string,
  given: unknown,
): Promise<
  CheckedCondition | Refusal<'segment_condition_invalid' | 'segment_cycle' | 'segment_too_wide'>
> {
  const fault = findJsonFault(given, limits.designBytesMax)
  if (fault) {
    const message = `condition ${fault.message}`
    const problem = { node_id: null, path: 'condition', message, code: 'bad_value' } as const
    return refuse('segment_condition_invalid', { problems: [problem] })
  }
  const texts = (found: unknown[]) => found.filter((one) => typeof one === 'string')
  const problems = validateCondition(given, 'condition', {
    nodeId: null,
    scope: 'segment',
    audiences: await findKnown(trx, workspaceId, 'audience', texts(namedIn(given, 'audience'))),
    segments: await findKnown(trx, workspaceId, 'segment', texts(namedIn(given, 'segment'))),
  })
  if (problems.length > 0) return refuse('segment_condition_invalid', { problems })
  const condition = given as Condition
  const { segmentIds: namedIds } = conditionNeeds(condition)
  const links = (await listSegmentLinks(trx, workspaceId)).set(id, namedIds)
  const wrong = linkFault(links, id)
  if (wrong?.kind === 'cycle') return refuse('segment_cycle', { by: wrong.by })
  if (wrong) return refuse('segment_too_wide', { most: limits.segmentsReadMax })
  return { condition, namedIds, links }
}
