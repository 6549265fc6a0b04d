// A lane that claims mail of a new domain beside that of others: each goes out by the claim that found it.
import { sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import { acceptMail } from '../setup/acceptedMail.ts'
import { createTestDatabase } from '../setup/database.ts'
import { eventually } from '../setup/eventually.ts'
import { seedWorkspace } from '../setup/harness.ts'
import { createTestWorker } from '../setup/lanes.ts'
import { startSmtp } from '../setup/smtp.ts'

const database = await createTestDatabase({ poolSize: 20 })
const { db } = database

test('mail that has asked for a place in the warm-up is sent at its first dot, as is what was claimed beside it', async () => {
  const smtp = await startSmtp()
  onTestFinished(() => smtp.stop())
  const [cold, warm] = [await seedWorkspace(db), await seedWorkspace(db)]
  await db
    .updateTable('domains')
    .set({ is_warmed_up: false, warmed_up_at: null })
    .where('id', '=', cold.domainId)
    .execute()
  await sql`create table moves (id int generated always as identity, recipient text, was text, state text)`.execute(
    db,
  )
  await sql`create function note_move() returns trigger language plpgsql as $$
    begin insert into moves (recipient, was, state) values (new.recipient, old.state, new.state); return null; end $$`.execute(
    db,
  )
  await sql`create trigger note_move after update of state on deliveries for each row
    when (old.state <> new.state) execute function note_move()`.execute(db)
  await acceptMail({ db, ...cold }, { text: 'Hello', to: ['a@cold.test'] })
  await acceptMail({ db, ...warm }, { text: 'Hello', to: ['a@warm.test'] })

  const worker = createTestWorker(database, smtp.url, { config: { warmUp: true } })
  await worker.own({ lane: 0, lanes: 1 })
  worker.wake()
  const rows = await eventually(async () => {
    const found = await db
      .selectFrom('deliveries')
      .select(['recipient', 'state', 'attempt', 'slot_day'])
      .orderBy('recipient')
      .execute()
    expect(found.map(({ state }) => state)).toEqual(['delivered', 'delivered'])
    return found
  })
  expect(rows.map(({ recipient, slot_day }) => [recipient, slot_day !== null])).toEqual([
    ['a@cold.test', true],
    ['a@warm.test', false],
  ])
  const { rows: moves } =
    await sql`select recipient, was, state from moves order by recipient, id`.execute(db)
  expect(moves).toEqual(
    ['a@cold.test', 'a@warm.test'].flatMap((recipient) => [
      { recipient, was: 'queued', state: 'sending' },
      { recipient, was: 'sending', state: 'data_sent' },
      { recipient, was: 'data_sent', state: 'delivered' },
    ]),
  )
  expect([...smtp.attempts.values()]).toEqual([1, 1])
  expect(smtp.mails.flatMap(({ to }) => to).sort()).toEqual(['a@cold.test', 'a@warm.test'])
})
