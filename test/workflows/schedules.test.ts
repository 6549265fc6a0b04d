// Schedules on Temporal: their timers, members, activation and pause, and what Temporal has lost of them.
import { expect, test } from 'vitest'
import { workflowIds } from '../../rules/wire.ts'
import { createApiWithEngine } from '../setup/apiEngine.ts'
import { eventually } from '../setup/eventually.ts'
import { design, mail } from '../setup/flows.ts'
import { holdContact } from '../setup/mailEvents.ts'
import { insertAudience, memberEmail, scheduled } from '../setup/schedules.ts'
import { uniqueName } from '../setup/unique.ts'

const { api, engine, flow, post } = await createApiWithEngine()
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
    .select(['id', 'email', 'version', 'properties', 'ended_status'])
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

test(
  'what was held is let go on when its moment is over, and nobody is started again',
  async () => {
    const audience_id = await insertAudience(api.db, workspace, 2)
    const event_name = uniqueName('go')
    const id = await flow({
      ...design(
        {
          start: ['trigger', { kind: 'schedule', at: Date.now() + 2_000, audience_id }],
          wait: ['wait_for_event', { event_name }],
          end: ['exit', {}],
        },
        [
          ['start', 'wait'],
          ['wait', 'end', 'received'],
        ],
      ),
      settings: { on_pause: 'hold' },
    })
    engine().wake()
    await eventually(async () => expect(await executionsOf(id)).toHaveLength(2), deadline)
    const started = await executionsOf(id)
    for (const one of started) await engine().waiting(one.id, 'wait')
    expect((await patch(id, { status: 'paused' })).status).toBe(200)
    for (const { email } of started) await post(event_name, email)
    for (const one of started) await engine().waiting(one.id, 'end')
    const validated = await api.request('POST', `/v1/workflows/${id}/validate`, {})
    expect(validated.body).toEqual({ valid: true, problems: [] })

    const resumed = await patch(id, { status: 'active' })
    expect(resumed.status, resumed.text).toBe(200)
    for (const one of started) await engine().ended(one.id, 'COMPLETED')
    // The schedule that the activation has begun anew finds no time.
    await eventually(async () => {
      const rows = api.db.selectFrom('schedules').select('is_over').where('workflow_id', '=', id)
      expect(await rows.execute()).toEqual([{ is_over: true }])
    }, deadline)
    await untilStatus(id, 'COMPLETED')
    expect((await executionsOf(id)).map((one) => one.id)).toEqual(started.map((one) => one.id))
  },
  TEST_MS,
)

test(
  'a corrected design is taken in the middle of the members, and goes on with those that are left',
  async () => {
    const audience_id = await insertAudience(api.db, workspace, 70)
    const at = Date.now() + 2_000
    const sends = (subject: string) =>
      design(
        {
          start: ['trigger', { kind: 'schedule', at, audience_id }],
          hello: mail(subject),
          end: ['exit', {}],
        },
        [
          ['start', 'hello'],
          ['hello', 'end'],
        ],
      )
    await post(uniqueName('known'), memberEmail(60))
    // Whom somebody holds ends the page before them.
    const id = await holdContact(api.url, memberEmail(60), async () => {
      const made = await flow(sends('Helo'))
      engine().wake()
      await eventually(async () => expect(await executionsOf(made)).toHaveLength(60), deadline)
      const corrected = await patch(made, { design: sends('Hello') })
      expect(corrected.status, corrected.text).toBe(200)
      return made
    })
    await eventually(async () => {
      const ends = (await executionsOf(id)).map(({ ended_status }) => ended_status)
      expect(ends).toEqual(Array(70).fill('COMPLETED'))
    }, deadline)
    const found = await executionsOf(id)
    expect(found.map(({ email }) => email)).toEqual(
      Array.from({ length: 70 }, (_, n) => memberEmail(n)),
    )
    expect(found.map(({ version }) => version)).toEqual([
      ...Array(60).fill(1),
      ...Array(10).fill(2),
    ])
    expect(await engine().subjects(found[69]?.id ?? '')).toEqual(['Hello'])

    const over = { design: scheduled({ at: at - 1, audience_id }) }
    const refused = await patch(id, over)
    expect([refused.status, refused.body.problems]).toMatchObject([
      400,
      [{ code: 'schedule_in_past' }],
    ])
  },
  TEST_MS,
)
