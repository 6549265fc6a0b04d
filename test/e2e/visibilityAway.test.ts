// Temporal runs and its visibility store does not: a worker starts, sends, and ends the lanes beyond its count once lists answer again.
import { Client, Connection } from '@temporalio/client'
import { expect, onTestFinished, test } from 'vitest'
import { taskQueues, workflowIds, workflowTypes } from '../../rules/wire.ts'
import { createTestDatabase } from '../setup/database.ts'
import { eventually } from '../setup/eventually.ts'
import { createHarness } from '../setup/harness.ts'
import { createTestNamespace } from '../setup/namespace.ts'
import { startWithoutLists } from '../setup/temporalWithoutLists.ts'

const database = await createTestDatabase()

test('a worker starts while Temporal cannot list', { timeout: 300_000 }, async () => {
  const { address, namespace } = await createTestNamespace()
  const connection = await Connection.connect({ address })
  onTestFinished(() => connection.close())
  const client = new Client({ connection, namespace })
  const beyond = workflowIds.lane(3)
  await client.workflow.start(workflowTypes.deliveryLane, {
    workflowId: beyond,
    taskQueue: taskQueues.delivery,
    args: [{ lane: 3, lanes: 4 }],
  })
  const temporal = await startWithoutLists(address)
  const h = await createHarness(database, {
    temporal: { address: temporal.address, namespace },
    env: { WORKER_ROLES: 'delivery' },
  })
  await eventually(() => expect(temporal.refused()).toBeGreaterThan(0))
  const mail = { from: 'a@sender.test', to: 'b@mail.test', subject: 'S', text: 'T' }
  expect((await h.request('POST', '/v1/emails', mail)).status).toBe(200)
  await eventually(() => expect(h.smtp.mails).toHaveLength(1))
  const statusOf = async (id: string) =>
    (await client.workflow.getHandle(id).describe()).status.name
  expect(await statusOf(beyond)).toBe('RUNNING')

  temporal.mend()
  await eventually(async () => expect(await statusOf(beyond)).toBe('COMPLETED'), {
    deadline_ms: 120_000,
  })
  expect(await statusOf(workflowIds.lane(0))).toBe('RUNNING')
  expect((await h.workers[0]?.stop())?.code).toBe(0)
})
