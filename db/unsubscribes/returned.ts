// Looks for the contact who has the address of an erased one: of that the HMAC alone is known, and contacts have none.
import { sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Db } from '../connect.ts'
import { isLive } from '../executions/live.ts'

/** The contact who is there and got the latest marketing mail that went to that address since. */
export async function findMailedContact(
  db: Db,
  workspaceId: WorkspaceId,
  { hmac, since }: { hmac: Buffer; since: Date },
): Promise<string | undefined> {
  const row = await db
    .selectFrom('deliveries as d')
    .innerJoin('executions as x', 'x.id', 'd.execution_id')
    .innerJoin('contacts as c', 'c.id', 'x.contact_id')
    .select('c.id')
    .where('d.workspace_id', '=', workspaceId)
    .where('d.address_hmac', '=', hmac)
    .where('d.marketing', '=', sql.lit(true))
    .where('d.to_team', '=', false)
    .where('d.created_at', '>=', since)
    .where('c.workspace_id', '=', workspaceId)
    .orderBy('d.created_at', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row?.id
}

/** An execution that runs, and for whom. */
export interface Running {
  id: string
  created_at: Date
  contact_id: string
  email: string
}

/** A page of the executions of a workflow that run and began since, the newest first. @param after the last one of the page before */
export function listRunningSince(
  db: Db,
  workspaceId: WorkspaceId,
  {
    workflowId,
    since,
    after,
    limit,
  }: { workflowId: string; since: Date; after: Running | undefined; limit: number },
): Promise<Running[]> {
  return db
    .selectFrom('executions')
    .select(['id', 'created_at', 'contact_id', 'email'])
    .where('workspace_id', '=', workspaceId)
    .where('workflow_id', '=', workflowId)
    .where(isLive())
    .where('created_at', '>=', since)
    .$if(after !== undefined, (qb) =>
      qb.where(sql<boolean>`(created_at, id) < (${after?.created_at}, ${after?.id})`),
    )
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(limit)
    .execute()
}
