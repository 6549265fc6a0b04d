// What an execution costs Temporal and Postgres: an execution without a wait is six events of history, and a segment asks little
// outside of its commit.
import { AsyncLocalStorage } from 'node:async_hooks'
import proto from '@temporalio/proto'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase } from '../setup/database.ts'
import { type Engine, startEngine } from '../setup/engine.ts'
import { design, mail, onEvent } from '../setup/flows.ts'

const { EventType } = proto.temporal.api.enums.v1
const database = await createTestDatabase()
/** The statements of the work that runs in it. */
const heard = new AsyncLocalStorage<string[]>()
let engine: Engine

beforeAll(async () => {
  database.pool.on('connect', (client) => {
    const query = client.query.bind(client) as (...args: unknown[]) => unknown
    client.query = ((...args: unknown[]) => {
      const [asked] = args as [string | { text: string } | pg.Query]
      // A begin that goes with the statement behind it (`db/begin.ts`) is asked as a query of pg's own class; so is a statement with a
      // guard (`db/guarded.ts`), but none of a segment has one.
      if (asked instanceof pg.Query) heard.getStore()?.push('begin')
      heard.getStore()?.push(typeof asked === 'string' ? asked : (asked as { text: string }).text)
      return query(...args)
    }) as typeof client.query
  })
  engine = await startEngine(database)
})
afterAll(() => engine?.stop())

const threeMails = design(
  {
    start: onEvent('x'),
    one: mail('One'),
    two: mail('Two'),
    three: mail('Three'),
    end: ['exit', {}],
  },
  [
    ['start', 'one'],
    ['one', 'two'],
    ['two', 'three'],
    ['three', 'end'],
  ],
)

async function eventsOf(id: string): Promise<string[]> {
  const { events } = await engine.client.workflow.getHandle(id).fetchHistory()
  return (events ?? []).map(({ eventType }) =>
    String(EventType[eventType ?? 0]).replace('EVENT_TYPE_', ''),
  )
}

test('a trigger, three mails and an exit are six events', async () => {
  const { id } = await engine.run(threeMails)
  await engine.ended(id, 'COMPLETED')
  expect(await engine.subjects(id)).toEqual(['One', 'Two', 'Three'])
  expect(await eventsOf(id)).toEqual([
    'WORKFLOW_EXECUTION_STARTED',
    'WORKFLOW_TASK_SCHEDULED',
    'WORKFLOW_TASK_STARTED',
    'WORKFLOW_TASK_COMPLETED',
    'MARKER_RECORDED',
    'WORKFLOW_EXECUTION_COMPLETED',
  ])
})

test('its segment sends two statements outside of its commit', async () => {
  await engine.stopStarter()
  try {
    const { id } = await engine.run(threeMails)
    const texts: string[] = []
    await heard.run(texts, () => engine.runSegment({ executionId: id, segment: 0 }))
    const begins = texts.findIndex((text) => text.startsWith('begin'))
    const commits = texts.indexOf('commit')
    expect(begins).toBeGreaterThan(0)
    expect(commits).toBeGreaterThan(begins)
    const outside = [...texts.slice(0, begins), ...texts.slice(commits + 1)]
    expect(outside.length, outside.join('\n')).toBeLessThanOrEqual(2)
  } finally {
    engine.startStarter()
  }
})
