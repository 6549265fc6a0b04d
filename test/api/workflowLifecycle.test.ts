// A workflow from draft to archive: immutable versions, which version each start runs, and concurrent changes.
import { describe, expect, it } from 'vitest'
import { createTestApi } from '../setup/api.ts'
import { describeTables } from '../setup/tables.ts'
import { uniqueName } from '../setup/unique.ts'
import { createWorkflowClient, exitDesign, type Workflow } from '../setup/workflowClient.ts'

const api = await createTestApi()
const { create, patch, get } = createWorkflowClient(api)
const newEmail = () => `${uniqueName('c')}@example.test`

const begin = async (event_name: string): Promise<string> => {
  const event = { event_name, email: newEmail() }
  const { body } = await api.request<{ executions: string[] }>(
    'POST',
    '/v1/automation/events',
    event,
  )
  return body.executions[0] ?? ''
}
const versionOf = async (executionId: string) =>
  (await api.request('GET', `/v1/executions/${executionId}`)).body['version_used']
const startByHand = (id: string, body: object = { email: newEmail() }) =>
  api.request<{ execution_id: string }>('POST', `/v1/workflows/${id}/executions`, body)

/** A design with a problem in each node and in an edge. */
const faulty = {
  nodes: [
    { id: 'start', type: 'trigger', data: { kind: 'event', event_name: 'not a name' } },
    { id: 'wait', type: 'delay', data: { duration: 'three days' } },
    { id: 'send', type: 'send_email', data: { subject: '{{ broken', html: '<p>x</p>' } },
    { id: 'what', type: 'teleport', data: {} },
  ],
  edges: [{ id: 'e', source: 'start', target: 'nowhere' }],
}

describe('versions', () => {
  it('stay with the executions that were started with them', async () => {
    const eventName = uniqueName('e')
    const { workflow_id: id } = await create({ status: 'active', design: exitDesign(eventName) })
    const first = await begin(eventName)
    const changed = { ...exitDesign(eventName), settings: { on_unsubscribe: 'skip_sends' } }
    expect((await patch(id, { design: changed })).body).toMatchObject({ active_version: 2 })
    const second = await begin(eventName)
    expect([await versionOf(first), await versionOf(second)]).toEqual([1, 2])
    const old = await api.request('GET', `/v1/workflows/${id}/versions/1`)
    expect(old.body['design']).toEqual(exitDesign(eventName))
  })

  it('of a paused workflow are added without becoming active; activating takes the latest', async () => {
    const eventName = uniqueName('e')
    const { workflow_id: id } = await create({ status: 'active', design: exitDesign(eventName) })
    const running = await begin(eventName)
    await patch(id, { status: 'paused' })
    const design = { ...exitDesign(eventName), settings: { on_step_failure: 'continue' } }
    expect((await patch(id, { design })).body).toMatchObject({
      current_version: 2,
      active_version: 1,
    })
    expect(await begin(eventName)).toBe('')
    expect((await startByHand(id)).body).toMatchObject({ code: 'workflow_not_active' })
    expect(await versionOf(running)).toBe(1)
    expect((await patch(id, { status: 'active' })).body).toMatchObject({ active_version: 2 })
    expect(await versionOf(await begin(eventName))).toBe(2)
  })

  it('are not added for the same design, in any order of keys', async () => {
    const { workflow_id: id } = await create({ design: exitDesign('e') })
    const { nodes, edges } = exitDesign('e')
    const turned = {
      edges,
      nodes: nodes.map(({ id: one, type, data }) => ({ data, type, id: one })),
    }
    expect((await patch(id, { design: turned })).body.current_version).toBe(1)
    expect((await patch(id, { name: 'Other', status: 'paused' })).body.current_version).toBe(1)
  })

  it('are restored as new ones; an invalid one cannot be restored in an active workflow', async () => {
    const eventName = uniqueName('e')
    const { workflow_id: id } = await create({ design: faulty })
    const design = exitDesign(eventName)
    await patch(id, { status: 'active', design })
    const before = await describeTables(api.db)
    const restore = (n: number) =>
      api.request<Workflow>('POST', `/v1/workflows/${id}/versions/${n}/restore`)
    const refused = await restore(1)
    expect(refused).toMatchObject({ status: 400, body: { code: 'invalid_design' } })
    expect(await describeTables(api.db)).toBe(before)
    await patch(id, { status: 'draft' })
    expect((await restore(1)).body).toMatchObject({ status: 'draft', current_version: 3 })
    expect((await get(id)).body.design).toEqual(faulty)
  })
})

describe('an invalid design', () => {
  it('is refused with every problem, and nothing of the request is done', async () => {
    const { workflow_id: id } = await create({ design: exitDesign('e') })
    const before = await describeTables(api.db)
    const change = { name: 'Renamed', status: 'active', design: faulty }
    const { status, body } = await api.request('PATCH', `/v1/workflows/${id}`, change)
    expect([status, body]).toEqual([
      400,
      {
        error: 'Workflow design is invalid',
        code: 'invalid_design',
        problems: expect.any(Array),
      },
    ])
    const problems = body['problems'] as { node_id: string | null; path: string }[]
    for (const problem of problems) {
      expect(problem).toEqual({
        node_id: problem.node_id,
        path: expect.any(String),
        message: expect.stringMatching(/./),
        code: expect.stringMatching(/^[a-z_]+$/),
      })
    }
    const paths = problems.map((problem) => problem.path)
    for (const path of ['0.data.event_name', '1.data.duration', '2.data.subject', '3.type']) {
      expect(paths).toContain(`nodes.${path}`)
    }
    expect(paths).toContain('edges.0.target')
    expect(await describeTables(api.db)).toBe(before)
  })

  it('may be kept as a draft', async () => {
    const made = await create({ design: faulty })
    expect(made).toMatchObject({ status: 'draft', active_version: 0, design: faulty })
  })
})

describe('many at once', () => {
  it('with the same expected_version: one wins, the others get version_conflict', async () => {
    const { workflow_id: id } = await create()
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, i) =>
        patch(id, { design: exitDesign(`e${i}`), expected_version: 1 }),
      ),
    )
    expect(answers.map((answer) => answer.status).sort()).toEqual([200, ...Array(7).fill(409)])
    expect((await get(id)).body.current_version).toBe(2)
  })

  it('that pause, activate and archive leave no trigger of an archived workflow', async () => {
    const eventName = uniqueName('e')
    const { workflow_id: id } = await create({ status: 'active', design: exitDesign(eventName) })
    await Promise.all([
      patch(id, { status: 'paused' }),
      patch(id, { status: 'active' }),
      api.request('DELETE', `/v1/workflows/${id}`),
      patch(id, { status: 'active', design: { ...exitDesign(eventName), settings: {} } }),
    ])
    expect((await get(id)).status).toBe(404)
    expect(await begin(eventName)).toBe('')
    expect((await api.request('DELETE', `/v1/workflows/${id}`)).status).toBe(404)
  })
})

describe('a copy', () => {
  it('is a draft of its own: changing it leaves the original', async () => {
    const eventName = uniqueName('e')
    const made = await create({ status: 'active', design: exitDesign(eventName) })
    const path = `/v1/workflows/${made.workflow_id}/duplicate`
    const { status, body: copy } = await api.request<Workflow>('POST', path)
    expect([status, copy]).toMatchObject([
      201,
      { status: 'draft', current_version: 1, active_version: 0, design: made.design },
    ])
    expect(copy.workflow_id).not.toBe(made.workflow_id)
    await patch(copy.workflow_id, { name: 'Mine', design: exitDesign('other') })
    expect((await get(made.workflow_id)).body).toEqual(made)
  })
})

describe('a start by hand', () => {
  it('takes the manual trigger of the active version, and its properties', async () => {
    const nodes = [
      { id: 'event', type: 'trigger', data: { kind: 'event', event_name: 'e' } },
      { id: 'hand', type: 'trigger', data: { kind: 'manual' } },
      { id: 'end', type: 'exit', data: {} },
    ]
    const edges = [
      { id: 'a', source: 'event', target: 'end' },
      { id: 'b', source: 'hand', target: 'end' },
    ]
    const { workflow_id: id } = await create({ status: 'active', design: { nodes, edges } })
    const email = newEmail()
    const { status, body } = await startByHand(id, { email, properties: { a: { b: 1 } } })
    expect([status, body]).toMatchObject([201, { version_used: 1, status: 'IN_PROGRESS' }])
    const row = await api.db
      .selectFrom('executions')
      .select(['trigger_node_id', 'trigger_event_id', 'properties'])
      .where('id', '=', body.execution_id)
      .executeTakeFirstOrThrow()
    expect(row).toEqual({
      trigger_node_id: 'hand',
      trigger_event_id: null,
      properties: { a: { b: 1 } },
    })
    const contact = await api.request('GET', `/v1/automation/contacts/${email}`)
    expect(contact.status).toBe(200)
    const listed = await api.request('GET', `/v1/automation/contacts/${email}/executions`)
    expect(listed.body).toMatchObject({ executions: [{ execution_id: body.execution_id }] })
  })

  it('of an archived workflow is a 404', async () => {
    const { workflow_id: id } = await create({ status: 'active', design: exitDesign('e') })
    await api.request('DELETE', `/v1/workflows/${id}`)
    const before = await describeTables(api.db)
    expect((await startByHand(id)).status).toBe(404)
    expect(await describeTables(api.db)).toBe(before)
  })
})
