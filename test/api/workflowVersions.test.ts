// Versions, validation and copies of workflows, and workflows that do not exist.
import { describe, expect, it, test } from 'vitest'
import { ENGINE } from '../../rules/engine.ts'
import { createTestApi, insertTestDomain } from '../setup/api.ts'
import { welcomeDesign } from '../setup/designs.ts'
import { uniqueName } from '../setup/unique.ts'
import {
  createWorkflowClient,
  exitDesign,
  unfinished,
  type Workflow,
} from '../setup/workflowClient.ts'

const api = await createTestApi()
await insertTestDomain(api, 'sender.test')
const otherKey = (await api.createKey({ workspaceName: 'other' })).token
const { create, patch, get, startedBy } = createWorkflowClient(api)

describe('versions', () => {
  it('are listed, read and restored; each stays as it was', async () => {
    const [first, second] = [exitDesign('one'), exitDesign('two')]
    const { workflow_id: id } = await create({ design: first })
    await patch(id, { design: second })
    const path = `/v1/workflows/${id}/versions`
    const list = await api.request('GET', path)
    expect(list.body).toEqual({
      versions: [2, 1].map((version) => ({
        workflow_id: id,
        version,
        created: expect.any(Number),
        created_by: api.keyId,
      })),
      count: 2,
      cursor: null,
    })
    expect((await api.request('GET', `${path}/1`)).body).toMatchObject({
      version: 1,
      design: first,
    })
    const restored = await api.request('POST', `${path}/1/restore`)
    expect(restored).toMatchObject({ status: 200, body: { current_version: 3 } })
    expect((await get(id)).body.design).toEqual(first)
    expect((await api.request('GET', `${path}/2`)).body).toMatchObject({ design: second })
    for (const n of ['0', '4', '-1', '1.0', 'x', '99999999999']) {
      expect((await api.request('GET', `${path}/${n}`)).status).toBe(404)
      expect((await api.request('POST', `${path}/${n}/restore`)).status).toBe(404)
    }
  })
})

test('a version runs under the semantics under which it was first active', async () => {
  const { workflow_id: id } = await create({ design: exitDesign(uniqueName('event')) })
  const version = api.db.updateTable('workflow_versions').where('workflow_id', '=', id)
  const engine = async () => {
    const stored = api.db.selectFrom('workflow_versions').select('engine')
    return (await stored.where('workflow_id', '=', id).executeTakeFirstOrThrow()).engine
  }
  expect(await engine()).toBe(ENGINE)
  // A draft that the release before has written.
  await version.set({ engine: 1 }).execute()
  await patch(id, { status: 'active' })
  expect(await engine()).toBe(ENGINE)
  // Its executions began under that number.
  await version.set({ engine: 1 }).execute()
  await patch(id, { status: 'paused' })
  await patch(id, { status: 'active' })
  expect(await engine()).toBe(1)
})

describe('validate and duplicate', () => {
  it('returns every problem of a design without saving it', async () => {
    const made = await create({ design: exitDesign('x') })
    const check = (body: object) =>
      api.request<{ valid: boolean; problems: unknown[] }>(
        'POST',
        `/v1/workflows/${made.workflow_id}/validate`,
        body,
      )
    expect((await check({})).body).toEqual({ valid: true, problems: [] })
    expect((await check({ design: welcomeDesign })).body).toEqual({ valid: true, problems: [] })
    const bad = await check({ design: unfinished })
    expect(bad).toMatchObject({ status: 200, body: { valid: false } })
    expect(bad.body.problems.length).toBeGreaterThan(1)
    expect((await check({ design: 1 })).status).toBe(400)
    expect((await get(made.workflow_id)).body).toEqual(made)
  })

  it('knows which senders and templates may be used', async () => {
    const { workflow_id: id } = await create()
    const node = (data: object) => ({
      nodes: [
        { id: 'start', type: 'trigger', data: { kind: 'manual' } },
        { id: 'send', type: 'send_email', data },
      ],
      edges: [{ id: 'e', source: 'start', target: 'send' }],
    })
    const codes = async (data: object) => {
      const { body } = await api.request<{ problems: { code: string; node_id: string }[] }>(
        'POST',
        `/v1/workflows/${id}/validate`,
        { design: node(data) },
      )
      return body.problems.filter((p) => p.node_id === 'send').map((p) => p.code)
    }
    const content = { subject: 'Hi', html: 'x' }
    const base = await codes({ ...content, from: 'a@sender.test' })
    expect(await codes({ ...content, from: 'a@elsewhere.test' })).toHaveLength(base.length + 1)
    expect(await codes({ from: 'a@sender.test', template_id: 'nothing' })).toContain(
      'unknown_template',
    )
    const draft = await api.request<{ id: string }>('POST', '/v1/templates', {
      name: 'T',
      alias: 'hello',
      subject: 'Hi',
      html: 'x',
    })
    const withTemplate = { from: 'a@sender.test', template_id: 'hello' }
    expect(await codes(withTemplate)).toContain('template_not_published')
    await api.request('POST', `/v1/templates/${draft.body.id}/publish`)
    expect(await codes(withTemplate)).toEqual(base)
  })

  it('copies the design into a draft with a name within the limit', async () => {
    const made = await create({ name: 'n'.repeat(100), status: 'active', design: exitDesign('x') })
    const copy = await api.request<Workflow>('POST', `/v1/workflows/${made.workflow_id}/duplicate`)
    expect(copy).toMatchObject({
      status: 201,
      body: { name: `${'n'.repeat(95)} copy`, status: 'draft', design: made.design },
    })
    expect(copy.body.workflow_id).not.toBe(made.workflow_id)
  })
})

describe('a workflow that does not exist', () => {
  it('after archiving: it is not found, starts nothing, and its executions stay', async () => {
    const eventName = uniqueName('e')
    const { workflow_id: id } = await create({ status: 'active', design: exitDesign(eventName) })
    expect(await startedBy(eventName)).toBe(1)
    const gone = await api.request('DELETE', `/v1/workflows/${id}`)
    expect([gone.status, gone.text]).toEqual([204, ''])
    expect(await startedBy(eventName)).toBe(0)
    expect((await get(id)).status).toBe(404)
    expect((await patch(id, { status: 'active' })).status).toBe(404)
    expect((await api.request('DELETE', `/v1/workflows/${id}`)).status).toBe(404)
    const { body } = await api.request<{ workflows: Workflow[] }>('GET', '/v1/workflows')
    expect(body.workflows.map((row) => row.workflow_id)).not.toContain(id)
    expect((await api.request('GET', `/v1/workflows/${id}/emails`)).status).toBe(200)
  })

  it.each(['wf_00000000000000000000000000', 'nothing', '%00', 'a%2Fb', "'", '%zz'])(
    '%s is a 404 of shape B',
    async (id) => {
      for (const [method, path, body] of [
        ['GET', '', undefined],
        ['PATCH', '', { name: 'x' }],
        ['DELETE', '', undefined],
        ['GET', '/versions', undefined],
        ['GET', '/versions/1', undefined],
        ['POST', '/versions/1/restore', undefined],
        ['POST', '/validate', {}],
        ['POST', '/duplicate', undefined],
        ['GET', '/executions', undefined],
        ['GET', '/emails', undefined],
        ['POST', '/executions', { email: 'a@b.test' }],
      ] as const) {
        const answer = await api.request(method, `/v1/workflows/${id}${path}`, body)
        expect([method, path, answer.status]).toEqual([method, path, 404])
        expect(answer.body).toEqual({ error: expect.any(String), code: 'not_found' })
      }
    },
  )

  it('of another workspace is a 404 and is not changed', async () => {
    const made = await create({ design: exitDesign('x') })
    const auth = { authorization: `Bearer ${otherKey}` }
    const path = `/v1/workflows/${made.workflow_id}`
    for (const [method, more, body] of [
      ['GET', '', undefined],
      ['PATCH', '', { name: 'mine' }],
      ['DELETE', '', undefined],
      ['GET', '/versions/1', undefined],
      ['POST', '/duplicate', undefined],
      ['GET', '/executions', undefined],
      ['POST', '/executions', { email: 'a@b.test' }],
    ] as const) {
      expect((await api.request(method, path + more, body, auth)).status).toBe(404)
    }
    expect((await get(made.workflow_id)).body).toEqual(made)
  })
})
