// A schedule that Temporal has lost is started again where Postgres has it, and one that has no time left is not.
import { expect, inject, test } from 'vitest'
import { workflowIds } from '../../rules/wire.ts'
import { tellOverdue } from '../../worker/overdue.ts'
import { eventually } from '../setup/eventually.ts'
import { now } from '../setup/harness.ts'
import { createLostRuns } from '../setup/lostRuns.ts'
import { runOperator } from '../setup/operator.ts'
import { insertAudience, insertScheduled, setSchedule } from '../setup/schedules.ts'

const TEST_MS = 240_000
const { database, db, engine, round, lose, drained, outbox, depsOf, withoutStarter } =
  await createLostRuns()

const idOf = (workflowId: string) => workflowIds.schedule(workflowId, 'start')
const untilStatus = (workflowId: string, status: string) =>
  eventually(
    async () => {
      const handle = engine().client.workflow.getHandle(idOf(workflowId))
      expect((await handle.describe()).status.name).toBe(status)
    },
    { deadline_ms: 60_000 },
  )
async function make(data: object, members = 3): Promise<string> {
  const audience_id = await insertAudience(db, engine(), members)
  const id = await insertScheduled(db, engine(), { ...data, audience_id }, now)
  engine().wake()
  return id
}
const countStarted = async (workflowId: string) => {
  const rows = db.selectFrom('executions').select('id').where('workflow_id', '=', workflowId)
  return (await rows.execute()).length
}

test(
  'lost while it waits or terminated, it waits again; one that is over stays so',
  async () => {
    const [lost, terminated] = [
      await make({ cron: '0 0 29 2 *' }),
      await make({ cron: '0 0 29 2 *' }),
    ]
    const over = await make({ at: Date.now() })
    for (const id of [lost, terminated]) await untilStatus(id, 'RUNNING')
    await untilStatus(over, 'COMPLETED')
    await drained()
    await lose(idOf(lost))
    await lose(idOf(over))
    await engine().client.workflow.getHandle(idOf(terminated)).terminate('by hand')
    const { code, stdout, stderr } = await runOperator('recover', [], {
      DATABASE_URL: database.url,
      TEMPORAL_ADDRESS: inject('temporalAddress'),
      TEMPORAL_NAMESPACE: engine().namespace,
    })
    expect(code, stderr).toBe(0)
    expect(stdout).toMatch(new RegExp(`schedule +${lost}/start .* at its next time`))
    expect(stdout).toContain('2 that are missing')
    await round()
    for (const id of [lost, terminated]) await untilStatus(id, 'RUNNING')
    await expect(engine().client.workflow.getHandle(idOf(over)).describe()).rejects.toThrow()
  },
  TEST_MS,
)

test(
  'lost before its time, it is caught up late, once for each member',
  async () => {
    const id = await make({ at: Date.now() + 4_000 })
    await untilStatus(id, 'RUNNING')
    await drained()
    await lose(idOf(id))
    await round()
    await eventually(async () => expect(await countStarted(id)).toBe(3), { deadline_ms: 60_000 })
    await untilStatus(id, 'COMPLETED')
  },
  TEST_MS,
)

test(
  'a change that a worker of the release before has taken is told once more, when its time is late',
  async () => {
    const audience_id = await insertAudience(db, engine(), 3)
    const yearly = { cron: '0 0 29 2 *', audience_id }
    const id = await insertScheduled(db, engine(), yearly, now)
    engine().wake()
    await eventually(async () => {
      const { events } = await engine().client.workflow.getHandle(idOf(id)).fetchHistory()
      expect(events?.some((event) => event.timerStartedEventAttributes)).toBe(true)
    })
    const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000)
    await withoutStarter(async () => {
      const data = { at: minutesAgo(3).getTime(), audience_id }
      await setSchedule(db, engine(), id, { data, now: () => minutesAgo(5) })
      // That release takes it for a task of a domain, and removes it.
      await db.deleteFrom('outbox').where('kind', '=', 'schedule').execute()
    })
    await round()
    await eventually(async () => expect(await countStarted(id)).toBe(3))
    await untilStatus(id, 'COMPLETED')
  },
  TEST_MS,
)

test('one that is not late, or that somebody works on, is not told', async () => {
  const audience_id = await insertAudience(db, engine(), 3)
  await withoutStarter(async () => {
    const now_ms = Date.now()
    const given = (data: object, handled_ms: number) =>
      insertScheduled(db, engine(), { ...data, audience_id }, () => new Date(handled_ms))
    await given({ at: now_ms + 60_000 }, now_ms)
    await given({ at: now_ms - 60_000 }, now_ms - 90_000)
    const worked = await given({ at: now_ms - 600_000 }, now_ms - 900_000)
    await db
      .updateTable('schedules')
      .set({ due_at: new Date(now_ms - 600_000), paged_at: new Date(now_ms - 60_000) })
      .where('workflow_id', '=', worked)
      .execute()
    await db.deleteFrom('outbox').execute()
    const deps = { ...depsOf(engine().client), wake: () => undefined }
    await tellOverdue(deps)
    expect(await outbox()).toEqual([])
    // Half an hour later all of them are.
    await tellOverdue({ ...deps, now: () => new Date(now_ms + 30 * 60_000) })
    expect((await outbox()).map(({ kind }) => kind)).toEqual(['schedule', 'schedule', 'schedule'])
    await db.deleteFrom('schedules').execute()
    await db.deleteFrom('outbox').execute()
  })
})
