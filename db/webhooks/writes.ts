// Writes webhooks and their secrets, and deliveries that somebody asks for.
import { sql, type UpdateObject } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import { limits } from '../../rules/limits.ts'
import type { Reach } from '../../rules/reach.ts'
import type { WebhookStatus } from '../../rules/webhooks/states.ts'
import type { Trx } from '../connect.ts'
import type { Database, JsonObject, NewRow, Row } from '../schema.ts'

/** Keeps others from making webhooks of the workspace until the transaction ends. */
export async function lockWebhooks(trx: Trx, workspaceId: WorkspaceId): Promise<void> {
  await sql`
    select pg_advisory_xact_lock(hashtextextended(${`webhooks:${workspaceId}`}, 0))
  `.execute(trx)
}

/** @param secret encrypted */
export async function insertWebhook(
  trx: Trx,
  workspaceId: WorkspaceId,
  row: Omit<NewRow<'webhooks'>, 'workspace_id'>,
  secret: Buffer,
): Promise<void> {
  await trx
    .insertInto('webhooks')
    .values({ ...row, workspace_id: workspaceId })
    .execute()
  await trx
    .insertInto('webhook_secrets')
    .values({ webhook_id: row.id, secret, valid_until: null })
    .execute()
}

/** What a worker has read of the endpoint counts no more: another one, or the same, takes it anew. */
const takenBack = { epoch: sql<number>`epoch + 1`, leased_until: null }

/** What may be changed; undefined stays as it is. */
export interface WebhookColumns {
  url?: string | undefined
  events?: string[] | undefined
  description?: string | null | undefined
  status?: WebhookStatus | undefined
}

/** When it last answered well; null if it never has, or has failed since. */
const provenSince = sql<Date | null>`case when failures = 0 then succeeded_at end`

/** As if nothing had failed; what had must prove itself again. */
const unfailed = {
  failures: 0,
  failing_since: null,
  rests_until: null,
  succeeded_at: provenSince,
} as const

/**
 * Changes a webhook. One that is enabled again, or gets another URL, begins anew: what is pending is tried as if nothing had failed, since how
 * long the old URL has failed says nothing of the new one. Nor does how well it has answered: a new URL has proved nothing, and takes no
 * place that is kept for those that have. The URL that it has changes nothing: a form sends back what it shows.
 * @returns false if the caller reaches none of that id
 */
export async function updateWebhook(
  trx: Trx,
  reach: Reach,
  id: string,
  { url, status, ...columns }: WebhookColumns,
  now: Date,
): Promise<boolean> {
  if (url !== undefined) {
    await changeRow(trx, reach, id, { url, ...takenBack, ...unfailed, succeeded_at: null }, url)
  }
  const given = Object.fromEntries(
    Object.entries(columns).filter(([, value]) => value !== undefined),
  )
  return changeRow(trx, reach, id, {
    ...given,
    ...(status === undefined ? {} : { ...takenBack, ...changesOf[status] }),
    updated_at: now,
  })
}

/** What a changed status changes with it. */
const changesOf = {
  enabled: {
    status: 'enabled',
    disabled_reason: null,
    ...unfailed,
  },
  disabled: {
    status: 'disabled',
    disabled_reason: sql<
      Row<'webhooks'>['disabled_reason']
    >`case when status = 'disabled' then disabled_reason else 'manual' end`,
  },
} as const

/** @param unlessUrl one with this URL stays @returns false if the caller reaches none of that id, or it stays */
async function changeRow(
  trx: Trx,
  { workspaceId, domainId }: Reach,
  id: string,
  change: UpdateObject<Database, 'webhooks'>,
  unlessUrl?: string,
): Promise<boolean> {
  const result = await trx
    .updateTable('webhooks')
    .set(change)
    .where('workspace_id', '=', workspaceId)
    .$if(domainId !== null, (qb) => qb.where('domain_id', '=', domainId))
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
    .$if(unlessUrl !== undefined, (qb) => qb.where('url', '<>', unlessUrl as string))
    .executeTakeFirst()
  return result.numUpdatedRows > 0n
}

/**
 * Marks a webhook as deleted: it gets nothing from now on. Workers delete its deliveries in pages, and then the row.
 * @returns false if the caller reaches none of that id
 */
export const deleteWebhookRow = (trx: Trx, reach: Reach, id: string, now: Date): Promise<boolean> =>
  changeRow(trx, reach, id, { status: 'disabled', deleted_at: now, ...takenBack })

/**
 * Gives a webhook a new secret; the one of before signs beside it until `until`. The row of the webhook is locked first, so that of
 * two rotations at once one comes after the other.
 * @param secret encrypted
 * @returns false if the caller reaches none of that id
 */
export async function rotateWebhookSecret(
  trx: Trx,
  reach: Reach,
  id: string,
  { secret, until, now }: { secret: Buffer; until: Date; now: Date },
): Promise<boolean> {
  if (!(await changeRow(trx, reach, id, { ...takenBack, updated_at: now }))) return false
  await trx
    .updateTable('webhook_secrets')
    .set({ valid_until: until })
    .where('webhook_id', '=', id)
    .where('valid_until', 'is', null)
    .execute()
  await trx
    .insertInto('webhook_secrets')
    .values({ webhook_id: id, secret, valid_until: null })
    .execute()
  await sql`
    delete from webhook_secrets where webhook_id = ${id} and (valid_until <= ${now} or id not in (
      select s.id from webhook_secrets s where s.webhook_id = ${id}
      order by s.id desc limit ${limits.webhookSecretsMax}))
  `.execute(trx)
  return true
}

/** Writes an event for one webhook alone, whatever that asks for. @returns the delivery's id, a uuid */
export async function insertWebhookEvent(
  trx: Trx,
  workspaceId: WorkspaceId,
  webhookId: string,
  event: { type: string; at: Date; data: JsonObject },
): Promise<string> {
  const { rows } = await sql<{ id: string }>`
    with event as (
      insert into webhook_events (id, workspace_id, type, at, data)
      values (webhook_id(), ${workspaceId}, ${event.type}, ${event.at}, ${JSON.stringify(event.data)}::jsonb)
      returning id
    )
    insert into webhook_deliveries (id, webhook_id, event_id, workspace_id, next_at, created_at)
    select webhook_id(), ${webhookId}, event.id, ${workspaceId}, clock_timestamp(), clock_timestamp() from event
    returning id
  `.execute(trx)
  return rows[0]?.id ?? ''
}

/** Writes an event for all webhooks of a workspace that ask for it. */
export async function tellWebhooks(
  trx: Trx,
  workspaceId: WorkspaceId,
  event: { type: string; at: Date; data: JsonObject; domainId: string | null },
): Promise<void> {
  await sql`
    select tell_webhooks(${workspaceId}, ${event.type}, ${event.at}::timestamptz,
      ${JSON.stringify(event.data)}::jsonb, ${event.domainId}::text)
  `.execute(trx)
}

/** Writes an event about a contact, as it is now, for all webhooks of a workspace that ask for it. */
export async function tellOfContact(
  trx: Trx,
  workspaceId: WorkspaceId,
  contactId: string,
  { type, at }: { type: string; at: Date },
): Promise<void> {
  await sql`
    select tell_webhooks(c.workspace_id, ${type}, ${at}::timestamptz, webhook_contact(c), null)
    from contacts c where c.workspace_id = ${workspaceId} and c.id = ${contactId}
  `.execute(trx)
}

/**
 * Makes a delivery due again, with all of its tries before it.
 * @param id a uuid @returns false if the webhook has none of that id
 */
export async function replayWebhookDelivery(
  trx: Trx,
  workspaceId: WorkspaceId,
  webhookId: string,
  id: string,
): Promise<boolean> {
  const { rows } = await sql<{ id: string }>`
    update webhook_deliveries d
    set state = 'pending', attempts = 0, next_at = clock_timestamp()
    where d.workspace_id = ${workspaceId} and d.webhook_id = ${webhookId} and d.id = ${id}::uuid
    returning d.id
  `.execute(trx)
  return rows.length > 0
}
