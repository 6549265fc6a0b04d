// Secrets and versions of workflows that a key for one domain has made: such a version reads that domain's secrets alone.
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`set local lock_timeout = '5s'`.execute(db)
  await sql`alter table secrets add column if not exists domain_id text collate "C"`.execute(db)
  await sql`create index if not exists secrets_of_domain on secrets (workspace_id, domain_id, name)`.execute(
    db,
  )
  await sql`alter table workflow_versions add column if not exists bound_domain_id text collate "C"`.execute(
    db,
  )
}
