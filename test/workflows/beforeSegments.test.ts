// What a segment locks before its contact, and what it knows of events that came before it.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase } from '../setup/database.ts'
import { type Engine, startEngine } from '../setup/engine.ts'
import { eventually } from '../setup/eventually.ts'
import { design, onEvent, recordEvent } from '../setup/flows.ts'
import { newId, now } from '../setup/harness.ts'
import { openSession } from '../setup/session.ts'
import { uniqueName } from '../setup/unique.ts'

const database = await createTestDatabase()
const { db, url } = database
let engine: Engine

beforeAll(async () => {
  engine = await startEngine(database)
  await engine.stopStarter()
})
afterAll(() => engine?.stop())

const run = (executionId: string, segment: number) => engine.runSegment({ executionId, segment })

/** An audience with one subscriber. @returns its id */
async function insertAudience(email: string): Promise<string> {
  const { workspaceId: workspace_id, userId: created_by } = engine
  const audience_id = newId('audience')
  const at = { created_at: now(), updated_at: now() }
  await db
    .insertInto('audiences')
    .values({
      id: audience_id,
      workspace_id,
      name: audience_id,
      created_by,
      contact_count: 1,
      ...at,
    })
    .execute()
  await db
    .insertInto('audience_contacts')
    .values({
      id: newId('audienceContact'),
      audience_id,
      workspace_id,
      email,
      first_name: null,
      last_name: null,
      properties: '{}',
      leave_copied: null,
      ...at,
    })
    .execute()
  return audience_id
}

test('a node that leaves audiences locks them before the contact', {
  timeout: 90_000,
}, async () => {
  const { id, email } = await engine.run(
    design({ start: onEvent('x'), leave: ['unsubscribe', { scope: 'workspace' }] }, [
      ['start', 'leave'],
    ]),
  )
  const audienceId = await insertAudience(email)
  const joining = await openSession(url)
  await joining.run('begin')
  await joining.run(`select from audiences where id = '${audienceId}' for update`)
  const running = run(id, 0)
  await eventually(async () => expect(await joining.waiting()).toBe(1), { deadline_ms: 60_000 })
  await joining.run(`select from contacts where email = '${email}' for update nowait`)
  await joining.run('commit')
  await running
  expect(await engine.row(id)).toMatchObject({ cancellation_reason: 'unsubscribed' })
  const [left] = await db
    .selectFrom('audience_contacts')
    .select('is_subscribed')
    .where('audience_id', '=', audienceId)
    .execute()
  expect(left?.is_subscribed).toBe(false)
})

const ofGoal = (event_name: string) =>
  design(
    { start: onEvent('x'), rest: ['delay', { duration: 'P1D' }], goal: ['goal', { event_name }] },
    [
      ['start', 'rest'],
      ['rest', 'goal'],
    ],
  )

test('a goal is reached by an event that came since the start, whatever time it names', async () => {
  const eventName = uniqueName('paid')
  const { id, email } = await engine.run(ofGoal(eventName))
  // The clock of the sender is a minute behind.
  const at = new Date(Date.now() - 60_000)
  await recordEvent(db, engine.workspaceId, { eventName, email, at })
  await run(id, 0)
  expect(await engine.steps(id)).toEqual(['start=default', 'goal=default'])
})

test('a goal is not reached by an event that came before the start', async () => {
  const eventName = uniqueName('paid')
  const email = `${uniqueName('c')}@example.test`
  // The clock of the sender is a minute ahead.
  const at = new Date(Date.now() + 60_000)
  await recordEvent(db, engine.workspaceId, { eventName, email, at })
  const { id } = await engine.run(ofGoal(eventName), email)
  await run(id, 0)
  expect(await engine.steps(id)).toEqual(['start=default', 'rest=null'])
})
