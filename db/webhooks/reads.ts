// Reads webhooks and their deliveries.
import { sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Reach } from '../../rules/reach.ts'
import { type DeliveryStatus, deliveryStatuses } from '../../rules/webhooks/states.ts'
import type { Db } from '../connect.ts'
import { newestFirst } from '../listOrder.ts'
import type { Row } from '../schema.ts'

const columns = [
  'id',
  'domain_id',
  'url',
  'events',
  'description',
  'status',
  'disabled_reason',
  'created_at',
  'updated_at',
] as const

export type WebhookRow = Pick<Row<'webhooks'>, (typeof columns)[number]>

/** To a bound caller those for its domain alone; newest first, after the id `after`. */
export function listWebhooks(
  db: Db,
  { workspaceId, domainId }: Reach,
  page: { after: string | null; limit: number },
): Promise<WebhookRow[]> {
  return db
    .selectFrom('webhooks')
    .select(columns)
    .where('workspace_id', '=', workspaceId)
    .$if(domainId !== null, (qb) => qb.where('domain_id', '=', domainId))
    .where('deleted_at', 'is', null)
    .$if(page.after !== null, (qb) => qb.where('id', '<', page.after as string))
    .orderBy('id', newestFirst)
    .limit(page.limit)
    .execute()
}

export function findWebhook(
  db: Db,
  { workspaceId, domainId }: Reach,
  id: string,
): Promise<WebhookRow | undefined> {
  return db
    .selectFrom('webhooks')
    .select(columns)
    .where('workspace_id', '=', workspaceId)
    .$if(domainId !== null, (qb) => qb.where('domain_id', '=', domainId))
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
    .executeTakeFirst()
}

/** A delivery with the type of its event. Ids are uuids. */
export type WebhookDeliveryRow = Pick<
  Row<'webhook_deliveries'>,
  | 'id'
  | 'event_id'
  | 'state'
  | 'attempts'
  | 'next_at'
  | 'response_status'
  | 'response_ms'
  | 'created_at'
> & { type: string }

const LAST_UUID = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

/**
 * Deliveries of a webhook, newest first; each state is read by its part of the index.
 * @param state null: of all states
 */
export async function listWebhookDeliveries(
  db: Db,
  workspaceId: WorkspaceId,
  { webhookId, state }: { webhookId: string; state: DeliveryStatus | null },
  page: { after: string | null; limit: number },
): Promise<WebhookDeliveryRow[]> {
  const after = page.after ?? LAST_UUID
  const parts = (state === null ? deliveryStatuses : [state]).map(
    (one) => sql`(select * from webhook_deliveries x
      where x.workspace_id = ${workspaceId} and x.webhook_id = ${webhookId} and x.state = ${one}
        and x.id < ${after}::uuid
      order by x.id desc limit ${page.limit})`,
  )
  const { rows } = await sql<WebhookDeliveryRow>`
    select d.id, d.event_id, d.state, d.attempts, d.next_at, d.response_status, d.response_ms, d.created_at, e.type
    from (${sql.join(parts, sql` union all `)}) d join webhook_events e on e.id = d.event_id
    order by d.id desc limit ${page.limit}
  `.execute(db)
  return rows
}

/** @param id a uuid */
export async function findWebhookDelivery(
  db: Db,
  workspaceId: WorkspaceId,
  webhookId: string,
  id: string,
): Promise<WebhookDeliveryRow | undefined> {
  const { rows } = await sql<WebhookDeliveryRow>`
    select d.id, d.event_id, d.state, d.attempts, d.next_at, d.response_status, d.response_ms, d.created_at, e.type
    from webhook_deliveries d join webhook_events e on e.id = d.event_id
    where d.workspace_id = ${workspaceId} and d.webhook_id = ${webhookId} and d.id = ${id}::uuid
  `.execute(db)
  return rows[0]
}

/** Those that are not deleted, of all keys. */
export async function countWebhooks(db: Db, workspaceId: WorkspaceId): Promise<number> {
  const { count } = await db
    .selectFrom('webhooks')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('workspace_id', '=', workspaceId)
    .where('deleted_at', 'is', null)
    .executeTakeFirstOrThrow()
  return Number(count)
}
