// Mail that waits for the time for which it is scheduled: what happens when that comes, moving it, and cancelling it.

import { type RawBuilder, sql } from 'kysely'
import type { Reach } from '../../rules/reach.ts'
import type { Trx } from '../connect.ts'
import { domainOf, isPutOff } from './guards.ts'
import { mailEventRows } from './mailEvents.ts'
import { stoppedData } from './stop.ts'

/** Of deliveries that wait for the time for which they are scheduled: nobody has claimed them yet. */
const isScheduled = sql<boolean>`scheduled and ${isPutOff}`

/** Deliveries of an email; one of several recipients may have been settled before. */
const ofWaiting = (workspaceId: Reach['workspaceId'], emailId: string) =>
  sql`email_id = ${emailId} and workspace_id = ${workspaceId} and settled_at is null`

/**
 * Steps of a `with`, after one that is named `due` and has locked deliveries, with their columns `id`, `recipient`, `scheduled` and
 * `of_shard`. `readied`: they stand in their lines, and where a domain's destination was learned since, they get it. `sent`, `told`: what
 * was scheduled is sent now for whoever reads it, and for its automation contacts; its life begins now, so that an outage over its
 * time costs it no tries. The caller wakes `dripline_mail_events` where `told`
 * has rows.
 */
export const readySteps = (now: Date): RawBuilder<unknown> => sql`readied as (
      update deliveries d
      set ready = true, scheduled = false,
        expires_at = case when due.scheduled then greatest(d.expires_at, ${now}::timestamptz + (d.expires_at - d.due_at))
          else d.expires_at end,
        destination = coalesce(r.destination, d.destination),
        shard = coalesce(r.shard, d.shard)
      from due left join recipient_domains r
        on r.domain = ${domainOf(sql`due.recipient`)} and r.shard is not null
      where d.id = due.id
      returning d.id, d.email_id, d.workspace_id, d.recipient, d.to_team, d.shard, due.of_shard,
        due.scheduled as was_scheduled
    ), sent as (
      insert into email_events (email_id, workspace_id, recipient, status, at, data)
      select email_id, workspace_id, recipient, 'sent', ${now}::timestamptz, '{}'::jsonb
      from readied where was_scheduled order by id
      on conflict do nothing
    ), told as (
      ${mailEventRows(
        sql`select id as delivery_id, workspace_id, recipient, 'sent'::text as name, ${now}::timestamptz as at,
          jsonb_build_object('recipient', lower(recipient)) as data
        from readied where was_scheduled and not to_team`,
        now,
      )}
      returning id
    )`

/**
 * Locks the deliveries of an email, so that its time does not come meanwhile.
 * @returns whether all of them that are not settled still wait for their time; undefined: the caller reaches no such email
 */
export async function lockScheduled(
  trx: Trx,
  { workspaceId, domainId }: Reach,
  emailId: string,
): Promise<boolean | undefined> {
  const { rows } = await sql<{ count: number; waits: boolean }>`
    with held as materialized (
      select ${isScheduled} as waits, settled_at from deliveries
      where email_id = ${emailId} and workspace_id = ${workspaceId}
        and (${domainId}::text is null or domain_id = ${domainId})
      order by id for update
    )
    select count(*)::int as count, coalesce(bool_and(waits) filter (where settled_at is null), false) as waits
    from held
  `.execute(trx)
  const [found] = rows
  return found && found.count > 0 ? found.waits : undefined
}

/** Moves an email whose deliveries the caller has locked to another time, from which its expiry counts. */
export async function moveScheduled(
  trx: Trx,
  { workspaceId }: Reach,
  emailId: string,
  to: { at: Date; expiresAt: Date },
): Promise<void> {
  const { at, expiresAt } = to
  await sql`
    with email as (
      update emails set scheduled_at = ${at} where id = ${emailId} and workspace_id = ${workspaceId}
    )
    update deliveries set next_at = ${at}, due_at = ${at}, expires_at = ${expiresAt}
    where ${ofWaiting(workspaceId, emailId)}
  `.execute(trx)
}

/** Writes the events `scheduled` of an email anew, one for each recipient, since it has another time. */
export async function renewScheduledEvents(
  trx: Trx,
  { workspaceId }: Reach,
  emailId: string,
  now: Date,
): Promise<void> {
  await sql`
    with former as (
      delete from email_events
      where email_id = ${emailId} and workspace_id = ${workspaceId} and status = 'scheduled'
    )
    insert into email_events (email_id, workspace_id, recipient, status, at, data)
    select email_id, workspace_id, recipient, 'scheduled', ${now}::timestamptz, '{}'::jsonb
    from deliveries where ${ofWaiting(workspaceId, emailId)}
    order by id
  `.execute(trx)
}

/** Makes an email ready whose deliveries the caller has locked. @returns whether automation contacts are told */
export async function readyScheduled(
  trx: Trx,
  { workspaceId }: Reach,
  emailId: string,
  now: Date,
): Promise<boolean> {
  const { rows } = await sql<{ told: boolean }>`
    with due as materialized (
      select id, recipient, scheduled, shard as of_shard from deliveries
      where ${ofWaiting(workspaceId, emailId)}
    ), ${readySteps(now)}
    select exists (select from told) as told
  `.execute(trx)
  return rows[0]?.told ?? false
}

/** Cancels an email whose deliveries the caller has locked: nothing of it is sent. */
export async function cancelScheduled(
  trx: Trx,
  { workspaceId }: Reach,
  emailId: string,
  now: Date,
): Promise<void> {
  await sql`
    with stopped as (
      update deliveries set state = 'cancelled', scheduled = false, settled_at = ${now}::timestamptz
      where ${ofWaiting(workspaceId, emailId)}
      returning id, email_id, workspace_id, recipient
    )
    insert into email_events (email_id, workspace_id, recipient, status, at, data)
    select email_id, workspace_id, recipient, 'bounced', ${now}::timestamptz, ${stoppedData(sql`'cancelled'::text`)}
    from stopped order by id
  `.execute(trx)
}
