// Corrects which mail somebody unsubscribed by, for statistics: a trigger has counted it when it was recorded.
import { sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Trx } from '../connect.ts'

/** An email of an execution, and when its link was followed. */
export interface FollowedLink {
  emailId: string
  at: Date
}

/** Counts it as if nobody had: a scanner has followed the link at that time. What is counted at another time stays. */
export async function uncountUnsubscribe(
  trx: Trx,
  workspaceId: WorkspaceId,
  { emailId, at }: FollowedLink,
): Promise<void> {
  await sql`
    select set_first(f.delivery_id, 'unsubscribed', null)
    from deliveries d join email_firsts f on f.delivery_id = d.id and f.kind = 'unsubscribed'
    where d.workspace_id = ${workspaceId} and d.email_id = ${emailId} and f.at = ${at}::timestamptz
  `.execute(trx)
}

/** Counts that the contact to whom an execution sent the email has unsubscribed by it; once, at the first time. */
export async function countUnsubscribe(
  trx: Trx,
  workspaceId: WorkspaceId,
  { emailId, at }: FollowedLink,
): Promise<void> {
  await sql`
    select set_first(d.id, 'unsubscribed', least(${at}::timestamptz, f.at))
    from deliveries d left join email_firsts f on f.delivery_id = d.id and f.kind = 'unsubscribed'
    where d.workspace_id = ${workspaceId} and d.email_id = ${emailId} and not d.to_team
    order by d.id limit 1
  `.execute(trx)
}
