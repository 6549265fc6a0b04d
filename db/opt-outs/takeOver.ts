// Reads what the release before has written in its own form, and stores it in that of this one, page by page. Rows that
// another process is at are skipped.
import { sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import { placeOfClass } from '../../rules/mail/classes.ts'
import type { Trx } from '../connect.ts'
import { domainOf, isWaiting } from '../deliveries/guards.ts'
import { endWhenIdle } from '../idle.ts'

/** The class of marketing mail of that release, all of which workflows have sent. */
const AUTOMATION = placeOfClass('automation')

/** How long a transaction that takes over may be idle. Another process can take over what it held then. */
const IDLE_MAX = '10s'

export interface LeftBefore {
  workspace_id: WorkspaceId
  /** The workflow or the audience. */
  target_id: string
  /** The contact, or the audience contact. */
  left_by: string
  /** null: it is no longer known whose it was. */
  email: string | null
  unconfirmed_email_id: string | null
  created_at: Date
}

/** Locks unsubscriptions from workflows that are not in opt_outs. */
export async function lockUncopiedWorkflows(trx: Trx, limit: number): Promise<LeftBefore[]> {
  await endWhenIdle(trx, IDLE_MAX)
  const { rows } = await sql<LeftBefore>`
    select u.workspace_id, u.workflow_id as target_id, u.contact_id as left_by, c.email,
      u.unconfirmed_email_id, u.created_at
    from workflow_unsubscribes u left join contacts c on c.id = u.contact_id
    where not u.copied order by u.workflow_id, u.contact_id limit ${limit}
    for update of u skip locked
  `.execute(trx)
  return rows
}

/** Says that they are copied. */
export async function setWorkflowsCopied(trx: Trx, rows: readonly LeftBefore[]): Promise<void> {
  await sql`
    update workflow_unsubscribes u set copied = true
    from unnest(${rows.map((row) => row.target_id)}::text[], ${rows.map((row) => row.left_by)}::text[])
      as g (workflow_id, contact_id)
    where u.workflow_id = g.workflow_id and u.contact_id = g.contact_id
  `.execute(trx)
}

/** Locks audience contacts that are not subscribed and not in opt_outs. */
export async function lockUncopiedAudiences(trx: Trx, limit: number): Promise<LeftBefore[]> {
  await endWhenIdle(trx, IDLE_MAX)
  const { rows } = await sql<LeftBefore>`
    select workspace_id, audience_id as target_id, id as left_by, email,
      null::text as unconfirmed_email_id, updated_at as created_at
    from audience_contacts
    where not is_subscribed and leave_copied is null order by id limit ${limit}
    for update skip locked
  `.execute(trx)
  return rows
}

/** Says that they are copied. */
export async function setAudiencesCopied(trx: Trx, rows: readonly LeftBefore[]): Promise<void> {
  await sql`
    update audience_contacts set leave_copied = true
    where id = any(${rows.map((row) => row.left_by)}::text[])
  `.execute(trx)
}

/** Whether any unsubscription from a workflow is not copied, also if another process is at it. */
export async function hasUncopiedWorkflows(trx: Trx): Promise<boolean> {
  const row = await trx
    .selectFrom('workflow_unsubscribes')
    .select('contact_id')
    .where('copied', '=', sql.lit(false))
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

export interface UnlookedDelivery {
  id: number
  workspace_id: WorkspaceId
  recipient: string
  marketing: boolean
}

/**
 * Locks deliveries that wait and say nothing of what an opt-out would stop. Those under way belong to their lane, which
 * must never wait for this: they are found when they wait again, and until then claims put them off.
 */
export async function lockUnlooked(trx: Trx, limit: number): Promise<UnlookedDelivery[]> {
  await endWhenIdle(trx, IDLE_MAX)
  const { rows } = await sql<UnlookedDelivery>`
    select d.id, d.workspace_id, d.recipient,
      coalesce((select m.category = 'marketing' from emails m where m.id = d.email_id), false) as marketing
    from deliveries d
    where d.marketing is null and d.settled_at is null and d.lease_until is null and ${isWaiting}
    order by d.id limit ${limit} for update of d skip locked
  `.execute(trx)
  return rows
}

/** Fills them in. Their release knew no class and no destination: until now they counted as transactional. Their lane puts them into their lines. */
export async function setLooked(
  trx: Trx,
  rows: readonly { id: number; hmac: Buffer | null }[],
): Promise<void> {
  const hmacs = rows.map(({ hmac }) => hmac?.toString('hex') ?? null)
  await sql`
    update deliveries d set ready = false, marketing = g.hmac is not null, address_hmac = decode(g.hmac, 'hex'),
      class = case when g.hmac is not null then ${AUTOMATION}::smallint else d.class end,
      destination = case when d.destination = '' then ${domainOf(sql`d.recipient`)} else d.destination end,
      workflow_id = case when g.hmac is not null then m.workflow_id end,
      execution_id = case when g.hmac is not null then m.execution_id end
    from unnest(${rows.map(({ id }) => id)}::bigint[], ${hmacs}::text[]) as g (id, hmac)
      join deliveries k on k.id = g.id left join emails m on m.id = k.email_id
    where d.id = g.id
  `.execute(trx)
}

/**
 * Makes an unconfirmed opt-out certain that was copied, if the leave it was copied from is certain now: an API of the release
 * before took a one-click since. The caller holds the contact's lock.
 * @returns whether it did
 */
export async function confirmIfBefore(
  trx: Trx,
  workspaceId: WorkspaceId,
  { optOutId, contactId }: { optOutId: string; contactId: string },
): Promise<boolean> {
  const { rows } = await sql<{ id: string }>`
    update opt_outs o set unconfirmed_email_id = null
    where o.id = ${optOutId} and o.workspace_id = ${workspaceId} and exists (
      select from workflow_unsubscribes u
      where u.workspace_id = o.workspace_id and u.workflow_id = o.target_id and u.contact_id = ${contactId}
        and u.created_at = o.created_at and u.unconfirmed_email_id is null)
    returning o.id
  `.execute(trx)
  return rows.length > 0
}
