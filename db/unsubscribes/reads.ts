// Reads who has left a workflow by the link in its mail.
import type { Db } from '../connect.ts'

/** The mail behind an unsubscribe link, of any workspace: the token is all that its reader has. */
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

export async function isUnsubscribed(
  db: Db,
  workflowId: string,
  contactId: string,
): Promise<boolean> {
  const row = await db
    .selectFrom('workflow_unsubscribes')
    .select('contact_id')
    .where('workflow_id', '=', workflowId)
    .where('contact_id', '=', contactId)
    .executeTakeFirst()
  return row !== undefined
}
