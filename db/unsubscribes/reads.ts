// Reads the email of an unsubscribe link.
import type { Db } from '../connect.ts'

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
