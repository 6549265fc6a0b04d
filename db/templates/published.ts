// Reads the published versions of templates that a design names.
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Db } from '../connect.ts'

/** The published versions of templates, by the id or alias that the design names. */
export async function listPublishedTemplates(db: Db, workspaceId: WorkspaceId, names: string[]) {
  if (names.length === 0) return new Map<string, PublishedTemplate>()
  const rows = await db
    .selectFrom('templates as t')
    .innerJoin('template_versions as v', (join) =>
      join.onRef('v.template_id', '=', 't.id').onRef('v.version', '=', 't.published_version'),
    )
    .select([
      't.id',
      't.alias',
      'v.subject',
      'v.from',
      'v.reply_to',
      'v.preview_text',
      'v.html',
      'v.text',
    ])
    .where('t.workspace_id', '=', workspaceId)
    .where((eb) => eb.or([eb('t.id', 'in', names), eb('t.alias', 'in', names)]))
    .execute()
  const found = new Map<string, PublishedTemplate>()
  for (const row of rows) {
    if (row.alias !== null && names.includes(row.alias)) found.set(row.alias, row)
    if (names.includes(row.id)) found.set(row.id, row)
  }
  return found
}

export interface PublishedTemplate {
  id: string
  subject: string | null
  from: string | null
  reply_to: string | null
  preview_text: string | null
  html: string | null
  text: string | null
}
