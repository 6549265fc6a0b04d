// What a design refers to outside itself, so that it can be validated: templates, domains, audiences.
import type { TemplateFacts } from '../domain/designContext.ts'
import type { Db } from './connect.ts'

/** Templates by the id or alias that the design names, published or not. */
export async function findTemplateFacts(
  db: Db,
  workspaceId: string,
  names: string[],
): Promise<Map<string, TemplateFacts>> {
  const found = new Map<string, TemplateFacts>()
  if (names.length === 0) return found
  const rows = await db
    .selectFrom('templates as t')
    .leftJoin('template_versions as v', (join) =>
      join.onRef('v.template_id', '=', 't.id').onRef('v.version', '=', 't.published_version'),
    )
    .select(['t.id', 't.alias', 't.published_version', 'v.subject', 'v.from'])
    .where('t.workspace_id', '=', workspaceId)
    .where((eb) => eb.or([eb('t.id', 'in', names), eb('t.alias', 'in', names)]))
    .execute()
  for (const row of rows) {
    const facts: TemplateFacts = {
      status: row.published_version === null ? 'draft' : 'published',
      hasSubject: Boolean(row.subject),
      from: row.from || null,
    }
    if (row.alias !== null && names.includes(row.alias)) found.set(row.alias, facts)
    if (names.includes(row.id)) found.set(row.id, facts)
  }
  return found
}

/** Those of the ids that are audiences of the workspace. */
export async function findAudienceIds(
  db: Db,
  workspaceId: string,
  ids: string[],
): Promise<Set<string>> {
  if (ids.length === 0) return new Set()
  const rows = await db
    .selectFrom('audiences')
    .select('id')
    .where('workspace_id', '=', workspaceId)
    .where('id', 'in', ids)
    .execute()
  return new Set(rows.map((row) => row.id))
}
