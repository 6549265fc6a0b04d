// The order among waiting mail: its class and destination, and which domains have the same destination.
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table deliveries
      -- The place in mailClasses (rules/mail/classes.ts): 0 transactional, 1 automation, 2 broadcast.
      add column class smallint not null default 0,
      -- What is one receiver for connections and pace; '' in rows of the release before.
      add column destination text collate "C" not null default '',
      -- Whether it was due when this was written. A lane makes the others ready when their next_at comes.
      add column ready boolean not null default true;
    -- Rows are longer now: the mark before the dot changes no index only where its page has room.
    alter table deliveries set (fillfactor = 60);

    -- What direct delivery has learned about the domains of recipients.
    create table recipient_domains (
      domain text collate "C" primary key,
      -- The provider or the addresses of its mail servers; null: not found yet.
      destination text collate "C",
      shard smallint,
      -- Since when the DNS says that the domain does not exist; null: it exists.
      nx_since timestamptz(3),
      looked_up_at timestamptz(3) not null
    );
  `.execute(db)
}
