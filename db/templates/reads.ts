// Reads templates.

import type { TemplateFacts } from '../../rules/design/context.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Db } from '../connect.ts'
import { newestFirst } from '../listOrder.ts'
import type { Row } from '../schema.ts'
import { byName, hasName, hasNameIn } from './named.ts'

/** Templates by the id or alias that the design names, published or not. */
export async function findTemplateFacts(
  db: Db,
  workspaceId: WorkspaceId,
  names: string[],
): Promise<Map<string, TemplateFacts>> {
  if (names.length === 0) return new Map()
  const rows = await db
    .selectFrom('templates as t')
    .leftJoin('template_versions as v', (join) =>
      join.onRef('v.template_id', '=', 't.id').onRef('v.version', '=', 't.published_version'),
    )
    .select(['t.id', 't.alias', 't.published_version', 'v.subject', 'v.from'])
    .where('t.workspace_id', '=', workspaceId)
    .where(hasNameIn(names))
    .execute()
  const toFacts = (row: (typeof rows)[number]): TemplateFacts => ({
    status: row.published_version === null ? 'draft' : 'published',
    hasSubject: Boolean(row.subject),
    from: row.from || null,
  })
  return new Map([...byName(rows, names)].map(([name, row]) => [name, toFacts(row)]))
}

/** The fields of a version. A change of one of them makes a new version. */
export const contentFields = [
  'subject',
  'from',
  'reply_to',
  'preview_text',
  'html',
  'text',
] as const

export type TemplateContent = Pick<Row<'template_versions'>, (typeof contentFields)[number]>

export type TemplateRow = Row<'templates'> & TemplateContent

export type TemplateListRow = Omit<TemplateRow, 'html' | 'text'>

const headColumns = [
  't.id',
  't.workspace_id',
  't.name',
  't.alias',
  't.current_version',
  't.published_version',
  't.created_at',
  't.updated_at',
  'v.subject',
  'v.from',
  'v.reply_to',
  'v.preview_text',
] as const

function withCurrentVersion(db: Db) {
  return db
    .selectFrom('templates as t')
    .innerJoin('template_versions as v', (join) =>
      join.onRef('v.template_id', '=', 't.id').onRef('v.version', '=', 't.current_version'),
    )
}

/** A page of templates with the current version's fields except html and text, newest first. */
export function listTemplates(
  db: Db,
  workspaceId: WorkspaceId,
  page: { after: string | null; limit: number },
): Promise<TemplateListRow[]> {
  return withCurrentVersion(db)
    .select(headColumns)
    .where('t.workspace_id', '=', workspaceId)
    .$if(page.after !== null, (qb) => qb.where('t.id', '<', page.after as string))
    .orderBy('t.id', newestFirst)
    .limit(page.limit)
    .execute()
}

/** A template by id or alias, with the content of its current version. */
export function findTemplate(
  db: Db,
  workspaceId: WorkspaceId,
  idOrAlias: string,
): Promise<TemplateRow | undefined> {
  return withCurrentVersion(db)
    .select([...headColumns, 'v.html', 'v.text'])
    .where('t.workspace_id', '=', workspaceId)
    .where(hasName(idOrAlias))
    .executeTakeFirst()
}
