// Secrets and keys for one domain: such a key has secrets of its own, and no design that it writes reads others.
import { expect, it } from 'vitest'
import { createTestApi, insertTestDomain } from '../setup/api.ts'
import { createBoundKey } from '../setup/boundKey.ts'

const api = await createTestApi()
const path = '/v1/automation/secrets'

const as = (token: string) => ({
  ask: (method: string, target: string, body?: unknown) =>
    api.request<Record<string, unknown>>(method, target, body, {
      authorization: `Bearer ${token}`,
    }),
  put(name: string, value = 'sk_live_4242') {
    return this.ask('PUT', `${path}/${name}`, { value })
  },
  async names() {
    const { body } = await this.ask('GET', path)
    return (body['secrets'] as { name: string }[]).map(({ name }) => name)
  },
})
const boundTo = async (domain: string) =>
  as((await createBoundKey(api, await insertTestDomain(api, domain))).token)

const full = as(api.key)
const own = await boundTo('own.test')
const other = await boundTo('other.test')
await full.put('SHARED')
await own.put('OWN')
await other.put('OTHER')

const reading = (name: string) => ({
  nodes: [
    { id: 'start', type: 'trigger', data: { kind: 'manual' } },
    {
      id: 'ask',
      type: 'http_request',
      data: { method: 'GET', url: `https://api.acme.test/{{ secrets.${name} }}` },
    },
    { id: 'end', type: 'exit', data: {} },
  ],
  edges: [
    { id: 'e1', source: 'start', target: 'ask' },
    { id: 'e2', source: 'ask', target: 'end', sourceHandle: 'success' },
    { id: 'e3', source: 'ask', target: 'end', sourceHandle: 'error' },
  ],
})
const unknown = { status: 400, body: { problems: [{ node_id: 'ask', code: 'unknown_secret' }] } }
const workflow = (name: string, status = 'active') => ({ name, status, design: reading(name) })
const domainOf = async (id: unknown, version: number) =>
  (
    await api.db
      .selectFrom('workflow_versions')
      .select('bound_domain_id')
      .where('workflow_id', '=', String(id))
      .where('version', '=', version)
      .executeTakeFirstOrThrow()
  ).bound_domain_id

it('each key sees its own, and a key of the whole workspace all', async () => {
  expect(await own.names()).toEqual(['OWN'])
  expect(await other.names()).toEqual(['OTHER'])
  expect(await full.names()).toEqual(['OTHER', 'OWN', 'SHARED'])
})

it('what others have stored is neither replaced nor deleted', async () => {
  const rows = () => api.db.selectFrom('secrets').selectAll().orderBy('name').execute()
  const before = await rows()
  for (const name of ['SHARED', 'OTHER']) {
    expect(await own.put(name, 'mine')).toMatchObject({ status: 404, body: { code: 'not_found' } })
    expect((await own.ask('DELETE', `${path}/${name}`)).status).toBe(404)
  }
  expect(await rows()).toEqual(before)
  expect((await own.put('OWN')).status).toBe(204)
  expect((await full.put('OWN')).status).toBe(204)
  expect(await own.names()).toEqual(['OWN'])
})

it('a design that reads what the key has not is refused, as a draft too', async () => {
  for (const name of ['SHARED', 'OTHER', 'NONE']) {
    for (const status of ['draft', 'active']) {
      expect(await own.ask('POST', '/v1/workflows', workflow(name, status))).toMatchObject(unknown)
    }
  }
  expect((await own.ask('POST', '/v1/workflows', workflow('OWN'))).status).toBe(201)
})

it('a design of others that reads such a one is not made active, started or copied', async () => {
  const made = await full.ask('POST', '/v1/workflows', workflow('SHARED', 'paused'))
  const id = String(made.body['workflow_id'] ?? made.body['id'])
  const of = `/v1/workflows/${id}`
  expect(await own.ask('PATCH', of, { status: 'active' })).toMatchObject(unknown)
  expect((await own.ask('POST', `${of}/duplicate`)).status).toBe(400)
  expect((await own.ask('POST', `${of}/versions/1/restore`)).status).toBe(400)
  await full.ask('PATCH', of, { status: 'active' })
  expect((await own.ask('POST', `${of}/executions`, { email: 'ada@example.test' })).status).toBe(
    400,
  )
})

it('a version reads for good what its writer may, whatever is stored later', async () => {
  await own.put('LATER')
  const made = await own.ask('POST', '/v1/workflows', workflow('LATER', 'paused'))
  const id = made.body['workflow_id'] ?? made.body['id']
  const of = `/v1/workflows/${id}`
  expect(await domainOf(id, 1)).not.toBeNull()
  await own.ask('DELETE', `${path}/LATER`)
  await full.put('LATER')
  // Also when somebody makes it active who reaches more.
  expect(await full.ask('PATCH', of, { status: 'active' })).toMatchObject(unknown)
  expect((await full.ask('POST', `${of}/validate`)).body).toMatchObject({ valid: false })
  // Who gives the design anew answers for it.
  const again = { status: 'active', design: reading('LATER') }
  expect((await full.ask('PATCH', of, again)).status).toBe(200)
  expect(await domainOf(id, 2)).toBeNull()
})
