// Segments whose tries fail: for good, because Postgres cannot store what they write, or for as long as something is amiss.
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase } from '../setup/database.ts'
import { type Engine, startEngine } from '../setup/engine.ts'
import { eventually } from '../setup/eventually.ts'
import { design, mail, onEvent } from '../setup/flows.ts'

const database = await createTestDatabase()
const { db } = database
let engine: Engine
/** What the clock of the activities is ahead of the machine's. */
let ahead_ms = 0

beforeAll(async () => {
  engine = await startEngine(database, { now: () => new Date(Date.now() + ahead_ms) })
  // The first tries of a node `turns_<SQLSTATE>_<SQLSTATE>` fail with one of them each. A sequence is not rolled back.
  await sql`create sequence turns`.execute(db)
  await sql`create function raise_in_turn() returns trigger language plpgsql as $$
    declare
      state text := split_part(new.node_id, '_', 1 + nextval('turns')::integer);
    begin
      if state <> '' then
        raise exception 'in turn' using errcode = state;
      end if;
      return new;
    end $$`.execute(db)
  await sql`create trigger raise_in_turn before insert on execution_steps
    for each row when (new.node_id like 'turns_%') execute function raise_in_turn()`.execute(db)
  // A step of a node `raise_<SQLSTATE>` and the end of an execution that raises fail with that error.
  await sql`create function raise_state() returns trigger language plpgsql as $$
    begin
      if new.node_id like 'raise_%' then
        raise exception 'secret value' using errcode = split_part(new.node_id, '_', 2);
      end if;
      return new;
    end $$`.execute(db)
  await sql`create trigger raise_state before insert on execution_steps
    for each row execute function raise_state()`.execute(db)
  await sql`create function raise_at_end() returns trigger language plpgsql as $$
    begin
      if new.email like 'stuck%' then
        raise exception 'cannot end' using errcode = '58030';
      end if;
      return new;
    end $$`.execute(db)
  await sql`create trigger raise_at_end before update of ended_status on executions
    for each row execute function raise_at_end()`.execute(db)
}, 60_000)
afterAll(() => engine?.stop())

/** More than the workflow tasks that a worker takes at once. */
const MANY = 60
const SOON = { deadline_ms: 90_000 }

const raising = (state: string) =>
  design({ start: onEvent('x'), [`raise_${state}`]: ['exit', {}] }, [['start', `raise_${state}`]])

/** Waits until Temporal, and not the worker, waits for the next try of each. */
async function untilPutOff(ids: string[]): Promise<void> {
  for (const id of ids) {
    await eventually(async () => {
      const { events } = await engine.client.workflow.getHandle(id).fetchHistory()
      expect(events?.some((event) => event.timerStartedEventAttributes)).toBe(true)
    }, SOON)
  }
}

test('half a surrogate pair or a NUL in a rendered text or in a reason is replaced, and the mail is sent', async () => {
  // A reason is cut after 200 UTF-16 units: here in the middle of the face.
  const missing = { var: `event.${'a'.repeat(193)}😀` }
  const half = '{{ properties.name | split: "" | first }}'
  const { id } = await engine.run(
    design(
      {
        start: onEvent('x'),
        named: ['update_contact', { set: { name: '😀 Ada', missing } }],
        hello: mail(`Hi ${half}{{ "%00" | url_decode }}!`, { html: `<p>${half}</p>`, text: half }),
      },
      [
        ['start', 'named'],
        ['named', 'hello'],
      ],
    ),
  )
  await eventually(() => engine.ended(id, 'COMPLETED'), SOON)
  const row = await db
    .selectFrom('emails')
    .select(['subject', 'html', 'text'])
    .where('execution_id', '=', id)
    .executeTakeFirstOrThrow()
  expect(row).toEqual({ subject: 'Hi \ufffd!', html: '<p>\ufffd</p>', text: '\ufffd' })
  const step = await db
    .selectFrom('execution_steps')
    .select('why')
    .where('execution_id', '=', id)
    .where('node_id', '=', 'named')
    .executeTakeFirstOrThrow()
  expect(step.why).toBe(`event.${'a'.repeat(193)}\ufffd`)
}, 120_000)

async function expectRefused(id: string, state: string): Promise<void> {
  const row = await eventually(() => engine.ended(id, 'FAILED'), SOON)
  expect(row.error).toContain(`SQLSTATE ${state}`)
  expect(row.error).not.toContain('secret')
  const failure = await engine.client.workflow.result(id).catch((err: Error) => err)
  const message = 'failed before its first node; the API says why'
  expect(failure).toMatchObject({ cause: { message, type: 'ExecutionFailed' } })
}

test('data that cannot be stored (22P05) ends the execution FAILED with a text, here and in Temporal', async () => {
  const { id } = await engine.run(raising('22P05'))
  await expectRefused(id, '22P05')
}, 120_000)

test('a constraint that refuses (23514) may be a race or a release that is under way: it ends the execution after ten minutes', async () => {
  const { id } = await engine.run(raising('23514'))
  // After its fourth try.
  await untilPutOff([id])
  expect((await engine.row(id)).ended_status).toBeNull()
  ahead_ms += 10 * 60 * 1000
  await expectRefused(id, '23514')
}, 240_000)

test('a refusal after tries that failed for other reasons is the first one', async () => {
  const turns = 'turns_55P03_55P03_22P05_23505_22P05_22P05'
  const { id } = await engine.run(
    design({ start: onEvent('x'), [turns]: ['exit', {}] }, [['start', turns]]),
  )
  await eventually(() => engine.ended(id, 'COMPLETED'), SOON)
}, 120_000)

test('segments that fail for another reason are put off through Temporal and keep no place; they go on when it has passed', async () => {
  const failing = await Promise.all(
    Array.from({ length: MANY }, () => engine.run(raising('58030'))),
  )
  await untilPutOff(failing.map(({ id }) => id))
  const other = await engine.run(design({ start: onEvent('x') }, []))
  await eventually(() => engine.ended(other.id, 'COMPLETED'), SOON)
  for (const { id } of failing) expect((await engine.row(id)).ended_status).toBeNull()
  await sql`alter table execution_steps disable trigger raise_state`.execute(db)
  for (const { id } of failing) await eventually(() => engine.ended(id, 'COMPLETED'), SOON)
}, 300_000)

test('so is a cancellation whose row cannot be written', async () => {
  const { id } = await engine.run(
    design({ start: onEvent('x'), wait: ['wait_for_event', { event_name: 'y' }] }, [
      ['start', 'wait'],
    ]),
    'stuck@example.test',
  )
  await eventually(() => engine.waiting(id, 'wait'), SOON)
  await engine.client.workflow.getHandle(id).cancel()
  await untilPutOff([id])
  await sql`alter table executions disable trigger raise_at_end`.execute(db)
  await eventually(() => engine.ended(id, 'CANCELLED'), SOON)
}, 300_000)
