// Templates: versions, publishing, aliases, rendering and every refusal.
import { beforeAll, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../rules/json.ts'
import { createTestApi, type TestApi } from '../setup/api.ts'

let api: TestApi

beforeAll(async () => {
  api = await createTestApi()
})

const call = (method: string, path = '', body?: unknown) =>
  api.request<JsonObject & { id: string }>(method, `/v1/templates${path}`, body)
const create = async (body: object = {}) => (await call('POST', '', { name: 'T', ...body })).body

describe('content and versions', () => {
  it('begins as a draft of version 1', async () => {
    const { status, body } = await call('POST', '', { name: 'Welcome', html: '<b>{{ a }}</b>' })
    expect(status).toBe(201)
    expect(body).toEqual({
      id: expect.stringMatching(/^tpl_[0-9A-Z]{26}$/),
      name: 'Welcome',
      alias: null,
      subject: null,
      from: null,
      reply_to: null,
      preview_text: null,
      html: '<b>{{ a }}</b>',
      text: null,
      status: 'draft',
      current_version: 1,
      published_version: null,
      created: expect.any(Number),
      updated: body['created'],
    })
    expect((await call('GET', `/${body.id}`)).body).toEqual(body)
  })

  it('gets a new version only with changed content, and keeps the old versions', async () => {
    const { id } = await create({ html: 'one', subject: 'S' })
    const versionOf = async (change: object) =>
      (await call('PATCH', `/${id}`, change)).body['current_version']
    expect(await versionOf({ name: 'Other' })).toBe(1)
    expect(await versionOf({ html: 'one' })).toBe(1)
    expect(await versionOf({ html: 'two' })).toBe(2)
    expect(await versionOf({ subject: null })).toBe(3)
    const { body } = await call('GET', `/${id}`)
    expect(body).toMatchObject({ name: 'Other', html: 'two', subject: null, status: 'draft' })
    const versions = await api.db
      .selectFrom('template_versions')
      .select(['version', 'html', 'subject'])
      .where('template_id', '=', id)
      .orderBy('version')
      .execute()
    expect(versions).toEqual([
      { version: 1, html: 'one', subject: 'S' },
      { version: 2, html: 'two', subject: 'S' },
      { version: 3, html: 'two', subject: null },
    ])
  })

  it('loses no version in two concurrent changes', async () => {
    const { id } = await create({ html: '0' })
    await Promise.all([1, 2, 3, 4].map((n) => call('PATCH', `/${id}`, { html: `${n}` })))
    expect((await call('GET', `/${id}`)).body['current_version']).toBe(5)
  })

  it('is published in its current version', async () => {
    const { id } = await create()
    const empty = await call('POST', `/${id}/publish`)
    expect([empty.status, empty.body]).toMatchObject([400, { code: 'template_empty' }])
    await call('PATCH', `/${id}`, { text: 'Hi' })
    const published = await call('POST', `/${id}/publish`)
    expect(published.body).toMatchObject({ status: 'published', published_version: 2 })
    const changed = await call('PATCH', `/${id}`, { text: 'Ho' })
    expect(changed.body).toMatchObject({
      status: 'published',
      published_version: 2,
      current_version: 3,
    })
  })

  it('is duplicated as a draft without an alias', async () => {
    const { id } = await create({ name: 'x'.repeat(255), alias: 'dup', html: 'h', subject: 's' })
    await call('POST', `/${id}/publish`)
    const { status, body } = await call('POST', '/dup/duplicate')
    expect(status).toBe(201)
    expect(body).toMatchObject({
      name: `${'x'.repeat(248)} (copy)`,
      alias: null,
      html: 'h',
      subject: 's',
      status: 'draft',
      current_version: 1,
    })
    expect(body.id).not.toBe(id)
  })

  it('whose long name is cut in the middle of a character is duplicated without its half', async () => {
    const { id } = await create({ name: `${'a'.repeat(247)}😀${'b'.repeat(6)}` })
    const { body } = await call('POST', `/${id}/duplicate`)
    expect(body['name']).toBe(`${'a'.repeat(247)} (copy)`)
  })
})

describe('aliases', () => {
  it('can be used like the id, and are unique in a workspace', async () => {
    const { id } = await create({ alias: 'hello' })
    expect((await call('GET', '/hello')).body.id).toBe(id)
    const taken = await call('POST', '', { name: 'B', alias: 'hello' })
    expect([taken.status, taken.body]).toMatchObject([409, { code: 'alias_taken' }])
    const other = await create()
    expect((await call('PATCH', `/${other.id}`, { alias: 'hello' })).status).toBe(409)
    expect((await call('PATCH', '/hello', { alias: null })).body['alias']).toBeNull()
    expect((await call('GET', '/hello')).status).toBe(404)
    expect((await call('PATCH', `/${other.id}`, { alias: 'hello' })).status).toBe(200)
  })
})

describe('rendering', () => {
  it('shows the current version, escaped, and what is missing', async () => {
    const { id } = await create({
      subject: 'For {{ contact.first_name }}',
      html: '<p>{{ vars.a }}{{ nothing }}</p>',
      text: '{{ a }}',
    })
    const { status, body } = await call('POST', `/${id}/render`, {
      variables: { a: '<x>' },
      email: 'Nobody@example.com',
    })
    expect(status).toBe(200)
    expect(body).toMatchObject({ subject: 'For', html: '<p>&lt;x&gt;</p>', text: '<x>' })
    expect(body['missing']).toContain('nothing')
    expect((await call('POST', `/${id}/render`, {})).body['missing']).toContain(
      'contact.first_name',
    )
  })

  it('fails with the fault of the template', async () => {
    const { id } = await create({ html: '{% for i in (1..100000000) %}{{ i }}{% endfor %}' })
    const { status, body } = await call('POST', `/${id}/render`, {})
    expect([status, body]).toMatchObject([400, { code: 'invalid_template' }])
  })
})

describe('deleting', () => {
  it('deletes the versions too', async () => {
    const { id } = await create({ alias: 'short-lived' })
    expect((await call('DELETE', '/short-lived')).status).toBe(204)
    expect((await call('GET', `/${id}`)).status).toBe(404)
    expect(
      await api.db.selectFrom('template_versions').where('template_id', '=', id).execute(),
    ).toEqual([])
  })

  /** Inserts an active workflow with a single node. */
  async function insertActive(node: object): Promise<string> {
    const wf = api.deps.newId('workflow')
    const at = new Date()
    await api.db
      .insertInto('workflows')
      .values({
        id: wf,
        workspace_id: api.workspaceId,
        name: 'W',
        status: 'active',
        current_version: 1,
        active_version: 1,
        created_by: 'x',
        created_by_type: 'user',
        created_at: at,
        updated_at: at,
        archived_at: null,
      })
      .execute()
    await api.db
      .insertInto('workflow_versions')
      .values({
        workflow_id: wf,
        version: 1,
        workspace_id: api.workspaceId,
        design: JSON.stringify({ nodes: [node], edges: [] }),
        created_by: 'x',
        created_at: at,
      })
      .execute()
    return wf
  }

  it.each(['id', 'alias'])('is refused while an active workflow sends it by %s', async (by) => {
    const alias = `used-by-${by}`
    const { id } = await create({ alias })
    const template_id = by === 'id' ? id : alias
    const wf = await insertActive({ id: 'n', type: 'send_email', data: { template_id } })
    const refused = await call('DELETE', `/${id}`)
    expect([refused.status, refused.body]).toMatchObject([409, { code: 'template_in_use' }])
    await api.db.updateTable('workflows').set({ status: 'paused' }).where('id', '=', wf).execute()
    expect((await call('DELETE', `/${id}`)).status).toBe(204)
  })

  it('is not refused for a workflow that only mentions its name and does not send it', async () => {
    const { id } = await create({ alias: 'mentioned' })
    await insertActive({ id: 'n', type: 'note', data: { template_id: 'mentioned' } })
    expect((await call('DELETE', `/${id}`)).status).toBe(204)
  })
})

it('lists by 50, newest first, without html and text, under a sealed cursor', async () => {
  const { token } = await api.createKey({ workspaceName: 'lists' })
  const headers = { authorization: `Bearer ${token}` }
  const ask = (method: string, query: string, body?: unknown) =>
    api.request<{ id: string; templates: JsonObject[]; count: number; cursor: string }>(
      method,
      `/v1/templates${query}`,
      body,
      headers,
    )
  const ids: string[] = []
  for (let i = 0; i < 51; i++) ids.unshift((await ask('POST', '', { name: `T${i}` })).body.id)
  const first = await ask('GET', '')
  expect(first.body.templates.map((row) => row['id'])).toEqual(ids.slice(0, 50))
  expect(first.body.templates[0]).not.toHaveProperty('html')
  const second = await ask('GET', `?cursor=${first.body.cursor}`)
  expect(second.body).toMatchObject({ templates: [{ id: ids[50] }], count: 1, cursor: null })
  for (const cursor of ['', 'x', ids[0], `${first.body.cursor}A`]) {
    expect((await ask('GET', `?cursor=${cursor}`)).body).toMatchObject({ code: 'invalid_cursor' })
  }
  const foreign = await call('GET', `?cursor=${first.body.cursor}`)
  expect(foreign.body).toMatchObject({ code: 'invalid_cursor' })
})
