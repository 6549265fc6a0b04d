// Numbers the states of each workspace's triggers, so that an event asks for one number and not for every trigger of its name.
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  // Out of a sequence: a number that was rolled back is never given to another state.
  await sql`
    set local lock_timeout = '5s';
    create sequence workflow_trigger_version;
    create table workflow_trigger_versions (
      workspace_id text collate "C" primary key references workspaces,
      version bigint not null
    );
    create function number_triggers() returns trigger language plpgsql as $$
    begin
      insert into workflow_trigger_versions (workspace_id, version)
      select c.workspace_id, nextval('workflow_trigger_version') from (select distinct workspace_id from changed) c
      on conflict (workspace_id) do update set version = excluded.version;
      return null;
    end $$;
    create trigger number_inserted after insert on workflow_triggers
      referencing new table as changed for each statement execute function number_triggers();
    create trigger number_updated after update on workflow_triggers
      referencing new table as changed for each statement execute function number_triggers();
    create trigger number_deleted after delete on workflow_triggers
      referencing old table as changed for each statement execute function number_triggers();
    insert into workflow_trigger_versions (workspace_id, version)
    select t.workspace_id, nextval('workflow_trigger_version')
    from (select distinct workspace_id from workflow_triggers) t;
  `.execute(db)
}
