// A server that shares by fairness keys: one workspace's crowd of starts and of waits that are over holds back no other workspace's. No worker
// runs here: what the server hands out is taken by hand, in its order.
import { Client, Connection } from '@temporalio/client'
import { NativeConnection } from '@temporalio/worker'
import { expect, onTestFinished, test } from 'vitest'
import type { TemporalRow } from '../../db/outbox.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { signals, taskQueues } from '../../rules/wire.ts'
import { handOver } from '../../worker/handOver.ts'
import { eventually } from '../setup/eventually.ts'
import { now } from '../setup/harness.ts'
import { startPrivateTemporal } from '../setup/servers.ts'

const CROWD = 40
/** Of a task that waits alone for its workspace: how many of the crowd may come before it. */
const AHEAD_MAX = 10
const namespace = 'default'

/** Two clients: one starts as a worker does, with the other one tasks are taken. */
async function connectToFairServer() {
  const temporal = await startPrivateTemporal({
    'matching.enableFairness': 'true',
    // One line, so that the order in which tasks are handed out tells all.
    'matching.numTaskqueueReadPartitions': 1,
    'matching.numTaskqueueWritePartitions': 1,
  })
  const { address } = temporal
  const starting = await NativeConnection.connect({ address })
  const taking = await Connection.connect({ address })
  onTestFinished(async () => void (await Promise.all([starting.close(), taking.close()])))
  return {
    starting: new Client({ connection: starting, namespace }),
    client: new Client({ connection: taking, namespace }),
  }
}

const startRow = (executionId: string, workspaceId: string): TemporalRow => ({
  ...{ id: 1, kind: 'start', execution_id: executionId, payload: {}, refusal: null, attempts: 0 },
  workspace_id: workspaceId as WorkspaceId,
  ...{ workflow_id: 'wf_1', contact_id: 'ct_1', due_at: now(), next_at: now(), created_at: now() },
})

/** Takes the next task from the queue. */
const take = (client: Client) =>
  eventually(async () => {
    const asked = { namespace, taskQueue: { name: taskQueues.executions }, identity: 'by hand' }
    const { workflowExecution, taskToken } = await client.withDeadline(Date.now() + 20_000, () =>
      client.workflowService.pollWorkflowTaskQueue(asked),
    )
    if (!workflowExecution?.workflowId) throw new Error('there is no task')
    return { id: workflowExecution.workflowId, taskToken }
  })

/** Takes as many tasks, each of which leaves its execution waiting. @returns the executions in their order */
async function takeAll(client: Client, count: number): Promise<string[]> {
  const order: string[] = []
  for (let n = 0; n < count; n++) {
    const { id, taskToken } = await take(client)
    order.push(id)
    await client.workflowService.respondWorkflowTaskCompleted({ namespace, taskToken })
  }
  return order
}

test('a task of one workspace comes before the crowd of another that waits for longer', {
  timeout: 300_000,
}, async () => {
  const { starting, client } = await connectToFairServer()
  const crowd = Array.from({ length: CROWD }, (_, n) => `many_${n}`)
  const all = [...crowd, 'one']
  const begin = (id: string, workspaceId: string) =>
    handOver({ client: starting, namespace }, startRow(id, workspaceId), 30_000)
  for (const id of crowd) expect(await begin(id, 'ws_many')).toEqual({ kind: 'done' })
  await begin('one', 'ws_one')
  const started = await takeAll(client, all.length)
  expect(started.toSorted()).toEqual(all.toSorted())
  expect(started.indexOf('one')).toBeLessThan(AHEAD_MAX)

  // What ends a wait makes a task of the same kind, be it a signal or a timer; a signal comes when it is sent.
  for (const id of all) await client.workflow.getHandle(id).signal(signals.eventArrived, 0)
  const woken = await takeAll(client, all.length)
  expect(woken.toSorted()).toEqual(all.toSorted())
  expect(woken.indexOf('one')).toBeLessThan(AHEAD_MAX)
})
