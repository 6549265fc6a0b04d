// Lanes that do not run are started, in the count that the worker that started last has given them.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { takeLane } from '../../db/lanes/writes.ts'
import { taskQueues, workflowIds, workflowTypes } from '../../rules/wire.ts'
import { ensureLanes, startMissingLanes } from '../../worker/lanes.ts'
import { createTestDatabase } from '../setup/database.ts'
import { type Engine, startEngine } from '../setup/engine.ts'
import { eventually } from '../setup/eventually.ts'

const database = await createTestDatabase()
const { db } = database
let engine: Engine
beforeAll(async () => {
  engine = await startEngine(database)
})
afterAll(() => engine?.stop())

async function running(): Promise<string[]> {
  const query = `WorkflowType = '${workflowTypes.deliveryLane}' AND ExecutionStatus = 'Running'`
  const ids: string[] = []
  for await (const { workflowId } of engine.client.workflow.list({ query })) ids.push(workflowId)
  return ids.sort()
}

const lanes = (count: number) => Array.from({ length: count }, (_, lane) => workflowIds.lane(lane))

test('a lane that was terminated is started again; another setting changes no count', async () => {
  const { client } = engine
  await ensureLanes(client, 2)
  await eventually(async () => expect(await running()).toEqual(lanes(2)))
  const until = new Date()
  await db.transaction().execute((trx) =>
    takeLane(trx as Parameters<typeof takeLane>[0], {
      lane: 0,
      lanes: 2,
      from: 0,
      to: 32,
      owner: 'p',
      until,
    }),
  )
  await client.workflow.getHandle(workflowIds.lane(1)).terminate()
  await eventually(async () => expect(await running()).toEqual(lanes(1)))
  await Promise.all([1, 3].map((configured) => startMissingLanes({ db, client }, configured)))
  await eventually(async () => expect(await running()).toEqual(lanes(2)))
})

test('while lanes of two counts have owners, all are told that of the first lane, whichever took its shards last', async () => {
  const { client } = engine
  const extra = workflowIds.lane(5)
  await client.workflow.start(workflowTypes.deliveryLane, {
    workflowId: extra,
    taskQueue: taskQueues.delivery,
    args: [{ lane: 5, lanes: 8 }],
  })
  await eventually(async () => expect(await running()).toContain(extra))
  const until = new Date(Date.now() + 60_000)
  const ranges = [
    { lane: 5, lanes: 8, from: 40, to: 48 },
    { lane: 0, lanes: 2, from: 0, to: 32 },
    { lane: 5, lanes: 8, from: 40, to: 48 },
  ]
  for (const range of ranges) {
    await db
      .transaction()
      .execute((trx) =>
        takeLane(trx as Parameters<typeof takeLane>[0], { ...range, owner: 'p', until }),
      )
  }
  await startMissingLanes({ db, client }, 3)
  for (const id of [extra, workflowIds.lane(0)]) {
    const { events } = await client.workflow.getHandle(id).fetchHistory()
    const told = (events ?? []).flatMap(({ workflowExecutionSignaledEventAttributes: signal }) =>
      signal ? [Buffer.from(signal.input?.payloads?.[0]?.data ?? []).toString()] : [],
    )
    expect(told.at(-1), id).toBe('2')
  }
})
