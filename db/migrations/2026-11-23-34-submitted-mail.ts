// Mail that was submitted by SMTP: the whole message, which is sent as it was written.
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table email_sources (
      email_id text collate "C" not null,
      position smallint not null,
      content bytea not null,
      primary key (email_id, position)
    )`.execute(db)
  await sql`
    do $$ begin
      alter table email_sources alter column content set compression lz4;
    exception when feature_not_supported then
      raise notice 'this Postgres has no lz4: messages keep the other compression';
    end $$
  `.execute(db)
}
