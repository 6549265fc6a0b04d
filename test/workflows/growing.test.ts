// A long execution continues as new at a wait, without a visible difference.
import { expect, onTestFinished, test } from 'vitest'
import { createTestDatabase } from '../setup/database.ts'
import { startEngine, testBundle } from '../setup/engine.ts'
import { design, mail, onEvent } from '../setup/flows.ts'
import { record, replay } from '../setup/histories.ts'
import { startPrivateTemporal } from '../setup/servers.ts'

const LAPS = 3

const database = await createTestDatabase()

const inLaps = design(
  {
    start: onEvent('began'),
    pause: ['delay', { ms: 5 }],
    again: [
      'condition',
      {
        condition: {
          type: 'rule',
          field: 'execution.step_count',
          operator: 'lt',
          value: 1 + 2 * LAPS,
        },
      },
    ],
    wait: ['wait_for_event', { event_name: 'went.on', timeout: 'P90D' }],
    thanks: mail('Thanks'),
  },
  [
    ['start', 'pause'],
    ['pause', 'again'],
    ['again', 'pause', 'true'],
    ['again', 'wait', 'false'],
    ['wait', 'thanks', 'received'],
  ],
)

test('continues as new at its waits and keeps status, counters, memo, attributes, events and cancellations', async () => {
  // Every task suggests it, so that each wait begins a new run.
  const temporal = await startPrivateTemporal({ 'limit.historyCount.suggestContinueAsNew': 1 })
  const workflowBundle = await testBundle()
  const engine = await startEngine(database, {
    temporal: { address: temporal.address, namespace: 'default' },
    workflowBundle,
  })
  onTestFinished(() => engine.stop())
  const [first, other] = await Promise.all([engine.run(inLaps), engine.run(inLaps)])
  const { id, email } = first
  const shown = await engine.waiting(id, 'wait')
  const { runId, raw } = await engine.client.workflow.getHandle(id).describe()
  const firstRunId = raw.workflowExecutionInfo?.firstRunId ?? ''
  expect(runId, 'the run that waits is not the first').not.toBe(firstRunId)
  await replay(workflowBundle, await record(engine, 'continued-first', id, firstRunId))

  const step_count = 2 + 2 * LAPS
  expect(shown).toMatchObject({
    status: 'WAITING',
    memo: { step: 'wait', step_count, timer: `wait/${LAPS}` },
  })
  expect(shown.waitUntil).toBeGreaterThan(Date.now() + 89 * 24 * 60 * 60 * 1000)
  const found = await engine.reads.listRunning(engine.workspaceId, [id])
  expect([...found.values()]).toEqual([shown])

  await engine.post('went.on', email)
  const row = await engine.ended(id, 'COMPLETED')
  await replay(workflowBundle, await record(engine, 'continued-last', id))
  expect(row).toMatchObject({ step_count: step_count + 1, current_step_id: 'thanks' })
  expect((await engine.steps(id)).slice(-3)).toEqual([
    'again=false',
    'wait=received',
    'thanks=default',
  ])
  expect(await engine.subjects(id)).toEqual(['Thanks'])
  const segments = await database.db
    .selectFrom('execution_segments')
    .select('segment')
    .where('execution_id', '=', id)
    .orderBy('segment')
    .execute()
  expect(segments.map(({ segment }) => segment)).toEqual([...Array(LAPS + 2).keys()])

  await engine.waiting(other.id, 'wait')
  await engine.client.workflow.getHandle(other.id).cancel()
  expect(await engine.ended(other.id, 'CANCELLED')).toMatchObject({
    cancellation_reason: 'cancelled',
    step_count,
  })
})

test('carries no wait that is over into the next run', async () => {
  const temporal = await startPrivateTemporal({ 'limit.historyCount.suggestContinueAsNew': 1 })
  const engine = await startEngine(database, {
    temporal: { address: temporal.address, namespace: 'default' },
  })
  onTestFinished(() => engine.stop())
  const waits = Array.from({ length: LAPS }, (_, lap) => `wait${lap}`)
  const inEvents = design(
    {
      start: onEvent('began'),
      ...Object.fromEntries(
        waits.map((id) => [id, ['wait_for_event', { event_name: 'went.on' }]] as const),
      ),
    } as Parameters<typeof design>[0],
    waits.map((id, lap) => (lap === 0 ? ['start', id] : [waits[lap - 1] ?? '', id, 'received'])),
  )
  const { id, email } = await engine.run(inEvents)
  for (const wait of waits.slice(0, -1)) {
    await engine.waiting(id, wait)
    await engine.post('went.on', email)
  }
  await engine.waiting(id, waits.at(-1) ?? '')
  const { events } = await engine.client.workflow.getHandle(id).fetchHistory()
  const payload = events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads?.[0]
  const input = JSON.parse(Buffer.from(payload?.data ?? []).toString())
  expect(input).toMatchObject({ segment: LAPS, wait: { segment: LAPS - 1 }, woken: [] })
})
