// A worker freezes in the middle of what it writes: its locks end, and another worker goes on.
import { expect, onTestFinished, test } from 'vitest'
import { createTestDatabase } from '../setup/database.ts'
import { eventually } from '../setup/eventually.ts'
import { design, insertFlow, mail, onEvent } from '../setup/flows.ts'
import { createHarness } from '../setup/harness.ts'
import { startWorker } from '../setup/processes.ts'
import { openSession } from '../setup/session.ts'

const database = await createTestDatabase()
const { db, pool } = database
const SOON = { deadline_ms: 90_000 }
const GATE = 7

/** A write of each, which waits for the gate. */
const writes = {
  starter: `update or delete on outbox for each row when (old.kind = 'start')`,
  segment: `insert on execution_segments for each row`,
  pump: `insert on automation_events for each row when (new.event_name = 'email.delivered')`,
}

await pool.query(`create function pass_gate() returns trigger language plpgsql as $$
  begin
    perform pg_advisory_xact_lock(${GATE});
    if tg_op = 'DELETE' then return old; end if;
    return new;
  end $$`)

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

test.each(Object.entries(writes))(
  'frozen in a transaction of the %s',
  async (name, write) => {
    const h = await createHarness(database)
    await insertFlow(db, h, flow)
    const email = `${name}@example.test`
    const gate = await openSession(database.url)
    await gate.run(`select pg_advisory_lock(${GATE})`)
    await pool.query(`create trigger pass_gate before ${write} execute function pass_gate()`)
    const table = /on (\w+)/.exec(write)?.[1]
    onTestFinished(async () => void (await pool.query(`drop trigger pass_gate on ${table}`)))

    const event = { event_name: 'began', email }
    expect((await h.request('POST', '/v1/automation/events', event)).status).toBe(202)
    await eventually(async () => expect(await gate.waiting()).toBeGreaterThan(0), SOON)
    h.workers[0]?.freeze()
    await gate.run(`select pg_advisory_unlock(${GATE})`)
    await startWorker(h.service)

    await eventually(async () => {
      const executions = db.selectFrom('executions').select('ended_status')
      expect(await executions.where('email', '=', email).execute()).toEqual([
        { ended_status: 'COMPLETED' },
      ])
      const events = db
        .selectFrom('automation_events')
        .select('event_name')
        .where('email', '=', email)
      expect((await events.execute()).map((row) => row.event_name).sort()).toEqual([
        'began',
        'email.delivered',
        'email.sent',
      ])
      expect(await db.selectFrom('outbox').select('id').execute()).toEqual([])
    }, SOON)
    const other = { event_name: 'went.on', email }
    expect((await h.request('POST', '/v1/automation/events', other)).status).toBe(202)
  },
  300_000,
)
