// Executions over a real engine that Temporal forgets, and rounds that look for them.
import type { Client } from '@temporalio/client'
import { afterAll, beforeAll, expect } from 'vitest'
import { createLog } from '../../runtime/log.ts'
import type { TemporalExecution } from '../../runtime/temporalReads.ts'
import { type RoundDeps, runRound } from '../../worker/rounds.ts'
import { createTestDatabase } from './database.ts'
import { type Engine, startEngine } from './engine.ts'
import { eventually } from './eventually.ts'
import { design, mail, onEvent } from './flows.ts'
import { now } from './harness.ts'

/** An execution of it mails, waits for an event, and mails again. */
export const waits = (timeout?: string) =>
  design(
    {
      start: onEvent('began'),
      hello: mail('Hello'),
      wait: ['wait_for_event', { event_name: 'went.on', ...(timeout ? { timeout } : {}) }],
      thanks: mail('Thanks'),
      sorry: mail('Sorry'),
    },
    [
      ['start', 'hello'],
      ['hello', 'wait'],
      ['wait', 'thanks', 'received'],
      ...(timeout ? ([['wait', 'sorry', 'timeout']] as [string, string, string][]) : []),
    ],
  )

/** What it showed. Its segment is some ms younger or older than what the workflow function had written. */
export const asShown = (shown: TemporalExecution) => ({
  ...shown,
  memo: { ...shown.memo, updated_at: expect.any(Number) },
})

/** Call it at the top of a file. The engine runs from `beforeAll` to `afterAll`. */
export async function createLostRuns() {
  const database = await createTestDatabase()
  const { db } = database
  const running: { engine: Engine | undefined } = { engine: undefined }
  beforeAll(async () => {
    running.engine = await startEngine(database)
  }, 60_000)
  afterAll(() => running.engine?.stop())
  const engine = (): Engine => {
    if (!running.engine) throw new Error('the engine is not running yet')
    return running.engine
  }

  async function runToWait(timeout?: string) {
    const execution = await engine().run(waits(timeout))
    const shown = await engine().waiting(execution.id, 'wait')
    return { ...execution, shown }
  }

  const depsOf = (client: Client): RoundDeps => ({
    db,
    client,
    connection: client.connection as unknown as RoundDeps['connection'],
    namespace: engine().namespace,
    log: createLog('test', 'silent'),
    now,
    wake: () => engine().wake(),
    stop: new AbortController().signal,
    secondLook_ms: 10,
    busy_ms: 5_000,
  })

  /** Does a round at once, whenever the next is due. */
  async function round(client: Client = engine().client): Promise<void> {
    await db
      .updateTable('temporal_namespaces')
      .set({ next_at: new Date(0) })
      .execute()
    expect(await runRound(depsOf(client))).toBe(true)
  }

  /** Makes Temporal forget the execution. */
  async function lose(workflowId: string): Promise<void> {
    const { namespace } = engine()
    const workflowExecution = { workflowId }
    await engine().client.workflowService.deleteWorkflowExecution({ namespace, workflowExecution })
    await eventually(async () => {
      await expect(engine().client.workflow.getHandle(workflowId).describe()).rejects.toThrow()
    })
  }

  const outbox = () => db.selectFrom('outbox').select(['kind', 'execution_id', 'payload']).execute()
  const drained = () => eventually(async () => expect(await outbox()).toEqual([]))

  /** Runs `work` while nothing reaches Temporal. */
  async function withoutStarter<T>(work: () => Promise<T>): Promise<T> {
    await drained()
    await engine().stopStarter()
    try {
      return await work()
    } finally {
      engine().startStarter()
    }
  }

  return { database, db, engine, runToWait, depsOf, round, lose, outbox, drained, withoutStarter }
}
