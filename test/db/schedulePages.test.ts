// A page of members waits while starts before it wait for Temporal, so that events come first, and a worker that stops ends there.
import { MockActivityEnvironment } from '@temporalio/testing'
import { expect, test } from 'vitest'
import { createPagePlaces } from '../../activities/pagePlaces.ts'
import { scheduleActivities } from '../../activities/turnSchedule.ts'
import { addressMacOf } from '../setup/addressMac.ts'
import { createTestDatabase } from '../setup/database.ts'
import { eventually } from '../setup/eventually.ts'
import { newId, now, seedWorkspace } from '../setup/harness.ts'
import { insertAudience, insertScheduled } from '../setup/schedules.ts'

const { db } = await createTestDatabase()
const workspace = await seedWorkspace(db)
const addressMac = await addressMacOf(db)

test('while its starts are in the outbox no further page is begun', async () => {
  const audience_id = await insertAudience(db, workspace, 120)
  const at = Date.now()
  const data = { at, audience_id }
  const workflowId = await insertScheduled(db, workspace, data, () => new Date(at - 1))
  const startsLeft = async () => {
    const starts = db.selectFrom('outbox').select('id').where('kind', '=', 'start')
    return (await starts.where('workflow_id', '=', workflowId).execute()).length
  }
  const run = () => {
    const stopping = new AbortController()
    const deps = { db, newId, now, addressMac, wake: () => undefined, stopping: stopping.signal }
    const { turnSchedule } = scheduleActivities(deps, createPagePlaces())
    const environment = new MockActivityEnvironment()
    let beats = 0
    environment.on('heartbeat', () => {
      beats += 1
    })
    const done = environment.run(turnSchedule, { workflowId, nodeId: 'start' })
    return { done, stop: () => stopping.abort(), beats: () => beats }
  }
  const first = run()
  // It looks again and again whether they have left.
  await eventually(() => expect(first.beats()).toBeGreaterThan(4))
  expect(await startsLeft()).toBe(50)
  first.stop()
  expect(await first.done).toEqual({ next_ms: 0 })

  // As the starter does.
  const second = run()
  await eventually(async () => {
    const pages = await startsLeft()
    await db.deleteFrom('outbox').where('kind', '=', 'start').execute()
    expect(pages).toBeLessThanOrEqual(100)
    const found = await db.selectFrom('executions').select('id').execute()
    expect(found).toHaveLength(120)
  })
  await db.deleteFrom('outbox').where('kind', '=', 'start').execute()
  expect(await second.done).toEqual({ next_ms: null })
})
