// Who owns each delivery lane: a row that fences claims and marks.
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`set local lock_timeout = '5s'`.execute(db)
  await sql`
    create table lanes (
      lane integer primary key,
      lanes integer not null,
      shard_from smallint not null,
      shard_to smallint not null,
      owner text collate "C" not null,
      epoch bigint not null,
      marks_from bigint not null,
      offered boolean not null,
      until timestamptz(3) not null
    ) with (fillfactor = 50);
  `.execute(db)
}
