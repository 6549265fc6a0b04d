// What webhooks were told of an email.
import type { Db } from '../../db/connect.ts'

/** The events that name it, in order. */
export async function webhooksToldOf(db: Db, emailId: string) {
  const rows = await db
    .selectFrom('webhook_events')
    .select(['type', 'data'])
    .orderBy('id')
    .execute()
  return rows
    .map(({ type, data }) => ({ type, data: data as Record<string, unknown> }))
    .filter(({ data }) => data['email_id'] === emailId)
}
