// Finds mail by whom it asks to answer: the first address of `reply_to` by an index, to which mail without one adds nothing, and the few
// further ones by `header_names`. Who is erased is taken out of it too.
import { type Kysely, sql } from 'kysely'

/** Postgres builds an index beside writers only outside of a transaction. */
export const outsideTransaction = true

/** Emails of one statement. */
const PAGE = 5_000

/** The address alone of an entry, as `addressIn` in db/contacts/blank.ts reads it. */
const addressIn = (entry: string) =>
  sql.raw(
    `coalesce(substring(${entry} from '<([^<>]+)>[^<>]*$'), substring(${entry} from '[!-~]+@[!-~]+'), ${entry})`,
  )

/** The rows of an email `m` for the addresses behind the first. The hash has another seed than those of recipients, to tell them apart. */
const furtherOf = sql`
      select m.workspace_id, hashtextextended(lower(${addressIn('a.entry')}), 1), m.id
      from unnest(m.reply_to[2:]) as a(entry)`

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`set lock_timeout = '5s'`.execute(db)
  // A trigger, so that processes of the release before write these too.
  await sql`
    create or replace function note_reply_to() returns trigger language plpgsql as $$
    begin
      insert into header_names (workspace_id, hash, email_id)
      select n.* from (select (new).*) m cross join lateral (${furtherOf}) n
      on conflict do nothing;
      return null;
    end $$`.execute(db)
  await sql`
    create or replace trigger note_reply_to after insert on emails for each row
    when (cardinality(new.reply_to) > 1) execute function note_reply_to()`.execute(db)
  await noteThoseOfBefore(db)
  // Building it waits for transactions that are open now, however long they take. It blocks nobody meanwhile.
  await sql`set lock_timeout = 0`.execute(db)
  await sql`drop index concurrently if exists emails_reply_to`.execute(db)
  await sql`
    create index concurrently emails_reply_to on emails (workspace_id,
      lower(${addressIn('reply_to[1]')}), id) where reply_to <> '{}'
  `.execute(db)
}

/** In the order of the emails' ids. Done again it writes nothing twice. */
async function noteThoseOfBefore(db: Kysely<unknown>): Promise<void> {
  for (let after: string | null = ''; after !== null; ) {
    const page: { rows: { last: string | null }[] } = await sql<{ last: string | null }>`
      with page as materialized (
        select id, workspace_id, reply_to from emails where id > ${after} order by id limit ${PAGE}::int
      ), noted as (
        insert into header_names (workspace_id, hash, email_id)
        select n.* from page m cross join lateral (${furtherOf}) n where cardinality(m.reply_to) > 1
        on conflict do nothing
      )
      select max(id) as last from page`.execute(db)
    after = page.rows[0]?.last ?? null
  }
}
