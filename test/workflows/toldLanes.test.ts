// Two workers of different settings start while Temporal cannot list: the one that started last decides how many lanes there are.
import { Client, Connection } from '@temporalio/client'
import { expect, onTestFinished, test } from 'vitest'
import { takeLane } from '../../db/lanes/writes.ts'
import { taskQueues, workflowIds, workflowTypes } from '../../rules/wire.ts'
import { keepLanes } from '../../worker/lanes.ts'
import { createTestDatabase } from '../setup/database.ts'
import { eventually } from '../setup/eventually.ts'
import { createTestNamespace } from '../setup/namespace.ts'
import { startWithoutLists } from '../setup/temporalWithoutLists.ts'

const { db } = await createTestDatabase()
const temporal = await createTestNamespace()

async function connect(address: string) {
  const connection = await Connection.connect({ address })
  onTestFinished(() => connection.close())
  return new Client({ connection, namespace: temporal.namespace })
}

/** A worker that has its own way to Temporal, on which nothing can be listed. */
async function startKeeping(lanes: number) {
  const way = await startWithoutLists(temporal.address)
  const client = await connect(way.address)
  let failures = 0
  const keeping = keepLanes({ db, client, log: { warn: () => ++failures } }, lanes)
  onTestFinished(() => keeping.stop())
  // All lanes up to its count are told by then.
  await eventually(() => expect(way.refused()).toBeGreaterThan(0))
  return {
    ...way,
    /** Resolves when it has begun another try, which asks Postgres first. */
    async triesAgain() {
      const before = failures
      await eventually(() => expect(failures).toBeGreaterThan(before))
      const refused = way.refused()
      await eventually(() => expect(way.refused()).toBeGreaterThan(refused))
    },
  }
}

/** The first lane has an owner who was told this count. */
const own = (lanes: number) =>
  db.transaction().execute((trx) =>
    takeLane(trx as Parameters<typeof takeLane>[0], {
      lane: 0,
      lanes,
      from: 0,
      to: 64 / lanes,
      owner: 'p',
      until: new Date(Date.now() + 60_000),
    }),
  )

test('a worker whose count was heard does not tell it again after that of a newer one', async () => {
  const client = await connect(temporal.address)
  const told = async (lane: number) => {
    const { events } = await client.workflow.getHandle(workflowIds.lane(lane)).fetchHistory()
    return (events ?? []).flatMap(({ workflowExecutionSignaledEventAttributes: signal }) =>
      signal ? [Buffer.from(signal.input?.payloads?.[0]?.data ?? []).toString()] : [],
    )
  }
  // Lists have the newest first, so it is told behind all others.
  const beyond = { lane: 9, lanes: 16 }
  await client.workflow.start(workflowTypes.deliveryLane, {
    workflowId: workflowIds.lane(beyond.lane),
    taskQueue: taskQueues.delivery,
    args: [beyond],
  })
  // The setting is lowered, and raised again by the second worker.
  await own(4)
  const first = await startKeeping(2)
  await own(2)
  await first.triesAgain()
  await startKeeping(4)
  await own(4)

  first.mend()
  await eventually(async () => expect(await told(beyond.lane)).not.toEqual([]))
  expect(await told(beyond.lane)).toEqual(['4'])
  for (const lane of [0, 1, 2, 3]) expect((await told(lane)).at(-1), `lane ${lane}`).toBe('4')
})
