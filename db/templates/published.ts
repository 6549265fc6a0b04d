// Reads the published versions of templates that a design names.
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Db } from '../connect.ts'
import { byName, hasNameIn } from './named.ts'

/** The published versions of templates, by the id or alias that the design names. */
export async function listPublishedTemplates(
  db: Db,
  workspaceId: WorkspaceId,
  names: string[],
): Promise<Map<string, PublishedTemplate>> {
  if (names.length === 0) return new Map()
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
    .where(hasNameIn(names))
    .execute()
  return byName<PublishedTemplate & { alias: string | null }>(rows, names)
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
