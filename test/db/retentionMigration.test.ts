// While the database is migrated nobody hears of a deleted suppression twice.
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { up } from '../../db/migrations/2026-11-24-46-retention.ts'
import { createTestDatabase } from '../setup/database.ts'

const { db } = await createTestDatabase({ poolSize: 1 })

test('the triggers that tell of deleted suppressions change places in one commit, and it may be said again', async () => {
  // As the releases before have it.
  await sql`drop trigger tell_of_deleted_suppression on suppressions`.execute(db)
  await sql`
    create or replace trigger tell_of_suppression after insert or update or delete on suppressions
      for each row execute function tell_of_suppression()`.execute(db)
  await sql`create table commits (id bigint)`.execute(db)
  await sql`
    create function note_commit() returns event_trigger language plpgsql as $$
    begin insert into commits values (txid_current()); end $$`.execute(db)
  await sql`
    create event trigger note_commits on ddl_command_end when tag in ('CREATE TRIGGER')
      execute function note_commit()`.execute(db)
  await up(db as never)
  const { rows } = await sql<{ made: number; commits: number }>`
    select count(*)::int as made, count(distinct id)::int as commits from commits`.execute(db)
  expect(rows).toEqual([{ made: 2, commits: 1 }])
  await up(db as never)
  const { rows: telling } = await sql<{ name: string }>`
    select tgname as name from pg_trigger
    where tgrelid = 'suppressions'::regclass and tgtype & 8 > 0 and not tgisinternal`.execute(db)
  expect(telling).toEqual([{ name: 'tell_of_deleted_suppression' }])
})
