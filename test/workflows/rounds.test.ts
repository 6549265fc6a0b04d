// Rounds over a namespace of Temporal: when they start something again, and when they know too little to.
import type { Client } from '@temporalio/client'
import { expect, onTestFinished, test } from 'vitest'
import { insertVerifiedDomain } from '../../dev/verifiedDomain.ts'
import { workflowIds } from '../../rules/wire.ts'
import { createSecrets } from '../../runtime/secrets.ts'
import { knownOf, runRound } from '../../worker/rounds.ts'
import { newId, now } from '../setup/harness.ts'
import { createLostRuns } from '../setup/lostRuns.ts'
import { TEST_SECRET_KEY } from '../setup/processes.ts'

const TEST_MS = 240_000
const DAY_MS = 86_400_000

const { db, engine, runToWait, depsOf, round, lose, outbox, drained, withoutStarter } =
  await createLostRuns()

test(
  'nothing is started while Temporal or its namespace does not answer, or after one look alone',
  async () => {
    const { id } = await runToWait()
    await lose(id)
    await withoutStarter(async () => {
      const { client } = engine()
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
    await engine().waiting(id, 'wait')
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
    const space = await engine().client.workflowService.describeNamespace({
      namespace: engine().namespace,
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
    expect(await engine().row(dropped.id)).toMatchObject({
      ended_status: 'CANCELLED',
      cancellation_reason: 'terminated',
    })
    await drained()
    await round()
    // What lives now was in Temporal in this lap, so that nothing is taken for dropped in the next.
    const [known] = await db.selectFrom('temporal_namespaces').selectAll().execute()
    expect(known?.unseen_until).toBeNull()
    await engine().waiting(lost.id, 'wait')
  },
  TEST_MS,
)

test(
  'the checks of a domain are started again, unless it is deleted, has failed or is told something',
  async () => {
    const secrets = createSecrets(Buffer.from(TEST_SECRET_KEY, 'base64'))
    const { workspaceId, userId } = engine()
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
    const handle = engine().client.workflow.getHandle(workflowIds.domain(lost))
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
    expect(await runRound(depsOf(engine().client))).toBe(false)
    const mark = new Date(now().getTime() - 5 * DAY_MS)
    const kept = { id: null, swept_until: mark, next_at: new Date(0) }
    await db.updateTable('temporal_namespaces').set(kept).execute()
    const queries: string[] = []
    const { client } = engine()
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
