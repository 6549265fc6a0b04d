// Mail that waits for the time for which it is scheduled: what happens when that comes, moving it, and cancelling it.

import { type RawBuilder, sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Reach } from '../../rules/reach.ts'
import { sendingStatuses } from '../../rules/states.ts'
import type { Trx } from '../connect.ts'
import { domainOf, isPutOff } from './guards.ts'
import type { ShardRange } from './lines.ts'
import { mailEventRows } from './mailEvents.ts'
import { SETTLED_MAX, stoppedData } from './stop.ts'

/** Of deliveries that wait for the time for which they are scheduled: nobody has claimed them yet. */
const isScheduled = sql<boolean>`scheduled and ${isPutOff}`

/** Deliveries of an email; one of several recipients may have been settled before. */
const ofWaiting = (workspaceId: Reach['workspaceId'], emailId: string) =>
  sql`email_id = ${emailId} and workspace_id = ${workspaceId} and settled_at is null`

/** From which domains mail may be sent, as who accepted it knows. */
export interface SendRights {
  /** Whether mail may be sent from unverified domains, for development. */
  allowUnverifiedDomains: boolean
  /** The domain of test addresses: mail to them needs no verified one. */
  simulatorDomain: string
}

/** What `readySteps` needs of a delivery. */
export const dueColumns = sql`id, recipient, scheduled, domain_id, simulated`

/** Why scheduled mail `q` is not sent (`DomainStop`), or null. What was written by the release before says nothing of test addresses. */
const domainStop = ({ allowUnverifiedDomains, simulatorDomain }: SendRights) => sql`
    case when not q.scheduled then null
      when m.deleted_at is not null then 'domain_deleted'
      when m.status not in (${sql.join(sendingStatuses.map((one) => sql.lit(one)))})
        and not ${allowUnverifiedDomains}::boolean
        and not coalesce(q.simulated, ${domainOf(sql`q.recipient`)} = ${simulatorDomain}::text) then 'domain_not_verified' end`

/**
 * Steps of a `with`, after one that is named `due` and has locked deliveries, with `dueColumns`. `readied`: where a domain's
 * destination was learned since, they get it. What is in a shard of the lane that asks stands in its line, and the lane knows of
 * it (`delivery/lane/lines.ts`); all else is due, and made ready by the lane that owns its shard. `sent`, `told`: what
 * was scheduled is sent now for whoever reads it, and for its automation contacts; its life begins now, so that an outage over its
 * time costs it no tries. `stopped`, `refused`: scheduled mail whose domain may not send any more is cancelled. The caller wakes
 * `dripline_mail_events` where `told` has rows.
 * @param lane the shards of the lane that asks, or null: no lane asks, so none is made ready here
 */
export const readySteps = (
  now: Date,
  rights: SendRights,
  lane: ShardRange | null,
): RawBuilder<unknown> => sql`looked as (
      select q.*, ${domainStop(rights)} as stop from due q left join domains m on q.scheduled and m.id = q.domain_id
    ), readied as (
      update deliveries d
      set ready = ${lane ? sql`coalesce(r.shard >= ${lane.from} and r.shard < ${lane.to}, true)` : sql`false`}, scheduled = false,
        expires_at = case when due.scheduled then greatest(d.expires_at, ${now}::timestamptz + (d.expires_at - d.due_at))
          else d.expires_at end,
        destination = coalesce(r.destination, d.destination),
        shard = coalesce(r.shard, d.shard)
      from looked due left join recipient_domains r
        on r.domain = ${domainOf(sql`due.recipient`)} and r.shard is not null
      where d.id = due.id and due.stop is null
      returning d.id, d.email_id, d.workspace_id, d.recipient, d.to_team, d.shard, d.class, d.destination, d.next_at,
        d.ready as is_ready, due.scheduled as was_scheduled
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
    ), stopped as (
      ${stopRows(sql`from looked q where d.id = q.id and q.stop is not null`, now)}, q.stop
    ), refused as (
      ${stopEvents(sql`stopped.stop`, now)}
    )`

/** An update that settles scheduled deliveries `d`. */
const stopRows = (which: RawBuilder<unknown>, now: Date) => sql`
      update deliveries d set state = 'cancelled', scheduled = false, settled_at = ${now}::timestamptz
      ${which} returning d.id, d.email_id, d.workspace_id, d.recipient`

/** The events of what `stopped` has settled. */
const stopEvents = (stop: RawBuilder<unknown>, now: Date) => sql`
      insert into email_events (email_id, workspace_id, recipient, status, at, data)
      select email_id, workspace_id, recipient, 'bounced', ${now}::timestamptz, ${stoppedData(stop)}
      from stopped order by id
      on conflict do nothing`

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

/** The line of a header by which a submitted mail without one has got its date, with what ends it and the line before. */
const dateLine = (at: RawBuilder<unknown>) =>
  sql`convert_to(E'\\r\\nDate: ' || to_char(${at} at time zone 'UTC', 'Dy, DD Mon YYYY HH24:MI:SS') || E' +0000\\r\\n', 'UTF8')`

/**
 * Moves an email whose deliveries the caller has locked to another time, from which its expiry counts. A submitted mail whose date is the time
 * before, which it has got for want of one, gets the new one: both are as long.
 */
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
    ), dated as (
      update email_sources s set content = overlay(s.content placing ${dateLine(sql`${at}::timestamptz`)} from p.at)
      from (
        select position(${dateLine(sql`m.scheduled_at`)} in f.content) as at,
          position('\\x0d0a0d0a'::bytea in f.content) as ends
        from emails m join email_sources f on f.email_id = m.id and f.position = 0
        where m.id = ${emailId} and m.workspace_id = ${workspaceId}
      ) p
      where s.email_id = ${emailId} and s.position = 0 and p.at > 0 and p.at < p.ends
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

/**
 * Makes an email due whose deliveries the caller has locked; the lane of each shard makes them ready. What its domain may not send any more is cancelled.
 * @returns how many deliveries are due now, and whether automation contacts are told
 */
export async function hastenScheduled(
  trx: Trx,
  { workspaceId }: Reach,
  emailId: string,
  { now, rights }: { now: Date; rights: SendRights },
): Promise<{ count: number; told: boolean }> {
  const { rows } = await sql<{ count: number; told: boolean }>`
    with due as materialized (
      select ${dueColumns} from deliveries
      where ${ofWaiting(workspaceId, emailId)}
    ), ${readySteps(now, rights, null)}
    select (select count(*) from readied)::int as count, exists (select from told) as told
  `.execute(trx)
  return rows[0] ?? { count: 0, told: false }
}

/** Cancels an email whose deliveries the caller has locked: nothing of it is sent. */
export async function cancelScheduled(
  trx: Trx,
  { workspaceId }: Reach,
  emailId: string,
  now: Date,
): Promise<void> {
  await sql`
    with stopped as (${stopRows(sql`where ${ofWaiting(workspaceId, emailId)}`, now)})
    ${stopEvents(sql`'cancelled'::text`, now)}
  `.execute(trx)
}

/**
 * Settles scheduled mail of a domain that is deleted, up to `SETTLED_MAX`. What is left, and what somebody moves or makes ready at this
 * moment, is looked at when it is due.
 * @returns how many it settled
 */
export async function stopScheduledOf(
  trx: Trx,
  workspaceId: WorkspaceId,
  domainId: string,
  now: Date,
): Promise<number> {
  // Planned at each call, since a plan for few would read the domain's mail of all times for a million.
  const { rows } = await sql<{ count: number }>`
    /* of a domain */ with waiting as (
      select id from deliveries
      where workspace_id = ${workspaceId} and domain_id = ${domainId} and settled_at is null and ${isScheduled}
      order by id limit ${SETTLED_MAX} for update skip locked
    ), stopped as (
      ${stopRows(sql`from waiting where d.id = waiting.id`, now)}
    ), events as (
      ${stopEvents(sql`'domain_deleted'::text`, now)}
    )
    select count(*)::int as count from stopped
  `.execute(trx)
  return rows[0]?.count ?? 0
}
