// Reads and replaces the encrypted secrets of all webhooks, for a change of SECRET_KEY.
import { type SqlBool, sql } from 'kysely'
import type { Db, Trx } from '../connect.ts'

export interface WebhookSecret {
  webhook_id: string
  id: number
  secret: Buffer
}

/** The next secrets after one, in order; null begins. */
export function listWebhookSecrets(
  db: Db,
  { after, limit }: { after: WebhookSecret | null; limit: number },
): Promise<WebhookSecret[]> {
  return db
    .selectFrom('webhook_secrets')
    .select(['webhook_id', 'id', 'secret'])
    .$if(after !== null, (qb) =>
      qb.where(
        sql<SqlBool>`(webhook_id, id) > (${after?.webhook_id ?? ''}, ${after?.id ?? 0}::bigint)`,
      ),
    )
    .orderBy('webhook_id')
    .orderBy('id')
    .limit(limit)
    .execute()
}

/** Replaces an encrypted secret, unless it is another one by now. @returns whether it was */
export async function replaceWebhookSecret(
  trx: Trx,
  { webhook_id, id, secret }: WebhookSecret,
  to: Buffer,
): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable('webhook_secrets')
    .set({ secret: to })
    .where('webhook_id', '=', webhook_id)
    .where('id', '=', id)
    .where('secret', '=', secret)
    .executeTakeFirst()
  return numUpdatedRows > 0
}
