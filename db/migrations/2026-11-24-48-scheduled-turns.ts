// Scheduled mail whose domain may not send any more, and turns between workspaces where much of one is due at once.
// It may be run again after it was interrupted.
import { type Kysely, sql } from 'kysely'

/** Postgres builds an index beside writers only outside of a transaction. */
export const outsideTransaction = true

const indexes: Record<string, string> = {
  // What waits for its time from one domain, which may be deleted.
  deliveries_scheduled_domain: 'deliveries (domain_id, id) where scheduled',
  // Of what becomes due later, the workspaces of a shard.
  deliveries_later_turns:
    'deliveries (shard, workspace_id, next_at) where not ready and lease_until is null and settled_at is null',
  // Of those whom time may bring into a segment or out of it, the workspaces.
  segment_members_turns:
    'segment_members (workspace_id, next_look_at) where next_look_at is not null',
}

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`set lock_timeout = '5s'`.execute(db)
  await nameStops(db)
  await tellOfStops(db)
  await countNoStops(db)
  // Building them waits for transactions that are open now, however long they take. It blocks nobody meanwhile.
  await sql`set lock_timeout = 0`.execute(db)
  for (const [name, on] of Object.entries(indexes)) {
    await sql`drop index concurrently if exists ${sql.ref(name)}`.execute(db)
    await sql`create index concurrently ${sql.ref(name)} on ${sql.raw(on)}`.execute(db)
  }
}

/** Whether mail was never tried since somebody or something stopped it, other than a suppression: it is no bounce. */
async function nameStops(db: Kysely<unknown>): Promise<void> {
  await sql`
    create or replace function mail_was_stopped(subtype text) returns boolean language sql immutable as $$
      select coalesce(subtype in ('Unsubscribed', 'Cancelled', 'DomainDeleted', 'DomainNotVerified'), false)
    $$`.execute(db)
}

/** As before, with the further subtypes. */
async function tellOfStops(db: Kysely<unknown>): Promise<void> {
  await sql`
    create or replace function tell_of_email_events() returns trigger language plpgsql as $$
    begin
      if not exists (
        select from (select distinct workspace_id from written) n where webhook_asked(n.workspace_id)
      ) then return null; end if;
      perform tell_webhooks(n.workspace_id, k.kind, n.at, webhook_email(m.id, n.recipient, n.at,
          case when n.status = 'bounced' then jsonb_build_object('bounce', jsonb_strip_nulls(jsonb_build_object(
              'type', n.data->'type', 'subtype', n.data->'subtype', 'response', n.data->'smtp_response')))
            when n.status = 'clicked' then jsonb_build_object('link', n.data->'link')
            else '{}' end), m.domain_id)
      from written n
      join emails m on m.id = n.email_id
      cross join lateral (select 'email.' || case
        when n.status <> 'bounced' then n.status
        when n.data->>'subtype' = 'OnAccountSuppressionList' then 'suppressed'
        when mail_was_stopped(n.data->>'subtype') then 'cancelled'
        else 'bounced' end as kind) k
      where n.machine is null
      order by n.id;
      return null;
    end $$`.execute(db)
}

/** As before, with the further subtypes. */
async function countNoStops(db: Kysely<unknown>): Promise<void> {
  await sql`
    create or replace function count_email_events() returns trigger language plpgsql as $$
    declare
      seen record;
    begin
      insert into email_stat_changes (workspace_id, hour, domain_id, workflow_id, provider, tags, sent, delivered,
        bounced, suppressed)
      select w.workspace_id, stat_hour(w.at), coalesce(d.domain_id, m.domain_id, ''), m.workflow_id,
        coalesce(d.provider, 'other'), coalesce(m.tags, '{}'),
        count(*) filter (where w.status = 'sent'), count(*) filter (where w.status = 'delivered'),
        count(*) filter (where w.status = 'bounced'
          and w.data->>'subtype' is distinct from 'OnAccountSuppressionList'),
        count(*) filter (where w.status = 'bounced' and w.data->>'subtype' = 'OnAccountSuppressionList')
      from written w
      left join lateral (select o.domain_id, o.provider from deliveries o
        where o.email_id = w.email_id and o.recipient = w.recipient limit 1) d on true
      left join lateral (select e.domain_id, e.workflow_id, e.tags from emails e
        where e.id = w.email_id limit 1) m on true
      where w.status in ('sent', 'delivered') or (w.status = 'bounced' and not mail_was_stopped(w.data->>'subtype'))
      group by 1, 2, 3, 4, 5, 6;
      for seen in
        select distinct w.email_id, w.recipient, w.status from written w
        where w.status in ('opened', 'clicked') and w.machine is null order by 1, 2, 3
      loop
        perform recount_first(seen.email_id, seen.recipient, seen.status, false);
      end loop;
      return null;
    end $$`.execute(db)
}
