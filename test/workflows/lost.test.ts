// What Temporal has lost is started again where Postgres has it, and nothing else is.
import type { Client } from '@temporalio/client'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { cancelExecution } from '../../commands/executions/cancel.ts'
import { insertVerifiedDomain } from '../../dev/verifiedDomain.ts'
import { workflowIds } from '../../rules/wire.ts'
import { createLog } from '../../runtime/log.ts'
import { createSecrets } from '../../runtime/secrets.ts'
import type { TemporalExecution } from '../../runtime/temporalReads.ts'
import { knownOf, type RoundDeps, runRound } from '../../worker/rounds.ts'
import { createTestDatabase } from '../setup/database.ts'
import { type Engine, startEngine } from '../setup/engine.ts'
import { eventually } from '../setup/eventually.ts'
import { design, mail, onEvent } from '../setup/flows.ts'
import { newId, now } from '../setup/harness.ts'
import { TEST_SECRET_KEY } from '../setup/processes.ts'

const database = await createTestDatabase()
const { db } = database
let engine: Engine
const TEST_MS = 240_000
const DAY_MS = 86_400_000

beforeAll(async () => {
  engine = await startEngine(database)
}, 60_000)
afterAll(() => engine?.stop())

const waits = (timeout?: string) =>
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

async function runToWait(timeout?: string) {
  const execution = await engine.run(waits(timeout))
  const shown = await engine.waiting(execution.id, 'wait')
  return { ...execution, shown }
}

/** What it showed. Its segment is some ms younger or older than what the workflow function had written. */
const asShown = (shown: TemporalExecution) => ({
  ...shown,
  memo: { ...shown.memo, updated_at: expect.any(Number) },
})

const depsOf = (client: Client): RoundDeps => ({
  db,
  client,
  connection: client.connection as unknown as RoundDeps['connection'],
  namespace: engine.namespace,
  log: createLog('test', 'silent'),
  now,
  wake: () => engine.wake(),
  stop: new AbortController().signal,
  secondLook_ms: 10,
  busy_ms: 5_000,
})

/** Does a round at once, whenever the next is due. */
async function round(client: Client = engine.client): Promise<void> {
  await db
    .updateTable('temporal_namespaces')
    .set({ next_at: new Date(0) })
    .execute()
  expect(await runRound(depsOf(client))).toBe(true)
}

/** Makes Temporal forget the execution. */
async function lose(workflowId: string): Promise<void> {
  const { namespace } = engine
  const workflowExecution = { workflowId }
  await engine.client.workflowService.deleteWorkflowExecution({ namespace, workflowExecution })
  await eventually(async () => {
    await expect(engine.client.workflow.getHandle(workflowId).describe()).rejects.toThrow()
  })
}

const outbox = () => db.selectFrom('outbox').select(['kind', 'execution_id', 'payload']).execute()
const drained = () => eventually(async () => expect(await outbox()).toEqual([]))

/** Runs `work` while nothing reaches Temporal. */
async function withoutStarter<T>(work: () => Promise<T>): Promise<T> {
  await drained()
  await engine.stopStarter()
  try {
    return await work()
  } finally {
    engine.startStarter()
  }
}

test(
  'a lost execution goes on in its wait, shows what it showed, and does nothing again',
  async () => {
    const { id, email, shown } = await runToWait('P3D')
    await lose(id)
    await round()
    const again = await engine.waiting(id, 'wait')
    expect(again).toEqual(asShown(shown))
    await engine.post('went.on', email)
    await engine.ended(id, 'COMPLETED')
    expect(await engine.subjects(id)).toEqual(['Hello', 'Thanks'])
    expect(await engine.steps(id)).toEqual([
      'start=default',
      'hello=default',
      'wait=received',
      'thanks=default',
    ])
  },
  TEST_MS,
)

test(
  'a wait whose time is over meanwhile ends at once, one without a deadline waits on',
  async () => {
    const timed = await runToWait('P3D')
    const open = await runToWait()
    await lose(timed.id)
    await lose(open.id)
    const past = { kind: 'wait_event', nodeId: 'wait', until: now().getTime() - 1 }
    const { step, step_count } = timed.shown.memo ?? { step: '', step_count: 0 }
    await db
      .updateTable('execution_segments')
      .set({ result: JSON.stringify({ next: past, step, step_count }) })
      .where('execution_id', '=', timed.id)
      .execute()
    await round()
    await engine.ended(timed.id, 'COMPLETED')
    expect(await engine.subjects(timed.id)).toEqual(['Hello', 'Sorry'])
    expect(await engine.waiting(open.id, 'wait')).toEqual(asShown(open.shown))
  },
  TEST_MS,
)

test(
  'an event that came while Temporal had lost the execution ends its wait',
  async () => {
    const { id, email } = await runToWait()
    await lose(id)
    await engine.post('went.on', email)
    await drained()
    await round()
    await engine.ended(id, 'COMPLETED')
    expect(await engine.subjects(id)).toEqual(['Hello', 'Thanks'])
  },
  TEST_MS,
)

test(
  'an execution that had not begun begins',
  async () => {
    const id = await withoutStarter(async () => {
      const execution = await engine.run(waits())
      await db.deleteFrom('outbox').where('execution_id', '=', execution.id).execute()
      return execution.id
    })
    await round()
    await engine.waiting(id, 'wait')
  },
  TEST_MS,
)

test(
  'nothing is started that runs, is about to start, is told something or has ended',
  async () => {
    const running = await runToWait()
    const told = await runToWait()
    const cancelled = await runToWait()
    const terminated = await runToWait()
    const completed = await runToWait()
    await engine.post('went.on', completed.email)
    await engine.ended(completed.id, 'COMPLETED')
    await eventually(async () => {
      const { status } = await engine.client.workflow.getHandle(completed.id).describe()
      expect(status.name).toBe('COMPLETED')
    })
    await withoutStarter(async () => {
      const pending = await engine.run(waits())
      await lose(told.id)
      await engine.post('went.on', told.email)
      await lose(cancelled.id)
      const commands = { db, now, wake: () => undefined }
      const given = { executionId: cancelled.id, reason: null }
      await cancelExecution(commands, engine.workspaceId, given)
      await engine.client.workflow.getHandle(terminated.id).terminate('by hand')
      // As after Postgres was restored to an earlier moment. No trigger refuses it then.
      await db.transaction().execute(async (trx) => {
        await sql`set local session_replication_role = replica`.execute(trx)
        const live = { ended_status: null, completed_at: null }
        await trx.updateTable('executions').set(live).where('id', '=', completed.id).execute()
      })
      const before = await outbox()
      expect(before.map((row) => [row.kind, row.execution_id]).sort()).toEqual(
        [
          ['start', pending.id],
          ['signal', told.id],
          ['cancel', cancelled.id],
        ].sort(),
      )
      await round()
      expect(await outbox()).toEqual(before)
      expect((await engine.row(running.id)).ended_status).toBeNull()
      expect(await engine.row(terminated.id)).toMatchObject({
        ended_status: 'CANCELLED',
        cancellation_reason: 'terminated',
      })
      expect((await engine.row(completed.id)).ended_status).toBe('COMPLETED')
    })
    // Its signal found nothing in Temporal; now nothing stands in the way.
    await drained()
    await round()
    await engine.ended(told.id, 'COMPLETED')
    expect(await engine.subjects(told.id)).toEqual(['Hello', 'Thanks'])
  },
  TEST_MS,
)

test(
  'a start for an id that Temporal knows starts nothing, whether its run goes on or has ended',
  async () => {
    const running = await runToWait()
    const ended = await runToWait()
    await engine.client.workflow.getHandle(ended.id).terminate('by hand')
    const runs = async (id: string) => {
      const { runId, status } = await engine.client.workflow.getHandle(id).describe()
      return [runId, status.name]
    }
    const before = [await runs(running.id), await runs(ended.id)]
    for (const { id } of [running, ended]) {
      const { workspace_id, workflow_id, contact_id } = await engine.row(id)
      const row = {
        kind: 'start',
        execution_id: id,
        workspace_id,
        workflow_id,
        contact_id,
      } as const
      const at = now()
      await db
        .insertInto('outbox')
        .values({ ...row, payload: '{}', next_at: at, created_at: at })
        .execute()
    }
    engine.wake()
    await drained()
    expect([await runs(running.id), await runs(ended.id)]).toEqual(before)
    await round()
  },
  TEST_MS,
)

test(
  'nothing is started while Temporal or its namespace does not answer, or after one look alone',
  async () => {
    const { id } = await runToWait()
    await lose(id)
    await withoutStarter(async () => {
      const { client } = engine
      const withService = (service: object): Client =>
        Object.create(client, {
          workflowService: { value: Object.assign(Object.create(client.workflowService), service) },
        })
      const withHandles = (describe: (workflowId: string) => Promise<unknown>): Client =>
        Object.create(client, {
          workflow: {
            value: Object.create(client.workflow, {
              getHandle: {
                value: (workflowId: string) => ({ describe: () => describe(workflowId) }),
              },
            }),
          },
        })
      const real = (workflowId: string) => client.workflow.getHandle(workflowId).describe()

      const away = withHandles(async (workflowId) => {
        if (workflowId !== id) return real(workflowId)
        throw Object.assign(new Error('14 UNAVAILABLE'), { code: 14 })
      })
      await expect(round(away)).rejects.toThrow('UNAVAILABLE')
      expect(await outbox()).toEqual([])

      const missing = withService({
        describeNamespace: async () => {
          throw Object.assign(new Error('5 NOT_FOUND: Namespace default is not found'), { code: 5 })
        },
      })
      await expect(round(missing)).rejects.toThrow('Namespace')
      expect(await outbox()).toEqual([])

      // It answers before the looks, and another one answers behind them.
      let asked = 0
      const replaced = withService({
        describeNamespace: async (request: { namespace: string }) => {
          const answer = await client.workflowService.describeNamespace(request)
          const info = { ...answer.namespaceInfo, id: asked++ === 0 ? 'one' : 'other' }
          return { ...answer, namespaceInfo: info }
        },
      })
      await expect(round(replaced)).rejects.toThrow('replaced')
      expect(await outbox()).toEqual([])

      let looks = 0
      const flickering = withHandles(async (workflowId) => {
        if (workflowId !== id || ++looks === 1) return real(workflowId)
        return { status: { name: 'RUNNING' } }
      })
      await round(flickering)
      expect(looks).toBe(2)
      expect(await outbox()).toEqual([])

      await round()
      expect(await outbox()).toMatchObject([{ kind: 'start', execution_id: id }])
    })
    await engine.waiting(id, 'wait')
  },
  TEST_MS,
)

test(
  'a run that Temporal may have dropped after somebody ended it is closed, and not started again',
  async () => {
    await round()
    const dropped = await runToWait()
    const lost = await runToWait()
    await lose(dropped.id)
    await lose(lost.id)
    // All workers were away for longer than the day for which this server keeps runs.
    const space = await engine.client.workflowService.describeNamespace({
      namespace: engine.namespace,
    })
    const kept_s = Number(space.config?.workflowExecutionRetentionTtl?.seconds)
    const absence_ms = kept_s * 1000 + 2 * DAY_MS
    const long = new Date(now().getTime() - absence_ms)
    await db.updateTable('temporal_namespaces').set({ swept_until: long }).execute()
    const age = { created_at: long }
    await db.updateTable('executions').set(age).where('id', '=', dropped.id).execute()
    await db
      .updateTable('execution_segments')
      .set(age)
      .where('execution_id', '=', dropped.id)
      .execute()
    await db.updateTable('executions').set(age).where('id', '=', lost.id).execute()
    await withoutStarter(async () => {
      await round()
      expect(await outbox()).toMatchObject([{ kind: 'start', execution_id: lost.id }])
    })
    expect(await engine.row(dropped.id)).toMatchObject({
      ended_status: 'CANCELLED',
      cancellation_reason: 'terminated',
    })
    await drained()
    await round()
    // What lives now was in Temporal in this lap, so that nothing is taken for dropped in the next.
    const [known] = await db.selectFrom('temporal_namespaces').selectAll().execute()
    expect(known?.unseen_until).toBeNull()
    await engine.waiting(lost.id, 'wait')
  },
  TEST_MS,
)

test(
  'the checks of a domain are started again, unless it is deleted, has failed or is told something',
  async () => {
    const secrets = createSecrets(Buffer.from(TEST_SECRET_KEY, 'base64'))
    const { workspaceId, userId } = engine
    const make = async (name: string, change: object = {}) => {
      const { domainId } = await insertVerifiedDomain(
        { db, newId, now, secrets },
        { workspaceId, userId, name, selector: 's' },
      )
      const checked = { checking_since: now(), ...change }
      await db.updateTable('domains').set(checked).where('id', '=', domainId).execute()
      return domainId
    }
    const lost = await make('lost.test')
    await make('failed.test', { status: 'FAILED' })
    await make('deleted.test', { deleted_at: now() })
    await make('by-hand.test', { checking_since: null })
    await withoutStarter(async () => {
      await round()
      const starts = [{ kind: 'domain_start', execution_id: lost, payload: {} }]
      expect(await outbox()).toEqual(starts)
      await round()
      expect(await outbox()).toEqual(starts)
    })
    await drained()
    const handle = engine.client.workflow.getHandle(workflowIds.domain(lost))
    expect((await handle.describe()).status.name).toBe('RUNNING')
    await round()
    expect(await outbox()).toEqual([])
    await handle.terminate('by hand')
    await round()
    await drained()
    expect((await handle.describe()).status.name).toBe('RUNNING')
    await handle.terminate('the test is over')
    await db.updateTable('domains').set({ deleted_at: now() }).where('id', '=', lost).execute()
  },
  TEST_MS,
)

test(
  'one worker does a round, and each sweep begins where the one before was',
  async () => {
    await round()
    expect(await runRound(depsOf(engine.client))).toBe(false)
    const mark = new Date(now().getTime() - 5 * DAY_MS)
    const kept = { id: null, swept_until: mark, next_at: new Date(0) }
    await db.updateTable('temporal_namespaces').set(kept).execute()
    const queries: string[] = []
    const { client } = engine
    const workflow = Object.create(client.workflow, {
      list: {
        value: (options: { query: string }) => {
          queries.push(options.query)
          return client.workflow.list(options)
        },
      },
    })
    onTestFinished(() => round())
    expect(await runRound(depsOf(Object.create(client, { workflow: { value: workflow } })))).toBe(
      true,
    )
    const since = new Date(mark.getTime() - 5 * 60_000).toISOString()
    expect(queries).toEqual([expect.stringContaining(`CloseTime > '${since}'`)])
    const [known] = await db.selectFrom('temporal_namespaces').selectAll().execute()
    expect(known?.swept_until?.getTime()).toBeGreaterThan(mark.getTime() + 4 * DAY_MS)
  },
  TEST_MS,
)

test('an absence that Temporal outlasts drops nothing, and a namespace that is another one has lost all', () => {
  const at = new Date(Date.UTC(2026, 0, 10))
  const walk = { in: 'domains', after: 'dom_1' }
  const row = { id: 'a', swept_until: at, unseen_until: null, walk, lap_lost: 2 }
  const before = (days: number) => new Date(at.getTime() - days * DAY_MS)
  const space = { id: 'a', retention_ms: 3 * DAY_MS }
  expect(knownOf(row, space, at)).toEqual({ walk, lapLost: 2, unseenUntil: null, isOther: false })
  const anew = { walk: { in: 'executions', after: null }, lapLost: 0 }
  expect(knownOf({ ...row, swept_until: before(2) }, space, at).unseenUntil).toBeNull()
  const away = { ...row, swept_until: before(4) }
  expect(knownOf(away, space, at)).toEqual({ ...anew, unseenUntil: before(3), isOther: false })
  const other = { ...space, id: 'b' }
  expect(knownOf(away, other, at)).toEqual({ ...anew, unseenUntil: null, isOther: true })
  expect(knownOf(away, { id: 'a', retention_ms: null }, at).unseenUntil).toBeNull()
})
