// The event `email.sent` of a segment's mail: other workflows read the contact as the segment leaves them.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase } from '../setup/database.ts'
import { type Engine, startEngine } from '../setup/engine.ts'
import { design, insertFlow, mail, onEvent } from '../setup/flows.ts'

const database = await createTestDatabase()
let engine: Engine

beforeAll(async () => {
  engine = await startEngine(database)
  await engine.stopStarter()
})
afterAll(async () => {
  engine?.startStarter()
  await engine?.stop()
})

test('a workflow that email.sent starts is asked with the properties that the segment has set', async () => {
  const other = await insertFlow(
    database.db,
    engine,
    design({ sent: onEvent('email.sent'), end: ['exit', {}] }, [['sent', 'end']]),
  )
  const isPro = { type: 'rule', field: 'properties.plan', operator: 'eq', value: 'pro' }
  await database.db
    .updateTable('workflow_triggers')
    .set({ filter: JSON.stringify(isPro) })
    .where('workflow_id', '=', other)
    .execute()
  const { id, email } = await engine.run(
    design(
      {
        start: onEvent('x'),
        plan: ['update_contact', { set: { plan: 'pro' } }],
        hello: mail('Hello'),
      },
      [
        ['start', 'plan'],
        ['plan', 'hello'],
      ],
    ),
  )
  await engine.runSegment({ executionId: id, segment: 0 })
  const started = await database.db
    .selectFrom('executions')
    .select('email')
    .where('workflow_id', '=', other)
    .execute()
  expect(started).toEqual([{ email }])
})

test('a condition counts the mail of its own segment, as the next segment does', async () => {
  const isSent = { type: 'event_count', event_name: 'email.sent', operator: 'eq', value: 1 }
  const { id } = await engine.run(
    design(
      {
        start: onEvent('x'),
        hello: mail('Hello'),
        now: ['condition', { condition: isSent }],
        pause: ['delay', { ms: 1 }],
        later: ['condition', { condition: isSent }],
      },
      [
        ['start', 'hello'],
        ['hello', 'now'],
        ['now', 'pause', 'true'],
        ['pause', 'later'],
      ],
    ),
  )
  const first = await engine.runSegment({ executionId: id, segment: 0 })
  // As after a crash before the answer was heard.
  expect(await engine.runSegment({ executionId: id, segment: 0 })).toEqual(first)
  await engine.runSegment({ executionId: id, segment: 1 })
  expect(await engine.steps(id)).toEqual([
    'start=default',
    'hello=default',
    'now=true',
    'pause=default',
    'later=true',
  ])
})
