// Finds the template of an email.

import type { Db } from '../../db/connect.ts'
import { findPublishedTemplate, type PublishedTemplate } from '../../db/templates/published.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { type Refusal, refuse } from '../../rules/refusals.ts'

/** @param input `hasSubject`: the request has a subject; otherwise the template must have one */
export async function findEmailTemplate(
  { db }: { db: Db },
  workspaceId: WorkspaceId,
  { idOrAlias, hasSubject }: { idOrAlias: string; hasSubject: boolean },
): Promise<
  | PublishedTemplate
  | Refusal<'email_template_not_found' | 'template_not_published' | 'subject_missing'>
> {
  const found = await findPublishedTemplate(db, workspaceId, idOrAlias)
  if (found === undefined) return refuse('email_template_not_found', { idOrAlias })
  if (found === null) return refuse('template_not_published', { idOrAlias })
  if (!hasSubject && !found.subject) return refuse('subject_missing', {})
  return found
}
