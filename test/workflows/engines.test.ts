// Releases side by side: who may run a segment is decided by the semantics of the version. A worker that knows too little
// leaves it to another, and the execution neither fails nor moves meanwhile.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ENGINE } from '../../rules/engine.ts'
import { insertSegmentBefore } from '../setup/before.ts'
import { createTestDatabase } from '../setup/database.ts'
import { type Engine, startEngine } from '../setup/engine.ts'
import { eventually } from '../setup/eventually.ts'
import { design, mail, onEvent } from '../setup/flows.ts'
import { createTestNamespace } from '../setup/namespace.ts'

const database = await createTestDatabase()
const { db, pool } = database
const SOON = { deadline_ms: 90_000 }
const OF_BEFORE = 1
let temporal: Awaited<ReturnType<typeof createTestNamespace>>
/** A worker of the release before, which knows no number: its segments end after their trigger. */
let before: Engine
let isStopped = false
/** Why its tries failed. */
const refusals: { code: string; message: string }[] = []

beforeAll(async () => {
  temporal = await createTestNamespace()
  before = await startEngine(database, {
    temporal,
    around: () => ({
      runSegment: (input) =>
        insertSegmentBefore(pool, before.workspaceId, input).catch((err) => {
          refusals.push(err)
          throw err
        }),
    }),
  })
}, 60_000)
afterAll(() => isStopped || before?.stop())

const greets = design({ start: onEvent('x'), hello: mail('Hello') }, [['start', 'hello']])

const engineOf = (id: string) =>
  db.selectFrom('execution_segments').select('engine').where('execution_id', '=', id).execute()

test('a worker of the release before runs what was activated under the number before', async () => {
  const { id } = await before.run(greets, undefined, OF_BEFORE)
  await eventually(async () => expect(await engineOf(id)).toEqual([{ engine: null }]), SOON)
})

test('what was activated under a newer one is refused to it, and a worker of this release runs it once', async () => {
  const { id } = await before.run(greets)
  await eventually(() => expect(refusals.length).toBeGreaterThanOrEqual(2), SOON)
  // No error of class 22 or 23, which would end the execution FAILED when they come again and again.
  expect(refusals[0]).toMatchObject({ code: '55000' })
  expect(refusals[0]?.message).toContain('execution_segments_fence')
  expect((await before.row(id)).ended_status).toBeNull()
  expect(await before.steps(id)).toEqual([])
  const { status } = await before.client.workflow.getHandle(id).describe()
  expect(status.name).toBe('RUNNING')

  await before.stop()
  isStopped = true
  const current = await startEngine(database, { temporal })
  try {
    await eventually(async () => {
      expect((await current.row(id)).ended_status).toBe('COMPLETED')
    }, SOON)
    expect(await current.steps(id)).toEqual(['start=default', 'hello=default'])
    expect(await current.subjects(id)).toEqual(['Hello'])
    expect(await engineOf(id)).toEqual([{ engine: ENGINE }])

    const tooNew = await current.run(greets, undefined, ENGINE + 1)
    const handle = current.client.workflow.getHandle(tooNew.id)
    await eventually(async () => {
      const { events } = await handle.fetchHistory()
      const failed = events?.flatMap((event) => event.workflowTaskFailedEventAttributes ?? [])
      expect(failed?.[0]?.failure?.message).toContain('a newer release must run the segment')
    }, SOON)
    expect((await current.row(tooNew.id)).ended_status).toBeNull()
    expect(await current.steps(tooNew.id)).toEqual([])
    await handle.terminate()
  } finally {
    await current.stop()
  }
}, 400_000)
