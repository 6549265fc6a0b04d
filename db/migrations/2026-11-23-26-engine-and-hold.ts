// Under which semantics of the interpreter a version runs, which keeps workers of the release before from running those that they
// would read otherwise; and waits of executions that a paused workflow holds.
import { type Kysely, sql } from 'kysely'

/** Postgres builds an index beside writers only outside of a transaction. */
export const outsideTransaction = true

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`set lock_timeout = '5s'`.execute(db)
  await sql`alter table workflow_versions add column if not exists engine smallint not null default 1`.execute(
    db,
  )
  // null: written by a process of the release before, which knows nothing of it.
  await sql`alter table execution_segments add column if not exists engine smallint`.execute(db)
  await sql`alter table event_waits add column if not exists held_workflow_id text collate "C"`.execute(
    db,
  )
  await sql`
    alter table workflows add column if not exists held text not null default 'release'
      check (held in ('release', 'cancel'))`.execute(db)
  // An error of class 55 is one that a worker tries again for as long as it takes: the execution neither fails nor moves.
  await sql`
    create or replace function execution_segments_fence() returns trigger language plpgsql as $fence$
    begin
      if exists (
        select from executions e
          join workflow_versions v on v.workflow_id = e.workflow_id and v.version = e.version
        where e.id = new.execution_id and v.engine > 1
      ) then
        raise exception 'execution_segments_fence: a newer release must run this segment'
          using errcode = 'object_not_in_prerequisite_state';
      end if;
      return new;
    end
    $fence$`.execute(db)
  await sql`
    create or replace trigger execution_segments_fence before insert on execution_segments
    for each row when (new.engine is null) execute function execution_segments_fence()`.execute(db)
  // Building it waits for transactions that are open now, however long they take. It blocks nobody meanwhile.
  await sql`set lock_timeout = 0`.execute(db)
  await sql`drop index concurrently if exists event_waits_held`.execute(db)
  await sql`
    create index concurrently event_waits_held on event_waits (held_workflow_id, execution_id)
    where held_workflow_id is not null and ended_by is null`.execute(db)
}
