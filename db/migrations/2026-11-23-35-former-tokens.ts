// Tokens that an API key had before it was rotated, and that live on for a while.
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table former_tokens (
      token_hash bytea primary key,
      workspace_id text collate "C" not null references workspaces,
      key_id text collate "C" not null references api_keys on delete cascade,
      expires_at timestamptz(3) not null
    );
    create index former_tokens_key on former_tokens (key_id);
  `.execute(db)
}
