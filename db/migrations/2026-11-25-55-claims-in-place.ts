// What a claim changes stands in no index of `deliveries` any more, so that it writes none; what is claimed is noted beside.
// It may be run again after it was interrupted.
import { type Kysely, sql } from 'kysely'

/** Postgres builds an index beside writers only outside of a transaction. */
export const outsideTransaction = true

/** Indexes as before, but for `lease_until`, each with the one that it takes the place of. */
const indexes: Record<string, { on: string; was: string }> = {
  deliveries_in_line: {
    on: '(class, workspace_id, shard, destination, next_at) where ready and settled_at is null',
    was: 'deliveries_lines',
  },
  deliveries_put_off: {
    on: '(shard, next_at) where not ready and settled_at is null',
    was: 'deliveries_later',
  },
  deliveries_put_off_turns: {
    on: '(shard, workspace_id, next_at) where not ready and settled_at is null',
    was: 'deliveries_later_turns',
  },
  deliveries_unsettled_to: {
    on: '(workspace_id, lower(recipient)) where settled_at is null',
    was: 'deliveries_waiting_to',
  },
}

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`set lock_timeout = '5s'`.execute(db)
  await noteClaims(db)
  // Building them waits for transactions that are open now, however long they take. It blocks nobody meanwhile.
  await sql`set lock_timeout = 0`.execute(db)
  for (const [name, { on, was }] of Object.entries(indexes)) {
    await build(db, name, on)
    await sql`drop index concurrently if exists ${sql.ref(was)}`.execute(db)
  }
  // For workers of the release before alone, which look for expired leases in `deliveries`: it goes a release later. It tells
  // of the pages that had leases since, and is no hindrance to updates that write no other index.
  await build(db, 'deliveries_lease_pages', 'using brin (lease_until)')
  await sql`drop index concurrently if exists deliveries_leased`.execute(db)
}

/**
 * Builds an index. One that a run before has built stays, because the index whose place it takes may be gone; one whose build
 * was interrupted is not valid, and built anew.
 */
async function build(db: Kysely<unknown>, name: string, on: string): Promise<void> {
  const { rows } = await sql`
    select from pg_index where indexrelid = to_regclass(${name}) and indisvalid`.execute(db)
  if (rows.length > 0) return
  await sql`drop index concurrently if exists ${sql.ref(name)}`.execute(db)
  await sql`create index concurrently ${sql.ref(name)} on deliveries ${sql.raw(on)}`.execute(db)
}

/** A claim notes what it has taken. For the claims of workers of the release before, which does not know of it, a trigger does. */
async function noteClaims(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table if not exists delivery_claims (
      id bigint generated always as identity primary key,
      token uuid not null,
      -- The shards from which it was taken, the last one excluded.
      from_shard smallint not null,
      to_shard smallint not null,
      ids bigint[] not null,
      -- No lease of these deliveries ends before.
      until timestamptz(3) not null
    )`.execute(db)
  await sql`create index if not exists delivery_claims_until on delivery_claims (until, id)`.execute(
    db,
  )
  await sql`
    create or replace function note_claim() returns trigger language plpgsql as $$
    begin
      insert into delivery_claims (token, from_shard, to_shard, ids, until)
      values (new.lease_token, new.shard, new.shard + 1, array[new.id], new.lease_until);
      return null;
    end $$`.execute(db)
  await sql`
    create or replace trigger note_claim after update of lease_token on deliveries for each row
      when (new.lease_until is not null and new.lease_token is distinct from old.lease_token
        and current_setting('dripline.notes_claims', true) is distinct from 'yes')
      execute function note_claim()`.execute(db)
  // What was claimed before there was the trigger.
  await sql`
    insert into delivery_claims (token, from_shard, to_shard, ids, until)
    select lease_token, shard, shard + 1, array_agg(id), min(lease_until)
    from deliveries where lease_until is not null and lease_token is not null
    group by lease_token, shard`.execute(db)
}
