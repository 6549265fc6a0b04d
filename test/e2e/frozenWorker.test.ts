// A worker freezes in the middle of what it writes: its locks end, and another worker goes on.
import { expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../setup/database.ts'
import { eventually } from '../setup/eventually.ts'
import { design, insertFlow, mail, onEvent } from '../setup/flows.ts'
import { createHarness } from '../setup/harness.ts'
import { startWorker } from '../setup/processes.ts'
import { openSession } from '../setup/session.ts'

const SOON = { deadline_ms: 120_000 }
const GATE = 7

/** A write of each, which waits for the gate. */
const writes = {
  starter: `update or delete on outbox for each row when (old.kind = 'start')`,
  segment: `insert on execution_segments for each row`,
  pump: `insert on automation_events for each row when (new.event_name = 'email.delivered')`,
}

const flow = design(
  {
    start: onEvent('began'),
    seen: ['update_contact', { set: { seen: true } }],
    hello: mail('Hello'),
  },
  [
    ['start', 'seen'],
    ['seen', 'hello'],
  ],
)

/** Each has a database and a namespace of its own. */
const databases = new Map<string, TestDatabase>()
for (const name of Object.keys(writes)) databases.set(name, await createTestDatabase())

async function goesOn(name: string, write: string): Promise<void> {
  const database = databases.get(name)
  if (!database) throw new Error(`there is no database for ${name}`)
  const { db, pool } = database
  const h = await createHarness(database)
  await insertFlow(db, h, flow)
  const email = `${name}@example.test`
  const gate = await openSession(database.url)
  await gate.run(`select pg_advisory_lock(${GATE})`)
  await pool.query(`create function pass_gate() returns trigger language plpgsql as $$
    begin
      perform pg_advisory_xact_lock(${GATE});
      if tg_op = 'DELETE' then return old; end if;
      return new;
    end $$`)
  await pool.query(`create trigger pass_gate before ${write} execute function pass_gate()`)

  const event = { event_name: 'began', email }
  expect((await h.request('POST', '/v1/automation/events', event)).status, name).toBe(202)
  await eventually(async () => expect(await gate.waiting(), name).toBeGreaterThan(0), SOON)
  h.workers[0]?.freeze()
  await gate.run(`select pg_advisory_unlock(${GATE})`)
  await startWorker(h.service)

  await eventually(async () => {
    const executions = db.selectFrom('executions').select('ended_status')
    expect(await executions.where('email', '=', email).execute(), name).toEqual([
      { ended_status: 'COMPLETED' },
    ])
    const events = db.selectFrom('automation_events').select('event_name')
    const names = (await events.where('email', '=', email).execute()).map((row) => row.event_name)
    expect(names.sort(), name).toEqual(['began', 'email.delivered', 'email.sent'])
    expect(await db.selectFrom('outbox').select('id').execute(), name).toEqual([])
  }, SOON)
  const other = { event_name: 'went.on', email }
  expect((await h.request('POST', '/v1/automation/events', other)).status, name).toBe(202)
}

// At the same time, since each waits for most of it: Postgres ends an idle transaction of a worker after half a minute.
test('frozen in a transaction of the starter, of a segment, and of the pump', {
  timeout: 300_000,
}, async () => {
  await Promise.all(Object.entries(writes).map(([name, write]) => goesOn(name, write)))
})
