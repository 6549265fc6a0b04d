// What workers know of a namespace of Temporal: up to when they have seen what ended there, and how far they have looked for
// what it has lost.
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table temporal_namespaces (
      name text collate "C" primary key,
      id text,
      swept_until timestamptz(3),
      unseen_until timestamptz(3),
      walk jsonb,
      lap_lost integer not null default 0,
      next_at timestamptz(3) not null
    );
  `.execute(db)
}
