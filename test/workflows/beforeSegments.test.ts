// What a segment locks before its contact, and what it knows of events that came before it.
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase } from '../setup/database.ts'
import { type Engine, startEngine } from '../setup/engine.ts'
import { eventually } from '../setup/eventually.ts'
import { design, insertFlow, onEvent, recordEvent } from '../setup/flows.ts'
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

/** Records events of one contact one after another, each by a process whose clock says so. @returns the execution that they start */
async function recordAt(events: [eventName: string, at_ms: number][]): Promise<string> {
  const email = `${uniqueName('c')}@example.test`
  const started: string[] = []
  for (const [eventName, at_ms] of events) {
    const clock = () => new Date(at_ms)
    const { executionIds } = await recordEvent(db, engine.workspaceId, { eventName, email }, clock)
    started.push(...executionIds)
  }
  const [id = ''] = started
  return id
}

/** A workflow that begins at an event, with a goal that another one reaches. @returns their names */
async function insertGoal(): Promise<{ cart: string; paid: string }> {
  const [cart, paid] = [uniqueName('cart'), uniqueName('paid')]
  const ofBoth = design(
    {
      start: onEvent(cart),
      rest: ['delay', { duration: 'P1D' }],
      goal: ['goal', { event_name: paid }],
    },
    [
      ['start', 'rest'],
      ['rest', 'goal'],
    ],
  )
  await insertFlow(db, engine, ofBoth)
  return { cart, paid }
}

test('a goal is reached by an event that came since the start to a process whose clock is behind', async () => {
  const { cart, paid } = await insertGoal()
  const t = Date.now()
  const id = await recordAt([
    [cart, t + 30],
    [paid, t + 15],
  ])
  await run(id, 0)
  expect(await engine.steps(id)).toEqual(['start=default', 'goal=default'])
})

test('a goal is not reached by an event that came before the start to a process whose clock is ahead', async () => {
  const { cart, paid } = await insertGoal()
  const t = Date.now()
  const id = await recordAt([
    [paid, t + 30],
    [cart, t + 15],
  ])
  await run(id, 0)
  expect(await engine.steps(id)).toEqual(['start=default', 'rest=null'])
})

test('of what a process of the release before wrote the times tell', async () => {
  const { cart, paid } = await insertGoal()
  const t = Date.now()
  const isReached = async (events: [string, number][]) => {
    const id = await recordAt(events)
    await sql`update automation_events set ordinal = null where event_name in (${cart}, ${paid})`.execute(
      db,
    )
    await run(id, 0)
    return (await engine.steps(id)).includes('goal=default')
  }
  expect(
    await isReached([
      [cart, t],
      [paid, t + 1],
    ]),
  ).toBe(true)
  expect(
    await isReached([
      [paid, t],
      [cart, t + 1],
    ]),
  ).toBe(false)
})
