// What a worker's main thread was working on when it stalled or died: it runs alone, and is given up when it ends the
// worker again and again.
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table suspects (
      kind text collate "C" not null,
      id text collate "C" not null,
      workspace_id text collate "C" not null,
      step text collate "C" not null,
      deaths int not null default 0,
      last_run text collate "C",
      noted_at timestamptz(3) not null,
      primary key (kind, id)
    );
  `.execute(db)
}
