// Writes templates and their versions.
import type { WorkspaceId } from '../../rules/ids.ts'
import { isId } from '../../rules/ids.ts'
import type { Trx } from '../connect.ts'
import type { NewRow, Row } from '../schema.ts'
import { findTemplate, type TemplateContent, type TemplateRow } from './reads.ts'

/** The same under a row lock: nobody else changes it until the transaction ends. */
export async function lockTemplate(
  trx: Trx,
  workspaceId: WorkspaceId,
  idOrAlias: string,
): Promise<TemplateRow | undefined> {
  const locked = await trx
    .selectFrom('templates')
    .select('id')
    .where('workspace_id', '=', workspaceId)
    .where(isId('template', idOrAlias) ? 'id' : 'alias', '=', idOrAlias)
    .forUpdate()
    .executeTakeFirst()
  return locked && findTemplate(trx, workspaceId, locked.id)
}

/** A new template with its first version. */
export async function insertTemplate(
  trx: Trx,
  row: NewRow<'templates'>,
  content: TemplateContent,
): Promise<void> {
  await trx.insertInto('templates').values(row).execute()
  await insertTemplateVersion(trx, {
    ...content,
    template_id: row.id,
    version: row.current_version,
    workspace_id: row.workspace_id,
    created_at: row.created_at,
  })
}

export async function insertTemplateVersion(
  trx: Trx,
  row: NewRow<'template_versions'>,
): Promise<void> {
  await trx.insertInto('template_versions').values(row).execute()
}

export async function updateTemplate(
  trx: Trx,
  id: string,
  change: Partial<
    Pick<
      Row<'templates'>,
      'name' | 'alias' | 'current_version' | 'published_version' | 'updated_at'
    >
  >,
): Promise<void> {
  await trx.updateTable('templates').set(change).where('id', '=', id).execute()
}

/** Deletes a locked template and its versions. */
export async function deleteTemplate(trx: Trx, id: string): Promise<void> {
  await trx.deleteFrom('templates').where('id', '=', id).execute()
}
