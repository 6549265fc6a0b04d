// A segment takes effect once, however often it runs: twice, concurrently, or again after a crash.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase } from '../setup/database.ts'
import { type Engine, startEngine } from '../setup/engine.ts'
import { eventually } from '../setup/eventually.ts'
import { design, mail, onEvent } from '../setup/flows.ts'

const database = await createTestDatabase()
let engine: Engine
/** For this contact the first two calls of each segment are not run, or their answers are lost. */
let fault: { when: 'before' | 'after'; email: string } | undefined
/** Calls of runSegment, by `execution/segment`. */
const calls = new Map<string, number>()

beforeAll(async () => {
  engine = await startEngine(database, {
    around: ({ runSegment }) => ({
      async runSegment(input) {
        const name = `${input.executionId}/${input.segment}`
        const call = (calls.get(name) ?? 0) + 1
        calls.set(name, call)
        const { email } = await engine.row(input.executionId).catch(() => ({ email: '' }))
        const broken = fault?.email === email && call <= 2 ? fault.when : null
        if (broken === 'before') throw new Error('connection lost before the commit')
        const result = await runSegment(input)
        if (broken === 'after') throw new Error('connection lost after the commit')
        return result
      },
    }),
  })
})
afterAll(() => engine?.stop())

const threeMails = design(
  {
    start: onEvent('bought'),
    first: mail('First'),
    count: ['update_contact', { increment: { 'orders.count': 1 } }],
    second: mail('Second'),
    pause: ['delay', { ms: 50 }],
    third: mail('Third'),
  },
  [
    ['start', 'first'],
    ['first', 'count'],
    ['count', 'second'],
    ['second', 'pause'],
    ['pause', 'third'],
  ],
)
const toThePause = [
  'start=default',
  'first=default',
  'count=default',
  'second=default',
  'pause=null',
]
const toTheEnd = [...toThePause.slice(0, -1), 'pause=default', 'third=default']

async function propertiesOf(email: string) {
  const contact = await database.db
    .selectFrom('contacts')
    .select('properties')
    .where('email', '=', email)
    .executeTakeFirstOrThrow()
  return contact.properties
}

test('`email.sent` of a segment has the properties of every other', async () => {
  const { id, email, workflowId } = await engine.run(threeMails)
  await engine.ended(id, 'COMPLETED')
  const [sent] = await database.db
    .selectFrom('automation_events')
    .select('properties')
    .where('email', '=', email)
    .where('event_name', '=', 'email.sent')
    .orderBy('id')
    .execute()
  expect(sent?.properties).toEqual({
    status: 'sent',
    email_id: expect.stringMatching(/^em_/),
    subject: 'First',
    recipient: email,
    workflow_id: workflowId,
    execution_id: id,
    node_id: 'first',
  })
})

test('run twice, and five times at once: the same answer, one set of rows', async () => {
  await engine.stopStarter()
  try {
    const { id, email } = await engine.run(threeMails)
    const run = () => engine.runSegment({ executionId: id, segment: 0 })
    const answers = await Promise.all(Array.from({ length: 5 }, run))
    answers.push(await run())
    expect(answers[0]).toMatchObject({ next: { kind: 'sleep', nodeId: 'pause' }, step_count: 5 })
    for (const answer of answers) expect(answer).toEqual(answers[0])

    expect(await engine.steps(id)).toEqual(toThePause)
    expect(await engine.subjects(id)).toEqual(['First', 'Second'])
    expect(await propertiesOf(email)).toEqual({ orders: { count: 1 } })
    const counted = await database.db
      .selectFrom('contacts')
      .select('event_count')
      .where('email', '=', email)
      .executeTakeFirstOrThrow()
    // The triggering event, and one email.sent for each email.
    expect(counted.event_count).toBe(3)
  } finally {
    engine.startStarter()
  }
})

test.each(['before', 'after'] as const)(
  'the answer of a segment is lost %s its commit: every effect is there, once',
  async (when) => {
    const email = `lost-${when}@example.test`
    fault = { when, email }
    try {
      const { id } = await engine.run(threeMails, email)
      await engine.ended(id, 'COMPLETED')
      expect([0, 1].map((segment) => calls.get(`${id}/${segment}`))).toEqual([3, 3])
      expect(await engine.steps(id)).toEqual(toTheEnd)
      expect(await engine.subjects(id)).toEqual(['First', 'Second', 'Third'])
      expect(await propertiesOf(email)).toEqual({ orders: { count: 1 } })
    } finally {
      fault = undefined
    }
  },
)

test('an execution without a row ends FAILED instead of being tried forever', async () => {
  await engine.stopStarter()
  const { id } = await engine.run(threeMails)
  await database.db.deleteFrom('executions').where('id', '=', id).execute()
  engine.startStarter()
  await eventually(async () => expect((await engine.describe(id)).status).toBe('FAILED'))
  expect(await engine.steps(id)).toEqual([])
})
