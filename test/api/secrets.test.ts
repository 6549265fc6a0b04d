// Secrets: stored encrypted, listed by name, replaced and deleted, each workspace by itself, and shown to nobody.
import { describe, expect, it } from 'vitest'
import { limits } from '../../rules/limits.ts'
import { createTestApi } from '../setup/api.ts'

let time = Date.UTC(2026, 0, 1)
const api = await createTestApi({ now: () => new Date(time) })
const path = '/v1/automation/secrets'
const put = (name: string, value: unknown = 'sk_live_4242') =>
  api.request('PUT', `${path}/${name}`, { value })
const list = () => api.request<{ secrets: { name: string; updated: number }[] }>('GET', path)
const names = async () => (await list()).body.secrets.map(({ name }) => name)

describe('a secret', () => {
  it('is stored, replaced and deleted, and never shown', async () => {
    expect(await put('CRM_KEY')).toMatchObject({ status: 204, text: '' })
    const first = time
    expect((await list()).body).toEqual({ secrets: [{ name: 'CRM_KEY', updated: first }] })
    const stored = () =>
      api.db.selectFrom('secrets').selectAll().where('name', '=', 'CRM_KEY').executeTakeFirst()
    const before = await stored()
    expect(before?.value.toString('latin1')).not.toContain('sk_live_4242')
    expect(api.deps.secrets.decrypt('secret', before?.value ?? Buffer.alloc(0)).toString()).toBe(
      'sk_live_4242',
    )
    time += 5
    expect((await put('CRM_KEY', 'ü')).status).toBe(204)
    expect((await list()).body).toEqual({ secrets: [{ name: 'CRM_KEY', updated: first + 5 }] })
    expect((await list()).text).not.toContain('sk_live')
    expect((await stored())?.value).not.toEqual(before?.value)
    expect((await api.request('DELETE', `${path}/CRM_KEY`)).status).toBe(204)
    expect(await api.request('DELETE', `${path}/CRM_KEY`)).toMatchObject({
      status: 404,
      body: { error: 'Secret CRM_KEY not found', code: 'not_found' },
    })
    expect(await names()).toEqual([])
  })

  it.each(['9KEY', 'a-b', 'a%20b', 'x'.repeat(65), 'ü'])('is not called %s', async (name) => {
    expect((await put(encodeURI(name).replaceAll('%25', '%'))).status).toBe(400)
  })
  it.each([[''], [7], [null], ['x'.repeat(limits.secretBytesMax + 1)], ['ü'.repeat(5_000)]])(
    'does not have the value %s',
    async (value) => {
      expect((await put('KEY', value)).status).toBe(400)
      expect(await names()).toEqual([])
    },
  )
})

it('a workspace has so many of them at most, which can all be replaced', async () => {
  const all = Array.from({ length: limits.secretsPerWorkspaceMax }, (_, i) => `KEY_${i}`)
  for (const name of all) expect((await put(name)).status).toBe(204)
  expect(await put('ONE_MORE')).toMatchObject({
    status: 400,
    body: { error: expect.stringContaining('100 secrets already') },
  })
  expect((await put('KEY_7')).status).toBe(204)
  expect(await names()).toEqual(all.sort())
  for (const name of all) await api.request('DELETE', `${path}/${name}`)
})

it('a design that reads one which there is not cannot be activated', async () => {
  const design = {
    nodes: [
      { id: 'start', type: 'trigger', data: { kind: 'manual' } },
      {
        id: 'ask',
        type: 'http_request',
        data: {
          method: 'GET',
          url: 'https://api.acme.test/',
          headers: { authorization: 'Bearer {{ secrets["CRM_KEY"] }}' },
        },
      },
      { id: 'end', type: 'exit', data: {} },
    ],
    edges: [
      { id: 'e1', source: 'start', target: 'ask' },
      { id: 'e2', source: 'ask', target: 'end', sourceHandle: 'success' },
      { id: 'e3', source: 'ask', target: 'end', sourceHandle: 'error' },
    ],
  }
  const body = { name: 'Ask', status: 'active', design }
  expect(await api.request('POST', '/v1/workflows', body)).toMatchObject({
    status: 400,
    body: { problems: [{ node_id: 'ask', code: 'unknown_secret' }] },
  })
  await put('CRM_KEY')
  expect((await api.request('POST', '/v1/workflows', body)).status).toBe(201)
})
