// Reads what people have left.

import { type RawBuilder, type SqlBool, sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import { SCAN_WINDOW_MS } from '../../rules/mail/machines.ts'
import type { Db, Trx } from '../connect.ts'

const UNDO_WINDOW = `${SCAN_WINDOW_MS} ms`

/**
 * When the opt-out `o` stands: at once if it is certain, else when no scanner can be seen any more that would undo it.
 */
export const standsFrom = sql<Date>`case when o.unconfirmed_email_id is null then '-infinity'::timestamptz
  else o.created_at + ${UNDO_WINDOW}::interval end`

/** The condition that the opt-out `o` is about marketing mail of that workflow, or of them all. */
export const isAboutWorkflow = (workflowId: RawBuilder<unknown>): RawBuilder<SqlBool> =>
  sql<SqlBool>`((o.scope = 'workflow' and o.target_id = ${workflowId}) or o.scope = 'workspace')`

/** An opt-out as a link's page needs it. */
export interface LeftNow {
  /** The email whose link a GET followed, while nothing has confirmed it; null: it is certain. */
  unconfirmed_email_id: string | null
  created_at: Date
}

/** The opt-out by which that address has left the workflow, or all of them, also by a GET that may still be undone. */
export function findLeft(
  db: Db,
  workspaceId: WorkspaceId,
  { workflowId, hmac }: { workflowId: string; hmac: Buffer },
): Promise<LeftNow | undefined> {
  return db
    .selectFrom('opt_outs as o')
    .select(['o.unconfirmed_email_id', 'o.created_at'])
    .where('o.workspace_id', '=', workspaceId)
    .where('o.address_hmac', '=', hmac)
    .where(isAboutWorkflow(sql`${workflowId}`))
    .orderBy(sql`o.unconfirmed_email_id nulls first`)
    .limit(1)
    .executeTakeFirst()
}

/** Whether there is such an opt-out. */
export async function hasLeftWorkflow(
  db: Db,
  workspaceId: WorkspaceId,
  of: { workflowId: string; hmac: Buffer },
): Promise<boolean> {
  return (await findLeft(db, workspaceId, of)) !== undefined
}

/** Whether that address has left the workflow itself, and nothing will undo it but they themselves. */
export async function hasSurelyLeft(
  db: Db,
  workspaceId: WorkspaceId,
  { workflowId, hmac }: { workflowId: string; hmac: Buffer },
): Promise<boolean> {
  const row = await db
    .selectFrom('opt_outs')
    .select('id')
    .where('workspace_id', '=', workspaceId)
    .where('address_hmac', '=', hmac)
    .where('scope', '=', 'workflow')
    .where('target_id', '=', workflowId)
    .where('unconfirmed_email_id', 'is', null)
    .executeTakeFirst()
  return row !== undefined
}

/**
 * Those of the addresses, by their HMACs in hex, that have left the workflow as `findLeft` finds it, or the audience whose members
 * it starts for: a list may have brought back a row of theirs, and takes back no opt-out.
 */
export async function listLeft(
  trx: Trx,
  workspaceId: WorkspaceId,
  {
    workflowId,
    audienceId,
    hmacs,
  }: { workflowId: string; audienceId: string; hmacs: readonly Buffer[] },
): Promise<ReadonlySet<string>> {
  const rows = await trx
    .selectFrom('opt_outs as o')
    .select('o.address_hmac')
    .where('o.workspace_id', '=', workspaceId)
    .where('o.address_hmac', 'in', hmacs)
    .where(
      sql<boolean>`(${isAboutWorkflow(sql`${workflowId}`)}
        or (o.scope = 'audience' and o.target_id = ${audienceId}))`,
    )
    .execute()
  return new Set(rows.map(({ address_hmac }) => address_hmac.toString('hex')))
}

/** Whom an email of a workflow was for. */
export function findLeaver(
  trx: Trx,
  workspaceId: WorkspaceId,
  emailId: string,
): Promise<{ workflow_id: string; contact_id: string } | undefined> {
  return trx
    .selectFrom('emails as m')
    .innerJoin('executions as x', 'x.id', 'm.execution_id')
    .select(['x.workflow_id', 'x.contact_id'])
    .where('m.workspace_id', '=', workspaceId)
    .where('m.id', '=', emailId)
    .executeTakeFirst()
}

/** Who left by a GET of that email's link. */
export interface UnconfirmedLeave {
  id: string
  workflow_id: string
  contact_id: string
  created_at: Date
}

/** The opt-out that a GET of that email's link made after that time, if nothing has confirmed it. */
export function findUnconfirmed(
  trx: Trx,
  workspaceId: WorkspaceId,
  emailId: string,
  after: Date,
): Promise<UnconfirmedLeave | undefined> {
  return trx
    .selectFrom('opt_outs as o')
    .innerJoin('emails as m', 'm.id', 'o.unconfirmed_email_id')
    .innerJoin('executions as x', 'x.id', 'm.execution_id')
    .select(['o.id', 'o.target_id as workflow_id', 'x.contact_id', 'o.created_at'])
    .where('o.workspace_id', '=', workspaceId)
    .where('o.unconfirmed_email_id', '=', emailId)
    .where('o.scope', '=', 'workflow')
    .where('o.created_at', '>', after)
    .executeTakeFirst()
}

/** The condition that the opt-out `o` is about that audience, or everything. */
const isAboutAudience = (audienceId: string) =>
  sql<SqlBool>`((o.scope = 'audience' and o.target_id = ${audienceId}) or o.scope = 'workspace')`

/** Whether that address has left the audience, or the whole workspace. */
export async function hasLeftAudience(
  db: Db,
  workspaceId: WorkspaceId,
  { audienceId, hmac }: { audienceId: string; hmac: Buffer },
): Promise<boolean> {
  const row = await db
    .selectFrom('opt_outs as o')
    .select('o.id')
    .where('o.workspace_id', '=', workspaceId)
    .where('o.address_hmac', '=', hmac)
    .where(isAboutAudience(audienceId))
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

/** By which acts of their own some addresses have left the audience, or the whole workspace. */
export function listOwnOptOuts(
  db: Db,
  workspaceId: WorkspaceId,
  { audienceId, hmacs }: { audienceId: string; hmacs: readonly Buffer[] },
): Promise<{ address_hmac: Buffer; source: string }[]> {
  return db
    .selectFrom('opt_outs as o')
    .select(['o.address_hmac', 'o.source'])
    .where('o.workspace_id', '=', workspaceId)
    .where('o.address_hmac', 'in', hmacs)
    .where(isAboutAudience(audienceId))
    .where('o.source', '<>', 'api')
    .where('o.unconfirmed_email_id', 'is', null)
    .execute()
}
