// Reads the published versions of templates, which emails are made from.
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Db } from '../connect.ts'
import { byName, hasName, hasNameIn } from './named.ts'
import type { TemplateContent } from './reads.ts'

/** A template with the content of its published version. */
export type PublishedTemplate = TemplateContent & { id: string }

const contentColumns = [
  'v.subject',
  'v.from',
  'v.reply_to',
  'v.preview_text',
  'v.html',
  'v.text',
] as const

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
    .select(['t.id', 't.alias', ...contentColumns])
    .where('t.workspace_id', '=', workspaceId)
    .where(hasNameIn(names))
    .execute()
  return byName(rows, names)
}

/**
 * The published version of a template (id or alias); null if the template was never published; undefined if the
 * workspace has no template of that name.
 */
export async function findPublishedTemplate(
  db: Db,
  workspaceId: WorkspaceId,
  idOrAlias: string,
): Promise<PublishedTemplate | null | undefined> {
  const row = await db
    .selectFrom('templates as t')
    .leftJoin('template_versions as v', (join) =>
      join.onRef('v.template_id', '=', 't.id').onRef('v.version', '=', 't.published_version'),
    )
    .select(['t.id', 'v.version', ...contentColumns])
    .where('t.workspace_id', '=', workspaceId)
    .where(hasName(idOrAlias))
    .executeTakeFirst()
  if (!row) return undefined
  const { version, ...published } = row
  return version === null ? null : published
}
