// The queues of the claims benchmark: that of the service, and one that its reference claims from.
import { type Kysely, sql } from 'kysely'
import type { Database } from '../db/schema.ts'
import { limits } from '../rules/limits.ts'

/** How many deliveries a claim takes. */
export const CLAIM_LIMIT = 200

type Db = Kysely<Database>

/** Accepts deliveries of these numbers, as many lines have them. */
export async function accept(db: Db, from: number, to: number): Promise<void> {
  await sql`
    insert into deliveries (email_id, workspace_id, domain_id, recipient, shard, state, next_at, expires_at,
      created_at, marketing, address_hmac, workflow_id, execution_id, class, destination)
    select 'email_' || i, 'ws_' || i % 50, 'dom_1', 'user' || i || '@d' || i % 997 || '.test', i % 997 % ${limits.shards}::int, 'queued',
      now() - interval '1 hour' + i % 1000000 * interval '1 ms', now() + interval '1 day', now(), i % 3 = 1,
      case when i % 3 = 1 then sha256(i::text::bytea) end, case when i % 3 = 1 then 'wf_1' end,
      case when i % 3 = 1 then 'exe_' || i end, i % 3, 'd' || i % 997 || '.test'
    from generate_series(${from}::int, ${to}::int) i`.execute(db)
}

/** Fills both queues with as many deliveries, and suppressions of others. */
export async function fill(db: Db, rows: number): Promise<void> {
  await accept(db, 1, rows)
  await fillReference(db)
  await sql`
    insert into suppressions (workspace_id, email, reason, created_at)
    select 'ws_' || i % 50, 'gone' || i || '@x.test', 'bounce', now() from generate_series(1, ${rows / 5}::int) i`.execute(
    db,
  )
  await sql`vacuum analyze`.execute(db)
}

/** The same rows for the reference, with an index of what is due, one of what is leased, and those that other work needs. */
async function fillReference(db: Db): Promise<void> {
  await sql`create table plain_queue (like deliveries including defaults including constraints including storage)
    with (fillfactor = 60)`.execute(db)
  await sql`insert into plain_queue select * from deliveries order by id`.execute(db)
  await sql`alter table plain_queue add primary key (id)`.execute(db)
  const indexes = [
    '(shard, next_at) where lease_until is null and settled_at is null',
    '(lease_until, shard) where lease_until is not null',
    '(address_hmac, created_at) where marketing',
    '(workspace_id, lower(recipient), email_id desc nulls last)',
  ]
  await sql`create unique index on plain_queue (email_id, recipient)`.execute(db)
  for (const on of indexes) await sql`create index on plain_queue ${sql.raw(on)}`.execute(db)
}
