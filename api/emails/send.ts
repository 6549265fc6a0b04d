// Reads the body of POST /v1/emails and has the email accepted, in the contract's order of checks: what the body itself
// shows, its template, what the contract leaves open of the body, then who sends it and what it renders to.
import { acceptEmail } from '../../commands/emails/accept.ts'
import { findEmailTemplate } from '../../commands/emails/template.ts'
import type { ApiDeps } from '../http/env.ts'
import type { RequestKey } from '../http/keyCache.ts'
import { orThrow } from '../http/refusals.ts'
import { readBody } from './parseBody.ts'
import { readDetails } from './parseDetails.ts'

/**
 * For the workspace of the key; when it returns, the email is committed.
 * @param given the parsed JSON
 * @throws ApiError
 */
export async function sendEmail(
  deps: Pick<ApiDeps, 'db' | 'newId' | 'now' | 'wake' | 'config'>,
  key: Pick<RequestKey, 'workspace_id' | 'domain_id'>,
  given: unknown,
): Promise<{ id: string; status: 'queued' }> {
  const { workspace_id: workspaceId, domain_id: onlyDomainId } = key
  const body = readBody(given)
  const { templateId: idOrAlias, subject } = body
  const asked = idOrAlias === undefined ? null : { idOrAlias, hasSubject: subject !== undefined }
  const template = asked && orThrow(await findEmailTemplate(deps, workspaceId, asked))
  const input = { ...body, ...readDetails(body), template, onlyDomainId }
  const { id } = orThrow(await acceptEmail(deps, workspaceId, input))
  return { id, status: 'queued' }
}
