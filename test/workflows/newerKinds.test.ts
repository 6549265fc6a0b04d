// A design with a kind of node that only a newer release knows: an older worker leaves the segment to a newer one.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase } from '../setup/database.ts'
import { type Engine, startEngine } from '../setup/engine.ts'
import { eventually } from '../setup/eventually.ts'
import { design, onEvent } from '../setup/flows.ts'
import { createTestNamespace } from '../setup/namespace.ts'

const database = await createTestDatabase()
const SOON = { deadline_ms: 90_000 }
let older: Engine
let temporal: Awaited<ReturnType<typeof createTestNamespace>>

beforeAll(async () => {
  temporal = await createTestNamespace()
  older = await startEngine(database, { temporal })
}, 60_000)
afterAll(() => older?.stop())

test('it fails no execution; the worker that knows the kind runs it', async () => {
  const { id } = await older.run(
    design({ start: onEvent('x'), next: ['teleport', {}] }, [['start', 'next']]),
  )
  const handle = older.client.workflow.getHandle(id)
  await eventually(async () => {
    const { events } = await handle.fetchHistory()
    const failed = events?.flatMap((event) => event.workflowTaskFailedEventAttributes ?? [])
    expect(failed?.[0]?.failure?.message).toContain('a newer release must run the segment')
  }, SOON)
  expect((await older.row(id)).ended_status).toBeNull()
  expect(await older.steps(id)).toEqual([])

  const newer = await startEngine(database, {
    temporal,
    around: () => ({
      runSegment: async () => ({
        next: { kind: 'end', status: 'COMPLETED', error: null },
        step: 'next',
        step_count: 2,
      }),
    }),
  })
  try {
    // The older one may get further tries, which cost nothing but time.
    await eventually(async () => expect((await handle.describe()).status.name).toBe('COMPLETED'), {
      deadline_ms: 240_000,
    })
  } finally {
    await newer.stop()
  }
}, 400_000)
