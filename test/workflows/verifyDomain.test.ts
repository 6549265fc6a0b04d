// The workflow function of a sending domain: by schedule, on request, after it has ended, and after a late or
// repeated start.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { transact } from '../../commands/transact.ts'
import { insertDomainTask } from '../../db/outbox.ts'
import { workflowIds, workflowTypes } from '../../rules/wire.ts'
import { createTestDatabase } from '../setup/database.ts'
import { type Engine, startEngine } from '../setup/engine.ts'
import { eventually } from '../setup/eventually.ts'
import { newId } from '../setup/harness.ts'

const database = await createTestDatabase()
/** The results of each domain's checks, one after the other; the last one repeats. */
const answers = new Map<string, (number | null)[]>()
const checks = new Map<string, number>()
let engine: Engine

beforeAll(async () => {
  engine = await startEngine(database, {
    around: () => ({
      async checkDomain({ domainId }) {
        const count = (checks.get(domainId) ?? 0) + 1
        checks.set(domainId, count)
        const list = answers.get(domainId) ?? []
        return { next_ms: list[Math.min(count, list.length) - 1] ?? null }
      },
    }),
  })
}, 120_000)
afterAll(() => engine.stop())

const HOUR_MS = 60 * 60 * 1000
const newDomain = (...list: (number | null)[]) => {
  const id = newId('domain')
  answers.set(id, list)
  return id
}
const tell = async (domainId: string, kind: 'domain_start' | 'domain_check') => {
  const task = { kind, domainId, workspaceId: engine.workspaceId, at: new Date() }
  await transact({ db: engine.db, wake: () => undefined }, ({ db }) => insertDomainTask(db, task))
  engine.wake()
}
const describeRun = (id: string) =>
  engine.client.workflow.getHandle(workflowIds.domain(id)).describe()
const untilStatus = (id: string, status: string) =>
  eventually(async () => expect((await describeRun(id)).status.name).toBe(status))
const untilChecks = (id: string, count: number) =>
  eventually(() => expect(checks.get(id) ?? 0).toBe(count))

test('a start makes no check yet; a request makes one at once', async () => {
  const id = newDomain(HOUR_MS)
  await tell(id, 'domain_start')
  await untilStatus(id, 'RUNNING')
  expect(checks.get(id)).toBeUndefined()
  await tell(id, 'domain_check')
  await untilChecks(id, 1)
  await tell(id, 'domain_check')
  await untilChecks(id, 2)
  expect((await describeRun(id)).status.name).toBe('RUNNING')
})

test('each check decides when the next one follows, until one says that it was the last', async () => {
  const id = newDomain(20, 20, 20, null)
  await tell(id, 'domain_check')
  await untilStatus(id, 'COMPLETED')
  expect(checks.get(id)).toBe(4)
})

test('after it has ended, a request starts it again', async () => {
  const id = newDomain(null)
  await tell(id, 'domain_check')
  await untilStatus(id, 'COMPLETED')
  const first = await describeRun(id)
  answers.set(id, [HOUR_MS])
  await tell(id, 'domain_check')
  await untilChecks(id, 2)
  const second = await describeRun(id)
  expect([second.status.name, second.runId === first.runId]).toEqual(['RUNNING', false])
})

test('its history stays short: it continues as new, and no request is lost', async () => {
  const id = newDomain(0)
  await tell(id, 'domain_check')
  const { runId } = await eventually(() => describeRun(id))
  await eventually(
    async () => {
      expect((await describeRun(id)).runId).not.toBe(runId)
      expect(checks.get(id)).toBeGreaterThan(201)
    },
    { deadline_ms: 60_000 },
  )
  answers.set(id, [null])
  await untilStatus(id, 'COMPLETED')
}, 90_000)

test('started while no worker runs, and twice: one runs', async () => {
  const id = newDomain(HOUR_MS)
  await engine.stopStarter()
  await tell(id, 'domain_start')
  await tell(id, 'domain_start')
  await expect(describeRun(id)).rejects.toThrow()
  engine.startStarter()
  await untilStatus(id, 'RUNNING')
  await eventually(async () => {
    const left = await engine.db
      .selectFrom('outbox')
      .select('id')
      .where('execution_id', '=', id)
      .execute()
    expect(left).toEqual([])
  })
  expect((await describeRun(id)).type).toBe(workflowTypes.verifyDomain)
})
