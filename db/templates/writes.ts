// Writes templates and their versions.
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Trx } from '../connect.ts'
import type { NewRow, Row } from '../schema.ts'
import { hasName, hasNameIn } from './named.ts'
import { findTemplate, type TemplateContent, type TemplateRow } from './reads.ts'

/** Locks a template by id or alias until the transaction ends. */
export async function lockTemplate(
  trx: Trx,
  workspaceId: WorkspaceId,
  idOrAlias: string,
): Promise<TemplateRow | undefined> {
  const locked = await trx
    .selectFrom('templates as t')
    .select('t.id')
    .where('t.workspace_id', '=', workspaceId)
    .where(hasName(idOrAlias))
    .forUpdate()
    .executeTakeFirst()
  return locked && findTemplate(trx, workspaceId, locked.id)
}

/**
 * Keeps templates from being changed and deleted until the transaction ends, for an activation that sends them. Many may keep
 * the same ones at once; locked in the order of ids.
 * @param names ids or aliases
 */
export async function lockTemplatesShared(
  trx: Trx,
  workspaceId: WorkspaceId,
  names: readonly string[],
): Promise<void> {
  if (names.length === 0) return
  await trx
    .selectFrom('templates as t')
    .select('t.id')
    .where('t.workspace_id', '=', workspaceId)
    .where(hasNameIn(names))
    .orderBy('t.id')
    .forKeyShare()
    .execute()
}

/** Writes a new template with its first version. */
export async function insertTemplate(
  trx: Trx,
  workspaceId: WorkspaceId,
  row: Omit<NewRow<'templates'>, 'workspace_id'>,
  content: TemplateContent,
): Promise<void> {
  await trx
    .insertInto('templates')
    .values({ ...row, workspace_id: workspaceId })
    .execute()
  await insertTemplateVersion(trx, workspaceId, {
    ...content,
    template_id: row.id,
    version: row.current_version,
    created_at: row.created_at,
  })
}

/** Writes a version of a template; versions are never changed. */
export async function insertTemplateVersion(
  trx: Trx,
  workspaceId: WorkspaceId,
  row: Omit<NewRow<'template_versions'>, 'workspace_id'>,
): Promise<void> {
  await trx
    .insertInto('template_versions')
    .values({ ...row, workspace_id: workspaceId })
    .execute()
}

/** Changes columns of a locked template. */
export async function updateTemplate(
  trx: Trx,
  workspaceId: WorkspaceId,
  id: string,
  change: Partial<
    Pick<
      Row<'templates'>,
      'name' | 'alias' | 'current_version' | 'published_version' | 'updated_at'
    >
  >,
): Promise<void> {
  await trx
    .updateTable('templates')
    .set(change)
    .where('workspace_id', '=', workspaceId)
    .where('id', '=', id)
    .execute()
}

/** Deletes a locked template and its versions. */
export async function deleteTemplate(
  trx: Trx,
  workspaceId: WorkspaceId,
  id: string,
): Promise<void> {
  await trx
    .deleteFrom('templates')
    .where('workspace_id', '=', workspaceId)
    .where('id', '=', id)
    .execute()
}
