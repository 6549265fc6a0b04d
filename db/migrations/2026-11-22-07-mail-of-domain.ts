// Indexes for the lists of a domain's emails and keys, which are all that a key for that domain sees.
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create index emails_domain on emails (domain_id, id desc nulls last);
    create index api_keys_domain on api_keys (domain_id, id desc nulls last)
      where revoked_at is null and domain_id is not null;
  `.execute(db)
}
