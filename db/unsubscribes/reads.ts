// Reads unsubscriptions of contacts from workflows.
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Db, Trx } from '../connect.ts'

/** The email of an unsubscribe token, in any workspace: a visitor has only the token. */
export function findUnsubscribeMail(db: Db, token: string) {
  return db
    .selectFrom('emails as m')
    .innerJoin('executions as x', 'x.id', 'm.execution_id')
    .innerJoin('workflow_versions as v', (join) =>
      join.onRef('v.workflow_id', '=', 'x.workflow_id').onRef('v.version', '=', 'x.version'),
    )
    .select([
      'm.id',
      'm.workspace_id',
      'm.subject',
      'm.node_id',
      'x.id as execution_id',
      'x.workflow_id',
      'x.contact_id',
      'x.email',
      'x.chain_depth',
      'v.design',
    ])
    .where('m.unsubscribe_token', '=', token)
    .executeTakeFirst()
}

export type UnsubscribeMail = NonNullable<Awaited<ReturnType<typeof findUnsubscribeMail>>>

/** Whether the contact has unsubscribed from the workflow. */
export async function isUnsubscribed(
  db: Db,
  workspaceId: WorkspaceId,
  { workflowId, contactId }: { workflowId: string; contactId: string },
): Promise<boolean> {
  const row = await db
    .selectFrom('workflow_unsubscribes')
    .select('contact_id')
    .where('workspace_id', '=', workspaceId)
    .where('workflow_id', '=', workflowId)
    .where('contact_id', '=', contactId)
    .executeTakeFirst()
  return row !== undefined
}

/** The contact whom a GET of that email's link unsubscribed after that time, if nothing has confirmed it. */
export async function findUnconfirmedContact(
  trx: Trx,
  workspaceId: WorkspaceId,
  emailId: string,
  after: Date,
): Promise<string | undefined> {
  const row = await trx
    .selectFrom('workflow_unsubscribes')
    .select('contact_id')
    .where('workspace_id', '=', workspaceId)
    .where('unconfirmed_email_id', '=', emailId)
    .where('created_at', '>', after)
    .executeTakeFirst()
  return row?.contact_id
}
