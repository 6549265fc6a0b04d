// Pages of one workspace have few places in a worker: runs of an earlier release, which do not know their workspace, share none, and a schedule that finds
// none for a further page comes again later.
import { MockActivityEnvironment } from '@temporalio/testing'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { createPagePlaces } from '../../activities/pagePlaces.ts'
import { holdActivities } from '../../activities/releaseHeld.ts'
import { jobActivities } from '../../activities/runJob.ts'
import { scheduleActivities } from '../../activities/turnSchedule.ts'
import { createTestApi } from '../setup/api.ts'
import { eventually } from '../setup/eventually.ts'
import { untilWaiting } from '../setup/lockWaits.ts'
import { insertAudience, insertScheduled } from '../setup/schedules.ts'

const { db, deps: given, workspaceId, userId } = await createTestApi()
const deps = { ...given, stopping: new AbortController().signal }

const inActivity = <Input, Result>(run: (input: Input) => Promise<Result>, input: Input) =>
  new MockActivityEnvironment().run<[Input], Result, typeof run>(run, input)

test('pages of two runs of an earlier release share no places', async () => {
  const places = createPagePlaces()
  const { runJobPage } = jobActivities(deps, places)
  const { turnSchedule } = scheduleActivities(deps, places)
  const { releaseHeldPage } = holdActivities(deps, places)
  const jobId = deps.newId('job')
  const at = deps.now()
  await sql`insert into jobs (id, workspace_id, kind, status, input, created_at, updated_at)
    values (${jobId}, ${workspaceId}, 'import', 'running', '{}', ${at}, ${at})`.execute(db)
  let hanging: Promise<unknown> = Promise.resolve()
  await db.transaction().execute(async (trx) => {
    await sql`select from jobs where id = ${jobId} for update`.execute(trx)
    hanging = Promise.allSettled([1, 2].map(() => inActivity(runJobPage, { jobId })))
    await untilWaiting(db, 2)
    expect(await inActivity(runJobPage, { jobId: deps.newId('job') })).toEqual({ more: false })
    const workflowId = deps.newId('workflow')
    expect(await inActivity(releaseHeldPage, { workflowId })).toEqual({ more: false })
    const schedule = { workflowId, nodeId: 'start' }
    expect(await inActivity(turnSchedule, schedule)).toEqual({ next_ms: null })
  })
  await hanging
})

test('a schedule that finds no place for its second page comes again later, by a try of its own', async () => {
  const places = createPagePlaces()
  let end = () => {}
  const isOver = new Promise<void>((resolve) => {
    end = resolve
  })
  const others: Promise<unknown>[] = []
  const audience_id = await insertAudience(db, { workspaceId, userId }, 120)
  const at = Date.now()
  const before = () => new Date(at - 1)
  const workflowId = await insertScheduled(db, { workspaceId, userId }, { at, audience_id }, before)
  // Called when the first page has committed.
  const wake = () => {
    const other = () => places.within(workspaceId, () => isOver)
    while (others.length < 2) others.push(new MockActivityEnvironment().run(other))
  }
  const { turnSchedule } = scheduleActivities({ ...deps, wake }, places)
  const turning = inActivity(turnSchedule, { workflowId, nodeId: 'start', workspaceId })
  const startsLeft = async () => {
    const left = db.selectFrom('outbox').select('id').where('workflow_id', '=', workflowId)
    return (await left.where('kind', '=', 'start').execute()).length
  }
  await eventually(async () => expect(await startsLeft()).toBe(50))
  // As the starter does.
  await db.deleteFrom('outbox').where('workflow_id', '=', workflowId).execute()
  const { next_ms } = await turning
  expect(next_ms).toBeGreaterThanOrEqual(1_999)
  end()
  await Promise.all(others)
})
