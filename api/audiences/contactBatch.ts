// Takes the items of a batch of audience contacts: those that are right are written, the others are told of.
import type { z } from '@hono/zod-openapi'
import { upsertAudienceContacts } from '../../commands/audiences/upsertContacts.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { isRefusal } from '../../rules/refusals.ts'
import type { ApiDeps } from '../http/env.ts'
import { issueText } from '../http/issueText.ts'
import { orThrow, toApiError } from '../http/refusals.ts'
import { type AudienceContactBatchResult, NewAudienceContact } from './contactSchemas.ts'

type Result = z.infer<typeof AudienceContactBatchResult>

/** @param items as they came @throws ApiError 404 if there is no such audience */
export async function postContactBatch(
  deps: ApiDeps,
  workspaceId: WorkspaceId,
  audienceId: string,
  items: readonly unknown[],
): Promise<Result> {
  const errors: Result['errors'] = []
  type Code = Result['errors'][number]['code']
  const note = (index: number, message: string, code: Code = 'invalid_request') =>
    void errors.push({ index, message, code })
  const valid: { index: number; contact: z.infer<typeof NewAudienceContact> }[] = []
  for (const [index, item] of items.entries()) {
    const parsed = NewAudienceContact.safeParse(item)
    if (parsed.success) valid.push({ index, contact: parsed.data })
    else note(index, issueText(parsed.error, item, 'A contact'))
  }
  const contacts = valid.map(({ contact }) => contact)
  const input = { audienceId, contacts, isSingle: false }
  const results = orThrow(await upsertAudienceContacts(deps, workspaceId, input))
  const taken = results.flatMap((result, i) => {
    if (!isRefusal(result)) return { email: result.row.email, created: result.created }
    const code = result.code === 'opted_out' ? result.code : undefined
    note(valid[i]?.index ?? 0, toApiError(result).message, code)
    return []
  })
  return { contacts: taken, errors: errors.sort((a, b) => a.index - b.index) }
}
