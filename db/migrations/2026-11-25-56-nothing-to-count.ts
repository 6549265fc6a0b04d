// A statement that has written no email events does not count them: a claim is one, unless somebody has left.
import { type Kysely, sql } from 'kysely'

/** As before, but for its first line. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create or replace function count_email_events() returns trigger language plpgsql as $$
    declare
      seen record;
    begin
      if not exists (select from written) then return null; end if;
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
