// Finds the template of an email.

import type { Db } from '../../db/connect.ts'
import { findPublishedTemplate, type PublishedTemplate } from '../../db/templates/published.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { MEBIBYTE } from '../../rules/limits.ts'
import { isRefusal, type Refusal, refuse } from '../../rules/refusals.ts'

/** Bytes of the templates that one batch holds before a further one is refused. */
const BATCH_TEMPLATE_BYTES_MAX = 16 * MEBIBYTE

/** `hasSubject`: the request has a subject; otherwise the template must have one. */
interface AskedTemplate {
  idOrAlias: string
  hasSubject: boolean
}

type Found =
  | PublishedTemplate
  | Refusal<'email_template_not_found' | 'template_not_published' | 'batch_templates_too_large'>

/** Finds the templates of emails of one workspace. */
export type FindEmailTemplate = (
  asked: AskedTemplate,
) => Promise<Found | Refusal<'subject_missing'>>

/** Finds the template of an email that comes alone. */
export const emailTemplates =
  (db: Db, workspaceId: WorkspaceId): FindEmailTemplate =>
  async (asked) =>
    fitting(await find(db, workspaceId, asked.idOrAlias), asked)

/**
 * Finds the templates of the emails of one batch: each once, since an email in a batch may name one of 2 MiB in a hundred bytes.
 * To be asked for one after the other.
 */
export function batchTemplates(db: Db, workspaceId: WorkspaceId): FindEmailTemplate {
  const known = new Map<string, Found>()
  let bytes = 0
  const findNext = async (idOrAlias: string) => {
    if (bytes > BATCH_TEMPLATE_BYTES_MAX)
      return refuse('batch_templates_too_large', { most_bytes: BATCH_TEMPLATE_BYTES_MAX })
    const found = await find(db, workspaceId, idOrAlias)
    if (!isRefusal(found)) bytes += bytesOf(found)
    known.set(idOrAlias, found)
    return found
  }
  return async (asked) =>
    fitting(known.get(asked.idOrAlias) ?? (await findNext(asked.idOrAlias)), asked)
}

async function find(db: Db, workspaceId: WorkspaceId, idOrAlias: string): Promise<Found> {
  const found = await findPublishedTemplate(db, workspaceId, idOrAlias)
  if (found === undefined) return refuse('email_template_not_found', { idOrAlias })
  return found ?? refuse('template_not_published', { idOrAlias })
}

const fitting = (found: Found, { hasSubject }: AskedTemplate) =>
  isRefusal(found) || hasSubject || found.subject ? found : refuse('subject_missing', {})

const bytesOf = ({ html, text }: PublishedTemplate): number =>
  Buffer.byteLength(html ?? '') + Buffer.byteLength(text ?? '')
