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
    .select((eb) => [
      // By which it is known who leaves when the contact was erased.
      eb
        .selectFrom('deliveries as d')
        .select('d.address_hmac')
        .whereRef('d.email_id', '=', 'm.id')
        .where('d.to_team', '=', false)
        .where('d.address_hmac', 'is not', null)
        .orderBy('d.id')
        .limit(1)
        .as('hmac'),
      'm.id',
      'm.workspace_id',
      'm.created_at',
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
