// Takes the items of a batch of events: those that are right are recorded, the others are told of.
import type { z } from '@hono/zod-openapi'
import { postAutomationEvents } from '../../commands/events/postMany.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { isRefusal } from '../../rules/refusals.ts'
import { type ItemError, itemError } from '../http/batchErrors.ts'
import type { ApiDeps } from '../http/env.ts'
import { badRequest } from '../http/errors.ts'
import { issueText } from '../http/issueText.ts'
import { toApiError } from '../http/refusals.ts'
import {
  type AutomationEventBatchResult,
  NewAutomationEvent,
  toAcceptedAutomationEvent,
} from './schemas.ts'

/** @param items as they came */
export async function postBatch(
  deps: Pick<ApiDeps, 'db' | 'newId' | 'now' | 'wake' | 'addressMac'>,
  workspaceId: WorkspaceId,
  items: readonly unknown[],
): Promise<z.infer<typeof AutomationEventBatchResult>> {
  const errors: ItemError[] = []
  const valid: { index: number; input: NewAutomationEvent }[] = []
  for (const [index, item] of items.entries()) {
    const parsed = NewAutomationEvent.safeParse(item)
    if (parsed.success) valid.push({ index, input: parsed.data })
    else errors.push(itemError(index, badRequest(issueText(parsed.error, item, 'An event'))))
  }
  const inputs = valid.map(({ input }) => input)
  const results = await postAutomationEvents(deps, workspaceId, inputs)
  const events = results.flatMap((result, i) => {
    if (!isRefusal(result)) return toAcceptedAutomationEvent(workspaceId, result)
    errors.push(itemError(valid[i]?.index ?? 0, toApiError(result)))
    return []
  })
  return { events, errors: errors.sort((a, b) => a.index - b.index) }
}
