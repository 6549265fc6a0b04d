// Audience contacts in batches, and the automation events of joining and leaving.
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { upsertAudienceContacts } from '../../commands/audiences/upsertContacts.ts'
import type { JsonObject } from '../../rules/json.ts'
import { createTestApi, type TestApi } from '../setup/api.ts'

let api: TestApi
let audience: string

beforeAll(async () => {
  api = await createTestApi()
})

beforeEach(async () => {
  audience = (await api.request<{ id: string }>('POST', '/v1/audiences', { name: 'A' })).body.id
})

const call = <T = JsonObject>(method: string, path = '', body?: unknown) =>
  api.request<T>(method, `/v1/audiences/${audience}/contacts${path}`, body)
const add = (email: string, more: object = {}) => call('POST', '', { email, ...more })
const counts = async () => {
  const { body } = await api.request('GET', `/v1/audiences/${audience}`)
  return [body['contact_count'], body['unsubscribers']]
}

async function insertContact(email: string): Promise<void> {
  const at = new Date()
  await api.db
    .insertInto('contacts')
    .values({
      id: api.deps.newId('contact'),
      workspace_id: api.workspaceId,
      email,
      properties: '{}',
      first_seen: at,
      last_seen: at,
      last_event: 'x',
      created_at: at,
      updated_at: at,
    })
    .execute()
}

describe('batches', () => {
  it('answer for each contact in order; a wrong one does not stop the others', async () => {
    await add('known@example.com', { is_subscribed: false })
    const contacts = [
      { email: 'new@example.com', first_name: 'N' },
      { email: 'nobody' },
      { email: 'KNOWN@example.com', is_subscribed: true },
      'text',
      { email: 'new@example.com', last_name: 'M', is_subscribed: false },
      { email: 'x@example.com', properties: [] },
    ]
    const { status, body } = await call('POST', '/batch', { contacts })
    expect(status).toBe(200)
    expect(body).toEqual({
      contacts: [
        { email: 'new@example.com', created: true },
        { email: 'known@example.com', created: false },
        { email: 'new@example.com', created: false },
      ],
      errors: [1, 3, 5].map((index) => ({
        index,
        message: expect.any(String),
        code: 'invalid_request',
      })),
    })
    expect(await counts()).toEqual([2, 1])
    const listed = await call<{ contacts: object[] }>('GET')
    expect(listed.body.contacts[1]).toMatchObject({ first_name: 'N', last_name: 'M' })
  })

  it('take 1000 contacts, and no more', async () => {
    const contacts = Array.from({ length: 1000 }, (_, i) => ({ email: `r${i}@example.com` }))
    expect((await call('POST', '/batch', { contacts })).status).toBe(200)
    expect((await call('POST', '/batch', { contacts })).status).toBe(200)
    expect(await counts()).toEqual([1000, 0])
    contacts.push({ email: 'more@example.com' })
    expect((await call('POST', '/batch', { contacts })).status).toBe(400)
    expect((await call('POST', '/batch', { contacts: [] })).status).toBe(400)
    expect((await call('POST', '/batch', {})).status).toBe(400)
  })
})

describe('automation events', () => {
  it('tell those who are automation contacts, of joining and leaving, once', async () => {
    await insertContact('ann@example.com')
    await add('ann@example.com')
    await add('ann@example.com', { first_name: 'Ann' })
    await call('POST', '/batch', {
      contacts: [{ email: 'ann@example.com' }, { email: 'zoe@example.com' }],
    })
    await call('DELETE', '/ann@example.com')
    await call('DELETE', '/zoe@example.com')
    const events = await api.db
      .selectFrom('automation_events')
      .select(['event_name', 'email', 'properties'])
      .orderBy('id')
      .execute()
    const properties = { audience_id: audience, audience_name: 'A' }
    expect(events).toEqual([
      { event_name: 'audience.joined', email: 'ann@example.com', properties },
      { event_name: 'audience.left', email: 'ann@example.com', properties },
    ])
  })

  it('make a contact of who joins an audience at which a workflow begins, and start it once', async () => {
    const design = {
      nodes: [
        { id: 't', type: 'trigger', data: { kind: 'audience_joined', audience_id: audience } },
        { id: 'x', type: 'exit', data: {} },
      ],
      edges: [{ id: 'e', source: 't', target: 'x' }],
    }
    const body = { name: 'Welcome', status: 'active', design }
    const made = await api.request<{ workflow_id: string }>('POST', '/v1/workflows', body)
    expect(made.status, made.text).toBeLessThan(300)
    await add('lea@example.com')
    await add('lea@example.com', { first_name: 'Lea' })
    await call('DELETE', '/lea@example.com')
    const started = await api.db
      .selectFrom('executions')
      .select(['email', 'trigger_node_id'])
      .where('workflow_id', '=', made.body.workflow_id)
      .execute()
    expect(started).toEqual([{ email: 'lea@example.com', trigger_node_id: 't' }])
  })

  it('of a batch share their statements, and start what each would start', async () => {
    const design = {
      nodes: [
        { id: 't', type: 'trigger', data: { kind: 'audience_joined', audience_id: audience } },
        { id: 'x', type: 'exit', data: {} },
      ],
      edges: [{ id: 'e', source: 't', target: 'x' }],
    }
    const made = await api.request('POST', '/v1/workflows', {
      name: 'All',
      status: 'active',
      design,
    })
    expect(made.status, made.text).toBeLessThan(300)
    let statements = 0
    const db = api.db.withPlugin({
      transformQuery({ node }) {
        statements += 1
        return node
      },
      transformResult: async ({ result }) => result,
    })
    const join = async (name: string, count: number) => {
      const contacts = Array.from({ length: count }, (_, i) => ({
        email: `${name}${i}@example.com`,
      }))
      for (const { email } of contacts.slice(0, 5)) await insertContact(email)
      const input = { audienceId: audience, contacts, isSingle: false }
      statements = 0
      await upsertAudienceContacts({ ...api.deps, db }, api.workspaceId, input)
      return statements
    }
    const few = await join('few', 10)
    expect(await join('many', 100)).toBeLessThan(few + 10)
    const started = await api.db
      .selectFrom('executions')
      .select('chain_depth')
      .where('email', 'like', 'many%')
      .execute()
    expect(started).toEqual(Array.from({ length: 100 }, () => ({ chain_depth: 0 })))
    const events = await api.db
      .selectFrom('automation_events')
      .select('properties')
      .where('email', 'like', 'many%')
      .where('event_name', '=', 'audience.joined')
      .execute()
    const properties = { audience_id: audience, audience_name: 'A' }
    expect(events).toEqual(Array.from({ length: 100 }, () => ({ properties })))
  })
})
