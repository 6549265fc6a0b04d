// Tells webhooks that a workspace is near the limit of its day: once, when the row of the day notes it.
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`set local lock_timeout = '5s'`.execute(db)
  await sql`
    alter table email_days add near_limit integer;

    create function tell_of_near_limit() returns trigger language plpgsql as $$
    begin
      if not webhook_asked(new.workspace_id) then return null; end if;
      perform tell_webhooks(new.workspace_id, 'workspace.limit_near', clock_timestamp(),
        jsonb_build_object('workspace_id', new.workspace_id, 'limit', 'emails_per_day',
          'emails_per_day', new.near_limit, 'emails', new.emails, 'day', new.day), null);
      return null;
    end $$;
    create trigger tell_of_near_limit_at_once after insert on email_days
      for each row when (new.near_limit is not null) execute function tell_of_near_limit();
    create trigger tell_of_near_limit after update on email_days
      for each row when (old.near_limit is null and new.near_limit is not null)
      execute function tell_of_near_limit();
  `.execute(db)
}
