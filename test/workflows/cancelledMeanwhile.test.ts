// An execution is cancelled, or closed, while one of its segments runs: that waits for nothing, and the segment has no effect.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { cancelExecution } from '../../commands/executions/cancel.ts'
import { closeExecution } from '../../commands/executions/close.ts'
import { createTestDatabase } from '../setup/database.ts'
import { type Engine, startEngine } from '../setup/engine.ts'
import { eventually } from '../setup/eventually.ts'
import { design, mail, onEvent } from '../setup/flows.ts'
import { newId, now } from '../setup/harness.ts'
import { openSession } from '../setup/session.ts'

const database = await createTestDatabase()
const commands = { db: database.db, newId, now, wake: () => {} }
let engine: Engine

beforeAll(async () => {
  engine = await startEngine(database)
  await engine.stopStarter()
})
afterAll(async () => {
  engine?.startStarter()
  await engine?.stop()
})

const flow = design(
  {
    start: onEvent('began'),
    count: ['update_contact', { set: { seen: true } }],
    hello: mail('Hello'),
    wait: ['wait_for_event', { event_name: 'went.on' }],
  },
  [
    ['start', 'count'],
    ['count', 'hello'],
    ['hello', 'wait'],
  ],
)

const cancel = (executionId: string) =>
  cancelExecution(commands, engine.workspaceId, { executionId, reason: 'by hand' })

const timeout = 20_000

test('a cancel does not wait for the lock of the contact', { timeout }, async () => {
  const { id, email } = await engine.run(flow)
  const session = await openSession(database.url)
  await session.run('begin')
  await session.run(`select id from contacts where email = '${email}' for update`)
  expect(await cancel(id)).toMatchObject({ id, ended_status: 'CANCELLED' })
  await session.end()
})

test('a segment under way finds at its end that it was cancelled: none of its effects is kept', {
  timeout,
}, async () => {
  const { id, email } = await engine.run(flow)
  const session = await openSession(database.url)
  // Whoever writes the result of a segment waits for this lock: the segment has done all but that.
  await session.run('begin')
  await session.run('lock table execution_segments in share mode')
  const running = engine.runSegment({ executionId: id, segment: 0 })
  const outcome = running.then(
    (result) => ({ result }),
    (err: Error) => ({ err }),
  )
  await eventually(async () => expect(await session.waiting()).toBe(1))
  expect(await cancel(id)).toMatchObject({ id, ended_status: 'CANCELLED' })
  await session.run('commit')
  await session.end()

  expect(await outcome).toMatchObject({ err: { type: 'SegmentFailed' } })
  expect(await engine.runSegment({ executionId: id, segment: 0 })).toMatchObject({
    next: { kind: 'end', status: 'CANCELLED' },
  })
  expect(await engine.steps(id)).toEqual([])
  expect(await engine.subjects(id)).toEqual([])
  const contact = database.db.selectFrom('contacts').select('properties').where('email', '=', email)
  expect(await contact.executeTakeFirstOrThrow()).toEqual({ properties: {} })
})

test.each([
  ['cancel', (id: string) => cancel(id)],
  ['close', (id: string) => closeExecution(commands, id, { status: 'FAILED', error: 'timed out' })],
])(
  'a %s that comes while a segment commits sees what it wrote: no wait stays',
  {
    timeout,
  },
  async (_, end) => {
    const { id } = await engine.run(flow)
    const session = await openSession(database.url)
    // The row of a wait cannot be written: the segment has locked its execution and goes no further.
    await session.run('begin')
    await session.run(
      `insert into event_waits (execution_id, segment, node_id, workspace_id, contact_id,
      event_name, created_at)
    select id, 0, 'wait', workspace_id, contact_id, 'held', now() from executions where id = '${id}'`,
    )
    const running = engine.runSegment({ executionId: id, segment: 0 })
    await eventually(async () => expect(await session.waiting()).toBe(1))
    const ended = end(id)
    await eventually(async () => expect(await session.waiting()).toBe(2))
    await session.run('rollback')
    await session.end()

    expect(await running).toMatchObject({ next: { kind: 'wait_event', nodeId: 'wait' } })
    await ended
    expect(await engine.row(id)).toMatchObject({ step_count: 4, current_step_id: 'wait' })
    const waits = database.db.selectFrom('event_waits').selectAll().where('execution_id', '=', id)
    expect(await waits.execute()).toEqual([])
  },
)
