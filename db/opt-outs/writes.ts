// Writes what people have left. Rows of a workflow are written under the contact's lock, rows of an audience under the
// audience's.
import { sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Trx } from '../connect.ts'
import type { Row } from '../schema.ts'

export type OptOutSource = Row<'opt_outs'>['source']
export type NewOptOut = Omit<Row<'opt_outs'>, 'workspace_id'>

/** What was left, and whose address. */
export interface Left {
  scope: 'workflow' | 'audience'
  targetId: string
  hmac: Buffer
}

/**
 * Writes opt-outs in one statement. One that is known stays as it is, but an act of the person takes the place of a call
 * of the API, which a call could take back, and a certain one that of one that may be undone.
 * @returns the ids of the new ones
 */
export async function insertOptOuts(
  trx: Trx,
  workspaceId: WorkspaceId,
  rows: readonly NewOptOut[],
): Promise<Set<string>> {
  if (rows.length === 0) return new Set()
  const given = rows.map((row) => ({ ...row, address_hmac: row.address_hmac.toString('hex') }))
  const { rows: written } = await sql<{ id: string }>`
    insert into opt_outs as o (id, workspace_id, scope, target_id, address_hmac, source,
      unconfirmed_email_id, created_at)
    select distinct on (scope, target_id, address_hmac) id, ${workspaceId}, scope, target_id,
      decode(address_hmac, 'hex'), source, unconfirmed_email_id, created_at
    from jsonb_to_recordset(${JSON.stringify(given)}::jsonb) as g (id text, scope text, target_id text,
      address_hmac text, source text, unconfirmed_email_id text, created_at timestamptz)
    order by scope, target_id, address_hmac, unconfirmed_email_id nulls first, id
    on conflict (workspace_id, address_hmac, scope, target_id) do update set
      source = case when excluded.source = 'api' then o.source else excluded.source end,
      unconfirmed_email_id = case when excluded.unconfirmed_email_id is not null then o.unconfirmed_email_id end
    where (o.source = 'api' and excluded.source <> 'api')
      or (o.unconfirmed_email_id is not null and excluded.unconfirmed_email_id is null)
    returning o.id
  `.execute(trx)
  const ids = new Set(rows.map(({ id }) => id))
  return new Set(written.map(({ id }) => id).filter((id) => ids.has(id)))
}

/** Makes the unconfirmed opt-out of a workflow certain. @returns false if there is none that is unconfirmed */
export async function confirmOptOut(
  trx: Trx,
  workspaceId: WorkspaceId,
  { targetId, hmac }: Left,
  source: OptOutSource,
): Promise<boolean> {
  const result = await trx
    .updateTable('opt_outs')
    .set({ unconfirmed_email_id: null, source })
    .where('workspace_id', '=', workspaceId)
    .where('address_hmac', '=', hmac)
    .where('scope', '=', 'workflow')
    .where('target_id', '=', targetId)
    .where('unconfirmed_email_id', 'is not', null)
    .executeTakeFirst()
  return result.numUpdatedRows > 0n
}

/** Leaves it to the GET of another email's link whether an unconfirmed opt-out is undone, as if that had made it. */
export async function passToGet(
  trx: Trx,
  workspaceId: WorkspaceId,
  id: string,
  { emailId, at }: { emailId: string; at: Date },
): Promise<void> {
  await trx
    .updateTable('opt_outs')
    .set({ unconfirmed_email_id: emailId, created_at: at })
    .where('workspace_id', '=', workspaceId)
    .where('id', '=', id)
    .where('unconfirmed_email_id', 'is not', null)
    .execute()
}

/** Deletes the opt-out that a GET made, unless it was confirmed. @returns false if it was */
export async function deleteUnconfirmed(
  trx: Trx,
  workspaceId: WorkspaceId,
  id: string,
): Promise<boolean> {
  const result = await trx
    .deleteFrom('opt_outs')
    .where('workspace_id', '=', workspaceId)
    .where('id', '=', id)
    .where('unconfirmed_email_id', 'is not', null)
    .executeTakeFirst()
  return result.numDeletedRows > 0n
}

/** Deletes an opt-out, confirmed or not. @returns when it was made; undefined if there is none */
export async function deleteOptOut(
  trx: Trx,
  workspaceId: WorkspaceId,
  { scope, targetId, hmac }: Left,
): Promise<Date | undefined> {
  const row = await trx
    .deleteFrom('opt_outs')
    .where('workspace_id', '=', workspaceId)
    .where('address_hmac', '=', hmac)
    .where('scope', '=', scope)
    .where('target_id', '=', targetId)
    .returning('created_at')
    .executeTakeFirst()
  return row?.created_at
}

/** Deletes those opt-outs of an audience that calls of the API made. What people did themselves stays. */
export async function deleteOptOutsByApi(
  trx: Trx,
  workspaceId: WorkspaceId,
  audienceId: string,
  hmacs: readonly Buffer[],
): Promise<void> {
  if (hmacs.length === 0) return
  await trx
    .deleteFrom('opt_outs')
    .where('workspace_id', '=', workspaceId)
    .where('address_hmac', 'in', hmacs)
    .where('scope', '=', 'audience')
    .where('target_id', '=', audienceId)
    .where('source', '=', 'api')
    .execute()
}
