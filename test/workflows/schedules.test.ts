// Schedules on Temporal: their timers, members, activation and pause, and what Temporal has lost of them.
import { expect, test } from 'vitest'
import { workflowIds } from '../../rules/wire.ts'
import { createApiWithEngine } from '../setup/apiEngine.ts'
import { eventually } from '../setup/eventually.ts'
import { insertAudience, memberEmail, scheduled } from '../setup/schedules.ts'

const { api, engine, flow } = await createApiWithEngine()
const workspace = { workspaceId: api.workspaceId, userId: api.userId }

const TEST_MS = 120_000
const deadline = { deadline_ms: 90_000 }

const statusOf = async (workflowId: string) => {
  const handle = engine().client.workflow.getHandle(workflowIds.schedule(workflowId, 'start'))
  return (await handle.describe()).status.name
}
const untilStatus = (workflowId: string, status: string) =>
  eventually(async () => expect(await statusOf(workflowId)).toBe(status), deadline)
const activate = async (data: object) => {
  const id = await flow(scheduled(data))
  engine().wake()
  return id
}
const patch = async (id: string, change: object) => {
  const answer = await api.request<{ problems?: object[] }>('PATCH', `/v1/workflows/${id}`, change)
  engine().wake()
  return answer
}
const executionsOf = (workflowId: string) =>
  api.db
    .selectFrom('executions')
    .select(['id', 'email', 'properties', 'ended_status'])
    .where('workflow_id', '=', workflowId)
    .orderBy('email')
    .execute()

test(
  'a moment ahead starts each member once; then its workflow function ends',
  async () => {
    const audience_id = await insertAudience(api.db, workspace, 130)
    const at = Date.now() + 3_000
    const id = await activate({ at, audience_id })
    await untilStatus(id, 'RUNNING')
    await eventually(async () => {
      const found = await executionsOf(id)
      expect(found.map(({ ended_status }) => ended_status)).toEqual(Array(130).fill('COMPLETED'))
    }, deadline)
    const found = await executionsOf(id)
    expect(found.map(({ email }) => email)).toEqual(
      Array.from({ length: 130 }, (_, n) => memberEmail(n)),
    )
    expect(found[0]?.properties).toEqual({ scheduled_at: at })
    await untilStatus(id, 'COMPLETED')
    const contact = await api.request('GET', `/v1/automation/contacts/${memberEmail(0)}`)
    expect(contact.status).toBe(200)
    const steps = await api.request<{ steps: object[] }>(
      'GET',
      `/v1/executions/${found[0]?.id}/steps`,
    )
    expect(steps.body.steps).toMatchObject([
      { node_id: 'start', why: 'schedule' },
      { node_id: 'end' },
    ])
  },
  TEST_MS,
)

test(
  'a pause ends its workflow function, an activation starts it again, and archiving ends it',
  async () => {
    const audience_id = await insertAudience(api.db, workspace, 1)
    const id = await activate({ cron: '0 0 29 2 *', timezone: 'Europe/Berlin', audience_id })
    await untilStatus(id, 'RUNNING')
    await patch(id, { status: 'paused' })
    await untilStatus(id, 'COMPLETED')
    await patch(id, { status: 'active' })
    await untilStatus(id, 'RUNNING')
    await api.request('DELETE', `/v1/workflows/${id}`)
    engine().wake()
    await untilStatus(id, 'COMPLETED')
    expect(await executionsOf(id)).toEqual([])
  },
  TEST_MS,
)

test(
  'other times of an active workflow count at once, and a moment that is over is refused',
  async () => {
    const audience_id = await insertAudience(api.db, workspace, 2)
    const id = await activate({ cron: '0 0 29 2 *', audience_id })
    await untilStatus(id, 'RUNNING')
    const refused = await patch(id, { design: scheduled({ at: Date.now() - 1, audience_id }) })
    expect([refused.status, refused.body.problems]).toMatchObject([
      400,
      [{ code: 'schedule_in_past', node_id: 'start' }],
    ])
    await patch(id, { design: scheduled({ at: Date.now() + 2_000, audience_id }) })
    await eventually(async () => expect(await executionsOf(id)).toHaveLength(2), deadline)
    await untilStatus(id, 'COMPLETED')
  },
  TEST_MS,
)
