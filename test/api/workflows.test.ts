// Workflows: made, read, listed.
import { describe, expect, it } from 'vitest'
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
const { create, get, startedBy, listItem } = createWorkflowClient(api)

describe('a new workflow', () => {
  it('is a draft with an empty design when only its name is given', async () => {
    const made = await create()
    expect(made).toEqual({
      ...listItem(made),
      name: 'Flow 1',
      status: 'draft',
      design: { nodes: [], edges: [] },
      settings: {},
      current_version: 1,
      active_version: 0,
    })
    expect(made.workflow_id).toMatch(/^wf_[0-9A-Z]{26}$/)
    expect((await get(made.workflow_id)).body).toEqual(made)
  })

  it('may be active at once, and triggers', async () => {
    const eventName = uniqueName('e')
    const made = await create({ status: 'active', design: exitDesign(eventName) })
    expect(made).toMatchObject({ status: 'active', current_version: 1, active_version: 1 })
    expect(await startedBy(eventName)).toBe(1)
  })

  it('keeps its design as it was sent, positions and settings too', async () => {
    const design = {
      ...welcomeDesign,
      nodes: welcomeDesign.nodes.map((node, x) => ({ ...node, position: { x, y: 0.5 } })),
      settings: { on_unsubscribe: 'skip_sends' },
    }
    const made = await create({ design, status: 'active' })
    expect(made).toMatchObject({ design, settings: { on_unsubscribe: 'skip_sends' } })
  })

  it.each([
    ['no name', {}, 'name'],
    ['an empty name', { name: '' }, 'name'],
    ['a long name', { name: 'x'.repeat(101) }, 'name'],
    ['a slash in the name', { name: 'a/b' }, 'name'],
    ['a NUL in the name', { name: 'a\0' }, 'name'],
    ['a line break in the name', { name: 'a\nb' }, 'name'],
    ['an unknown status', { name: 'a', status: 'on' }, 'status'],
    ['a text for design', { name: 'a', design: '{}' }, 'design'],
  ])('with %s is a 400 that names the field', async (_name, body, field) => {
    const answer = await api.request('POST', '/v1/workflows', body)
    expect(answer.status).toBe(400)
    expect(answer.body['error']).toMatch(new RegExp(`^${field} (must|is required)`))
  })

  it('with an invalid design is refused as active with every problem, and is not stored', async () => {
    const before = await api.request('GET', '/v1/workflows')
    const answer = await api.request<{ problems: { code: string }[] }>('POST', '/v1/workflows', {
      name: 'bad',
      status: 'active',
      design: unfinished,
    })
    expect(answer).toMatchObject({
      status: 400,
      body: { error: 'Workflow design is invalid', code: 'invalid_design' },
    })
    expect(answer.body.problems.length).toBeGreaterThan(1)
    for (const problem of answer.body.problems) {
      expect(Object.keys(problem).sort()).toEqual(['code', 'message', 'node_id', 'path'])
    }
    expect((await api.request('GET', '/v1/workflows')).body).toEqual(before.body)
  })

  it.each([
    ['no nodes', { edges: [] }],
    ['a NUL', { nodes: [], edges: [], settings: { a: '\0' } }],
    ['too many nodes', { nodes: Array(301).fill({}), edges: [] }],
    ['too large', { nodes: [], edges: [], pad: 'x'.repeat(262_144) }],
  ])('may hold no design with %s, even as a draft', async (_name, design) => {
    const answer = await api.request('POST', '/v1/workflows', { name: 'bad', design })
    expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_design' } })
  })

  it('with an extremely nested design is a 400', async () => {
    const body = `{"name":"a","design":${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}}`
    const answer = await api.request('POST', '/v1/workflows', body)
    expect(answer).toMatchObject({ status: 400, body: { code: 'body_too_complex' } })
  })
})

describe('GET /v1/workflows', () => {
  it('lists newest first, 50 a page, by status, with a sealed cursor', async () => {
    const own = await api.createKey({ workspaceName: uniqueName('ws') })
    const auth = { authorization: `Bearer ${own.token}` }
    const ids: string[] = []
    for (let i = 0; i < 51; i++) {
      const status = i === 0 ? 'paused' : 'draft'
      const body = { name: `w ${i}`, status }
      ids.unshift(
        (await api.request<Workflow>('POST', '/v1/workflows', body, auth)).body.workflow_id,
      )
    }
    interface List {
      workflows: Workflow[]
      count: number
      cursor: string | null
    }
    const list = (query = '') => api.request<List>('GET', `/v1/workflows${query}`, undefined, auth)
    const first = await list()
    expect(first.body.workflows.map((row) => row.workflow_id)).toEqual(ids.slice(0, 50))
    expect(first.body.count).toBe(50)
    expect(Object.keys(first.body.workflows[0] ?? {})).toEqual(
      Object.keys(listItem(await create())),
    )
    const second = await list(`?cursor=${first.body.cursor}`)
    expect(second.body).toMatchObject({
      workflows: [{ workflow_id: ids[50] }],
      count: 1,
      cursor: null,
    })
    expect((await list('?status=draft')).body).toMatchObject({ count: 50, cursor: null })
    expect((await list('?status=paused')).body).toMatchObject({ count: 1, cursor: null })
    for (const query of [
      `?status=draft&cursor=${first.body.cursor}`,
      '?cursor=x',
      '?cursor=',
      `?cursor=${ids[0]}`,
    ]) {
      expect(await list(query)).toMatchObject({ status: 400, body: { code: 'invalid_cursor' } })
    }
    expect((await list('?status=gone')).status).toBe(400)
    const foreign = await api.request('GET', `/v1/workflows?cursor=${first.body.cursor}`)
    expect(foreign).toMatchObject({ status: 400, body: { code: 'invalid_cursor' } })
  })
})
