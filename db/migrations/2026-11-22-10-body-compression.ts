// Bodies and attachments are compressed with lz4 where Postgres was built with it: a third of the processor time that its
// older way takes for a large mail. What is stored already stays as it is.
import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    do $$ begin
      alter table emails alter column html set compression lz4, alter column text set compression lz4;
      alter table email_attachments alter column content set compression lz4;
    exception when feature_not_supported then
      raise notice 'this Postgres has no lz4: bodies keep their compression';
    end $$
  `.execute(db)
}
