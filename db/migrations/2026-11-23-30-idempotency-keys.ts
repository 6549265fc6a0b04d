// The answers of requests that came with an Idempotency-Key, for those that repeat them.
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table idempotency_keys (
      workspace_id text collate "C" not null,
      key_hash bytea not null,
      fingerprint bytea not null,
      status smallint not null,
      body text not null,
      created_at timestamptz(3) not null,
      primary key (workspace_id, key_hash)
    );
    create index idempotency_keys_age on idempotency_keys (created_at);
  `.execute(db)
}
