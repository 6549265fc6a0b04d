// Statistics of mail: counts for each hour, what is added to them in the transaction of the row that it counts, and the mail
// of before.
// Long because it is one function of Postgres for each kind of row that is counted.
import { type Kysely, sql } from 'kysely'

/** What there is already is counted in pages, a commit each. */
export const outsideTransaction = true

/** Of rows that one commit counts. Of each email with opens or clicks among them it takes a lock, of which Postgres has some thousand. */
const PAGE = 2_000

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`set lock_timeout = '3s'`.execute(db)
  await makeTables(db)
  await makeCounters(db)
  await makeFirsts(db)
  await makeTriggers(db)
  await countFromNowOn(db)
  await countDeliveriesBefore(db)
  await countEventsBefore(db)
  await countUnsubscribesBefore(db)
}

const counts = sql`
  accepted bigint not null default 0, sent bigint not null default 0, delivered bigint not null default 0,
  opened bigint not null default 0, clicked bigint not null default 0, bounced bigint not null default 0,
  complained bigint not null default 0, unsubscribed bigint not null default 0, suppressed bigint not null default 0`

async function makeTables(db: Kysely<unknown>): Promise<void> {
  await sql`alter table deliveries add column if not exists provider text collate "C"`.execute(db)
  await sql`alter table recipient_domains add column if not exists provider text collate "C"`.execute(
    db,
  )
  await sql`
    create table if not exists email_stats (
      workspace_id text collate "C" not null,
      kind text collate "C" not null check (kind in ('domain', 'tag', 'workflow', 'broadcast', 'provider')),
      hour integer not null,
      domain_id text collate "C" not null,
      value text collate "C" not null,
      ${counts},
      primary key (workspace_id, kind, hour, domain_id, value)
    ) with (fillfactor = 70)`.execute(db)
  await sql`create index if not exists email_stats_hour on email_stats (hour)`.execute(db)
  await sql`
    create table if not exists email_stat_changes (
      id bigint generated always as identity primary key,
      workspace_id text collate "C" not null,
      hour integer not null,
      domain_id text collate "C" not null,
      workflow_id text collate "C",
      broadcast_id text collate "C",
      provider text collate "C" not null,
      tags jsonb not null,
      ${counts}
    )`.execute(db)
  await sql`
    create index if not exists email_stat_changes_hour on email_stat_changes (workspace_id, hour, domain_id)
  `.execute(db)
  await sql`
    create table if not exists email_firsts (
      delivery_id bigint not null,
      kind text collate "C" not null check (kind in ('opened', 'clicked', 'unsubscribed')),
      workspace_id text collate "C" not null,
      at timestamptz(3) not null,
      primary key (delivery_id, kind)
    )`.execute(db)
  await sql`create index if not exists email_firsts_at on email_firsts (at)`.execute(db)
  await sql`
    create table if not exists email_stat_history (
      source text primary key,
      next_id bigint not null,
      until_id bigint not null
    )`.execute(db)
}

async function makeCounters(db: Kysely<unknown>): Promise<void> {
  await sql`
    create or replace function stat_hour(at timestamptz) returns integer language sql stable as $$
      select floor(extract(epoch from at) / 3600)::integer
    $$`.execute(db)
  await sql`
    create or replace function count_delivery(of_delivery bigint, what text, happened timestamptz, n integer)
    returns void language sql volatile as $$
      insert into email_stat_changes (workspace_id, hour, domain_id, workflow_id, provider, tags,
        opened, clicked, complained, unsubscribed)
      select d.workspace_id, stat_hour(happened), d.domain_id, m.workflow_id, coalesce(d.provider, 'other'),
        coalesce(m.tags, '{}'), case what when 'opened' then n else 0 end, case what when 'clicked' then n else 0 end,
        case what when 'complained' then n else 0 end, case what when 'unsubscribed' then n else 0 end
      from deliveries d
      left join lateral (select e.workflow_id, e.tags from emails e where e.id = d.email_id limit 1) m on true
      where d.id = of_delivery
    $$`.execute(db)
}

/** What counts once for each recipient of a mail, at the first time: opens and clicks of people, and unsubscribing. */
async function makeFirsts(db: Kysely<unknown>): Promise<void> {
  await sql`
    create or replace function set_first(of_delivery bigint, what text, first_at timestamptz)
    returns void language plpgsql volatile as $$
    declare
      known_at timestamptz;
    begin
      if first_at is not null then
        insert into email_firsts (delivery_id, kind, workspace_id, at)
        select d.id, what, d.workspace_id, first_at from deliveries d where d.id = of_delivery
        on conflict do nothing;
        if found then
          perform count_delivery(of_delivery, what, first_at, 1);
          return;
        end if;
      end if;
      select f.at into known_at from email_firsts f
      where f.delivery_id = of_delivery and f.kind = what for update;
      if known_at is null or known_at is not distinct from first_at then return; end if;
      if first_at is null then
        delete from email_firsts f where f.delivery_id = of_delivery and f.kind = what;
      else
        update email_firsts f set at = first_at where f.delivery_id = of_delivery and f.kind = what;
      end if;
      perform count_delivery(of_delivery, what, known_at, -1);
      if first_at is not null then perform count_delivery(of_delivery, what, first_at, 1); end if;
    end $$`.execute(db)
  // The lock is that of an email's tracking, which who records opens and clicks has already. What is read after it is all that
  // others have committed. Where events have been deleted since, the first time is the one that is known.
  await sql`
    create or replace function recount_first(of_email text, to_address text, what text, has_lost boolean)
    returns void language plpgsql volatile as $$
    declare
      found_id bigint;
      first_at timestamptz;
      known_at timestamptz;
    begin
      perform pg_advisory_xact_lock(hashtextextended('tracking:' || of_email, 0));
      select d.id into found_id from deliveries d where d.email_id = of_email and d.recipient = to_address limit 1;
      if found_id is null then return; end if;
      select min(e.at) into first_at from email_events e
      where e.email_id = of_email and e.recipient = to_address and e.status = what and e.machine is null;
      if not has_lost then
        select f.at into known_at from email_firsts f where f.delivery_id = found_id and f.kind = what;
      end if;
      perform set_first(found_id, what, least(first_at, known_at));
    end $$`.execute(db)
}

async function makeTriggers(db: Kysely<unknown>): Promise<void> {
  await sql`
    create or replace function count_accepted() returns trigger language plpgsql as $$
    begin
      insert into email_stat_changes (workspace_id, hour, domain_id, workflow_id, provider, tags, accepted)
      select w.workspace_id, stat_hour(w.created_at), w.domain_id, m.workflow_id, coalesce(w.provider, 'other'),
        coalesce(m.tags, '{}'), count(*)
      from written w
      left join lateral (select e.workflow_id, e.tags from emails e where e.id = w.email_id limit 1) m on true
      group by 1, 2, 3, 4, 5, 6;
      return null;
    end $$`.execute(db)
  await sql`
    create or replace function count_email_events() returns trigger language plpgsql as $$
    declare
      seen record;
    begin
      insert into email_stat_changes (workspace_id, hour, domain_id, workflow_id, provider, tags, sent, delivered,
        bounced, suppressed)
      ${countedEvents(sql`written`)};
      for seen in
        select distinct w.email_id, w.recipient, w.status from written w
        where w.status in ('opened', 'clicked') and w.machine is null order by 1, 2, 3
      loop
        perform recount_first(seen.email_id, seen.recipient, seen.status, false);
      end loop;
      return null;
    end $$`.execute(db)
  await sql`
    create or replace function recount_email_events() returns trigger language plpgsql as $$
    declare
      seen record;
    begin
      for seen in
        select distinct w.email_id, w.recipient, w.status from written w join former f on f.id = w.id
        where w.status in ('opened', 'clicked') and (w.machine is null) <> (f.machine is null) order by 1, 2, 3
      loop
        perform recount_first(seen.email_id, seen.recipient, seen.status, true);
      end loop;
      return null;
    end $$`.execute(db)
  await sql`
    create or replace function count_complaint() returns trigger language plpgsql as $$
    begin
      perform count_delivery(new.delivery_id, 'complained', new.at, 1);
      return null;
    end $$`.execute(db)
  await sql`
    create or replace function count_unsubscribe() returns trigger language plpgsql as $$
    begin
      perform set_first(d.id, 'unsubscribed', least(new.at, f.at))
      from (
        select o.id from deliveries o
        where o.email_id = new.properties->>'email_id' and o.workspace_id = new.workspace_id
          and lower(o.recipient) = new.email
        order by o.to_team, o.id limit 1
      ) d left join email_firsts f on f.delivery_id = d.id and f.kind = 'unsubscribed';
      return null;
    end $$`.execute(db)
}

/** What is counted of email events, by what it is grouped by. What was stopped since its recipient left counts as nothing. */
function countedEvents(source: ReturnType<typeof sql>, which = sql`true`) {
  return sql`
      select w.workspace_id, stat_hour(w.at), coalesce(d.domain_id, m.domain_id, ''), m.workflow_id,
        coalesce(d.provider, 'other'), coalesce(m.tags, '{}'),
        count(*) filter (where w.status = 'sent'), count(*) filter (where w.status = 'delivered'),
        count(*) filter (where w.status = 'bounced'
          and w.data->>'subtype' is distinct from 'OnAccountSuppressionList'),
        count(*) filter (where w.status = 'bounced' and w.data->>'subtype' = 'OnAccountSuppressionList')
      from ${source} w
      left join lateral (select o.domain_id, o.provider from deliveries o
        where o.email_id = w.email_id and o.recipient = w.recipient limit 1) d on true
      left join lateral (select e.domain_id, e.workflow_id, e.tags from emails e
        where e.id = w.email_id limit 1) m on true
      where ${which} and (w.status in ('sent', 'delivered') or (w.status = 'bounced'
        and coalesce(w.data->>'subtype', '') not in ('Unsubscribed', 'Cancelled')))
      group by 1, 2, 3, 4, 5, 6`
}

/** From one moment on the triggers count; what is there at that moment is counted in pages. */
async function countFromNowOn(db: Kysely<unknown>): Promise<void> {
  await sql`
    do $$ begin
      if exists (select from email_stat_history where source = 'deliveries') then return; end if;
      lock table deliveries in share row exclusive mode;
      create trigger count_accepted after insert on deliveries
        referencing new table as written for each statement execute function count_accepted();
      insert into email_stat_history select 'deliveries', coalesce(min(id), 1), coalesce(max(id), 0) from deliveries;
    end $$`.execute(db)
  await sql`
    do $$ begin
      if exists (select from email_stat_history where source = 'email_events') then return; end if;
      lock table email_events in share row exclusive mode;
      create trigger count_email_events after insert on email_events
        referencing new table as written for each statement execute function count_email_events();
      create trigger recount_email_events after update on email_events
        referencing old table as former new table as written
        for each statement execute function recount_email_events();
      insert into email_stat_history select 'email_events', coalesce(min(id), 1), coalesce(max(id), 0)
      from email_events;
    end $$`.execute(db)
  // Complaints are few, so those of before are counted at once.
  await sql`
    do $$ begin
      if exists (select from email_stat_history where source = 'complaints') then return; end if;
      lock table complaints in share row exclusive mode;
      create trigger count_complaint after insert on complaints
        for each row execute function count_complaint();
      perform count_delivery(c.delivery_id, 'complained', c.at, 1) from complaints c;
      insert into email_stat_history values ('complaints', 1, 0);
    end $$`.execute(db)
  await sql`
    create or replace trigger count_unsubscribe after insert on automation_events
      for each row when (new.event_name = 'email.unsubscribed') execute function count_unsubscribe()`.execute(
    db,
  )
}

/** The next page of what is counted; undefined: it is all counted. */
async function nextPage(
  db: Kysely<unknown>,
  source: string,
): Promise<{ from: number; to: number } | undefined> {
  const { rows } = await sql<{ next_id: string; until_id: string }>`
    select next_id::text, until_id::text from email_stat_history where source = ${source}`.execute(
    db,
  )
  const from = Number(rows[0]?.next_id ?? 1)
  const until = Number(rows[0]?.until_id ?? 0)
  return from > until ? undefined : { from, to: Math.min(from + PAGE - 1, until) }
}

async function countDeliveriesBefore(db: Kysely<unknown>): Promise<void> {
  for (;;) {
    const page = await nextPage(db, 'deliveries')
    if (!page) return
    await sql`
      with moved as (
        update email_stat_history set next_id = ${page.to}::bigint + 1
        where source = 'deliveries' and next_id = ${page.from}::bigint returning source
      )
      insert into email_stat_changes (workspace_id, hour, domain_id, workflow_id, provider, tags, accepted)
      select d.workspace_id, stat_hour(d.created_at), d.domain_id, m.workflow_id, coalesce(d.provider, 'other'),
        coalesce(m.tags, '{}'), count(*)
      from moved cross join deliveries d
      left join lateral (select e.workflow_id, e.tags from emails e where e.id = d.email_id limit 1) m on true
      where d.id between ${page.from}::bigint and ${page.to}::bigint
      group by 1, 2, 3, 4, 5, 6`.execute(db)
  }
}

async function countEventsBefore(db: Kysely<unknown>): Promise<void> {
  for (;;) {
    const page = await nextPage(db, 'email_events')
    if (!page) return
    const isOfPage = sql`w.id between ${page.from}::bigint and ${page.to}::bigint`
    // Done again it changes nothing, so it comes before the page is left behind.
    await sql`
      select recount_first(s.email_id, s.recipient, s.status, false) from (
        select distinct w.email_id, w.recipient, w.status from email_events w
        where ${isOfPage} and w.status in ('opened', 'clicked') and w.machine is null
        order by 1, 2, 3) s`.execute(db)
    await sql`
      with moved as (
        update email_stat_history set next_id = ${page.to}::bigint + 1
        where source = 'email_events' and next_id = ${page.from}::bigint returning source
      )
      insert into email_stat_changes (workspace_id, hour, domain_id, workflow_id, provider, tags, sent, delivered,
        bounced, suppressed)
      ${countedEvents(sql`email_events`, sql`${isOfPage} and exists (select from moved)`)}`.execute(
      db,
    )
  }
}

async function countUnsubscribesBefore(db: Kysely<unknown>): Promise<void> {
  await sql`
    select set_first(u.delivery_id, 'unsubscribed', least(u.at, f.at)) from (
      select d.id as delivery_id, min(v.at) as at from automation_events v
      cross join lateral (
        select o.id from deliveries o
        where o.email_id = v.properties->>'email_id' and o.workspace_id = v.workspace_id
          and lower(o.recipient) = v.email
        order by o.to_team, o.id limit 1) d
      where v.event_name = 'email.unsubscribed' group by d.id
    ) u left join email_firsts f on f.delivery_id = u.delivery_id and f.kind = 'unsubscribed'`.execute(
    db,
  )
}
