// Posting automation events: contacts, starts, waits and the outbox in one commit.
import { describe, expect, it } from 'vitest'
import { createTestApi } from '../setup/api.ts'
import { uniqueName } from '../setup/unique.ts'
import { createWorkflowClient, exitDesign } from '../setup/workflowClient.ts'

const api = await createTestApi()
const { create } = createWorkflowClient(api)

interface Accepted {
  event_id: string
  event_name: string
  email: string
  workspace_id: string
  timestamp: number
  created_at: number
  executions: string[]
  deduplicated: boolean
}

const post = (body: unknown) => api.request<Accepted>('POST', '/v1/automation/events', body)
const newEmail = () => `${uniqueName('c')}@example.test`
const contact = (email: string) => api.request('GET', `/v1/automation/contacts/${email}`)

/** Makes an active workflow that the event starts. @returns its id */
const flowOn = async (eventName: string, filter?: object) => {
  const design = exitDesign(eventName)
  const [start, ...others] = design.nodes
  const nodes = [{ ...start, data: { ...start?.data, filter } }, ...others]
  return (await create({ status: 'active', design: { ...design, nodes } })).workflow_id
}

describe('POST /v1/automation/events', () => {
  it('answers 202 with the event and makes the contact, in lower case', async () => {
    const email = newEmail()
    const before = Date.now()
    const { status, body } = await post({
      event_name: 'a.B_c-1:/2',
      email: email.toUpperCase(),
      contact_properties: { plan: 'pro', gone: null },
    })
    expect(status).toBe(202)
    expect(body).toEqual({
      event_id: expect.stringMatching(/^evt_[0-9A-Z]{26}$/),
      event_name: 'a.B_c-1:/2',
      email,
      workspace_id: api.workspaceId,
      timestamp: body.timestamp,
      created_at: body.timestamp,
      executions: [],
      deduplicated: false,
    })
    expect(body.timestamp).toBeGreaterThanOrEqual(before)
    const { body: made } = await contact(email)
    expect(made).toMatchObject({
      email,
      event_count: 1,
      first_seen: body.timestamp,
      last_seen: body.timestamp,
      last_event: 'a.B_c-1:/2',
      properties: { plan: 'pro' },
    })
  })

  it('keeps first_seen, last_seen and last_event by time, not by arrival', async () => {
    const email = newEmail()
    const now = Date.now()
    for (const [event_name, timestamp] of [
      ['middle', now - 1000],
      ['oldest', now - 5000],
      ['newest', now],
      ['late', now - 2000],
    ] as const) {
      expect((await post({ event_name, email, timestamp })).status).toBe(202)
    }
    const { body } = await contact(email)
    expect(body).toMatchObject({
      event_count: 4,
      first_seen: now - 5000,
      last_seen: now,
      last_event: 'newest',
    })
  })

  it('starts each matching workflow once, writes the outbox and wakes the starter', async () => {
    const eventName = uniqueName('started')
    const workflows = [await flowOn(eventName), await flowOn(eventName)].sort()
    const email = newEmail()
    api.woken.length = 0
    const { body } = await post({ event_name: eventName, email })
    expect(body.executions).toHaveLength(2)
    expect(api.woken).toEqual(['dripline_outbox'])
    const rows = await api.db
      .selectFrom('outbox as o')
      .innerJoin('executions as x', 'x.id', 'o.execution_id')
      .select(['o.kind', 'x.id', 'x.workflow_id', 'x.email', 'x.version', 'x.ended_status'])
      .where('x.email', '=', email)
      .execute()
    expect(rows.map((row) => row.workflow_id).sort()).toEqual(workflows)
    expect(rows.map((row) => row.id).sort()).toEqual([...body.executions].sort())
    for (const row of rows) {
      expect(row).toMatchObject({ kind: 'start', version: 1, ended_status: null })
    }
  })

  it('starts only what its filter lets in, by the event and the merged contact', async () => {
    const eventName = uniqueName('filtered')
    await flowOn(eventName, {
      type: 'and',
      rules: [
        { type: 'rule', field: 'event.total', operator: 'gt', value: 10 },
        { type: 'rule', field: 'properties.plan', operator: 'eq', value: 'pro' },
        { type: 'event_count', event_name: eventName, operator: 'lte', value: 2 },
      ],
    })
    const email = newEmail()
    const started = async (body: object) =>
      (await post({ event_name: eventName, email, ...body })).body.executions.length
    expect(await started({ properties: { total: 11 } })).toBe(0)
    expect(await started({ properties: { total: 11 }, contact_properties: { plan: 'pro' } })).toBe(
      1,
    )
    expect(await started({ properties: { total: 11 } })).toBe(0)
  })

  it('counts each of many concurrent events of one contact', async () => {
    const email = newEmail()
    await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        post({ event_name: 'burst', email, contact_properties: { [`k${i}`]: i } }),
      ),
    )
    const { body } = await contact(email)
    expect(body['event_count']).toBe(20)
    expect(Object.keys(body['properties'] ?? {})).toHaveLength(20)
  })

  it('ends a wait of the contact once, and tells Temporal by the outbox', async () => {
    const email = newEmail()
    const begun = uniqueName('begun')
    await flowOn(begun)
    const { body } = await post({ event_name: begun, email })
    const [executionId = ''] = body.executions
    const { contact_id } = await api.db
      .selectFrom('executions')
      .select('contact_id')
      .where('id', '=', executionId)
      .executeTakeFirstOrThrow()
    const eventName = uniqueName('awaited')
    await api.db
      .insertInto('event_waits')
      .values({
        execution_id: executionId,
        segment: 0,
        node_id: 'wait',
        workspace_id: api.workspaceId,
        contact_id,
        event_name: eventName,
        filter: JSON.stringify({ type: 'rule', field: 'event.ok', operator: 'is_true' }),
        deadline: null,
        consumed_by: null,
        created_at: new Date(),
      })
      .execute()
    const signals = () =>
      api.db
        .selectFrom('outbox')
        .select('payload')
        .where('kind', '=', 'signal')
        .where('execution_id', '=', executionId)
        .execute()
    await post({ event_name: eventName, email, properties: { ok: false } })
    expect(await signals()).toEqual([])
    await post({ event_name: eventName, email: newEmail(), properties: { ok: true } })
    expect(await signals()).toEqual([])
    await Promise.all([
      post({ event_name: eventName, email, properties: { ok: true } }),
      post({ event_name: eventName, email, properties: { ok: true } }),
    ])
    expect(await signals()).toEqual([
      { payload: { segment: 0, eventId: expect.stringMatching(/^evt_/) } },
    ])
  })
})
