// Automation contacts: lists, one, its events, and the checks of a change of properties in the contract's order.
import { describe, expect, it } from 'vitest'
import { createTestApi } from '../setup/api.ts'
import { uniqueName } from '../setup/unique.ts'

const api = await createTestApi()
const other = await api.createKey({ workspaceName: 'other' })
const readOnly = await api.createKey({ permission: 'read_only' })

const newEmail = () => `${uniqueName('c')}@example.test`
const path = (email: string) => `/v1/automation/contacts/${encodeURIComponent(email)}`
const post = (email: string, contact_properties: object = {}, event_name = 'seen') =>
  api.request('POST', '/v1/automation/events', { event_name, email, contact_properties })
const patch = (email: string, body: unknown) => api.request('PATCH', path(email), body)
const propertiesOf = async (email: string) =>
  (await api.request('GET', path(email))).body['properties']

describe('GET /v1/automation/contacts/{email}', () => {
  it('answers with exactly its fields', async () => {
    const email = newEmail()
    await post(email, { a: { b: 1 } })
    const { status, body } = await api.request('GET', path(email))
    expect(status).toBe(200)
    expect(body).toEqual({
      id: expect.stringMatching(/^ct_[0-9A-Z]{26}$/),
      email,
      workspace_id: api.workspaceId,
      last_seen: expect.any(Number),
      last_event: 'seen',
      event_count: 1,
      first_seen: body['last_seen'],
      created_at: expect.any(Number),
      updated_at: expect.any(Number),
      properties: { a: { b: 1 } },
    })
  })

  it('finds an address in any case, with a plus sign as it is or encoded', async () => {
    const email = `${uniqueName('a')}+tag@example.test`
    await post(email)
    for (const spelling of [email, email.toUpperCase(), encodeURIComponent(email)]) {
      const found = await api.request('GET', `/v1/automation/contacts/${spelling}`)
      expect(found).toMatchObject({ status: 200, body: { email } })
    }
    const twice = encodeURIComponent(encodeURIComponent(email))
    expect((await api.request('GET', `/v1/automation/contacts/${twice}`)).status).toBe(404)
  })

  it.each(['nobody@example.test', 'nobody', '%00', '%zz', "o'x@example.test"])(
    '%s is a 404 for the contact, its executions and its events',
    async (email) => {
      for (const more of ['', '/executions', '/events']) {
        const answer = await api.request('GET', `/v1/automation/contacts/${email}${more}`)
        expect(answer).toMatchObject({
          status: 404,
          body: { error: expect.any(String), code: 'not_found' },
        })
      }
    },
  )

  it('does not show the contact of another workspace', async () => {
    const email = newEmail()
    await post(email, { a: 1 })
    const auth = { authorization: `Bearer ${other.token}` }
    for (const more of ['', '/executions', '/events']) {
      expect((await api.request('GET', path(email) + more, undefined, auth)).status).toBe(404)
    }
    const body = { properties: { a: 2 } }
    expect((await api.request('PATCH', path(email), body, auth)).status).toBe(404)
    expect(await propertiesOf(email)).toEqual({ a: 1 })
  })
})

describe('PATCH /v1/automation/contacts/{email}', () => {
  it('merges deeply, deletes by null, replaces arrays, and names the top-level keys', async () => {
    const email = newEmail()
    await post(email, { keep: 1, deep: { a: 1, b: { c: 2 } }, list: [1, 2], gone: 1 })
    const before = (await api.request('GET', path(email))).body
    const properties = {
      z: true,
      deep: { b: { c: null }, d: [null] },
      list: [3],
      gone: null,
      no: {},
    }
    const { status, body } = await patch(email.toUpperCase(), { properties, unknown: 1 })
    expect(status).toBe(200)
    expect(body).toEqual({
      message: expect.any(String),
      email,
      updated_properties: ['z', 'deep', 'list', 'gone', 'no'],
    })
    expect(await propertiesOf(email)).toEqual({
      keep: 1,
      deep: { a: 1, b: {}, d: [null] },
      list: [3],
      z: true,
      no: {},
    })
    const after = (await api.request('GET', path(email))).body
    expect(after).toMatchObject({ event_count: 1, last_event: 'seen' })
    expect(Number(after['updated_at'])).toBeGreaterThanOrEqual(Number(before['updated_at']))
  })

  it('treats keys like __proto__ as ordinary keys', async () => {
    const email = newEmail()
    await post(email)
    const body = '{"properties":{"__proto__":{"a":1},"constructor":{"b":null,"c":2}}}'
    const answer = await patch(email, body)
    expect(answer.body['updated_properties']).toEqual(['__proto__', 'constructor'])
    const { text } = await api.request('GET', path(email))
    expect(text).toContain('"__proto__":{"a":1}')
    expect(text).toContain('"constructor":{"c":2}')
  })

  it('loses no change of many concurrent ones', async () => {
    const email = newEmail()
    await post(email)
    const changes = Array.from({ length: 20 }, (_, i) =>
      i % 2 === 0 ? patch(email, { properties: { [`p${i}`]: i } }) : post(email, { [`e${i}`]: i }),
    )
    await Promise.all(changes)
    expect(Object.keys((await propertiesOf(email)) ?? {})).toHaveLength(20)
  })

  const unknown = 'unknown@example.test'
  it.each([
    ['a blank address before all else', '%20', '{', 'Email is required'],
    ['no address', '', '{', 'Email is required'],
    ['a malformed address before the JSON', 'nobody', '{', 'Invalid email format'],
    ['a name with the address', 'A%20%3Ca@b.test%3E', '{', 'Invalid email format'],
    ['malformed JSON before the contact', unknown, '{', 'Invalid JSON payload'],
    ['an empty body', unknown, '', 'Invalid JSON payload'],
    ['no properties', unknown, '{}', 'properties must be an object'],
    ['an array body', unknown, '[]', 'properties must be an object'],
    ['a null body', unknown, 'null', 'properties must be an object'],
    ['null properties', unknown, '{"properties":null}', 'properties must be an object'],
    ['an array of properties', unknown, '{"properties":[1]}', 'properties must be an object'],
    ['a text of properties', unknown, '{"properties":"a"}', 'properties must be an object'],
    [
      'empty properties before the contact',
      unknown,
      '{"properties":{}}',
      'properties cannot be empty',
    ],
  ])('refuses %s, with the exact body', async (_name, email, body, error) => {
    const answer = await api.request('PATCH', `/v1/automation/contacts/${email}`, body)
    expect([answer.status, answer.body]).toEqual([400, { error }])
  })

  it('tells the caller of an unknown address to send an event first', async () => {
    const answer = await patch(unknown, { properties: { a: 1 } })
    expect(answer.status).toBe(404)
    expect(answer.body).toEqual({ error: expect.stringMatching(/send an event first/i) })
    expect((await api.request('GET', path(unknown))).status).toBe(404)
  })

  it.each([
    ['a NUL in a value', '{"a":"\\u0000"}'],
    ['a NUL in a key', '{"\\u0000":1}'],
    ['half a surrogate', '{"a":"\\udc00"}'],
    ['a number too large', '{"a":1e999}'],
    ['a depth bomb', `${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}`],
    ['too much', JSON.stringify({ a: 'x'.repeat(262_144) })],
  ])('refuses %s and changes nothing', async (name, properties) => {
    const email = newEmail()
    await post(email, { a: 1 })
    const answer = await patch(email, `{"properties":${properties}}`)
    // So deep a body is refused before it is parsed.
    const code = name === 'a depth bomb' ? 'body_too_complex' : 'invalid_request'
    expect(answer).toMatchObject({ status: 400, body: { code } })
    expect(await propertiesOf(email)).toEqual({ a: 1 })
  })

  it('refuses a key that may only read', async () => {
    const auth = { authorization: `Bearer ${readOnly.token}` }
    const answer = await api.request('PATCH', path(unknown), { properties: { a: 1 } }, auth)
    expect(answer).toMatchObject({ status: 403, body: { code: 'restricted_api_key' } })
    expect(answer.body['message']).toEqual(expect.any(String))
  })
})

describe('lists of contacts and of their events', () => {
  interface Page {
    contacts?: { id: string; email: string }[]
    events?: { event_id: string; event_name: string }[]
    count: number
    cursor: string | null
  }

  it('list contacts newest first, 50 a page, while others are added', async () => {
    const own = await api.createKey({ workspaceName: uniqueName('ws') })
    const auth = { authorization: `Bearer ${own.token}` }
    const emails: string[] = []
    const add = async () => {
      const email = newEmail()
      const event = { event_name: 'seen', email }
      await api.request('POST', '/v1/automation/events', event, auth)
      return email
    }
    for (let i = 0; i < 51; i++) emails.unshift(await add())
    const list = (query: string, headers = auth) =>
      api.request<Page>('GET', `/v1/automation/contacts${query}`, undefined, headers)
    const first = await list('')
    expect(first.body.contacts?.map((row) => row.email)).toEqual(emails.slice(0, 50))
    expect(Object.keys(first.body.contacts?.[0] ?? {})).not.toContain('properties')
    await add()
    const second = await list(`?cursor=${first.body.cursor}`)
    expect(second.body.contacts?.map((row) => row.email)).toEqual(emails.slice(50))
    expect(second.body).toMatchObject({ count: 1, cursor: null })
    for (const cursor of ['x', '', `${first.body.cursor}A`, first.body.contacts?.[0]?.id]) {
      const refused = await list(`?cursor=${cursor}`)
      expect(refused).toMatchObject({ status: 400, body: { code: 'invalid_cursor' } })
    }
    const foreign = await list(`?cursor=${first.body.cursor}`, {
      authorization: `Bearer ${api.key}`,
    })
    expect(foreign).toMatchObject({ status: 400, body: { code: 'invalid_cursor' } })
  })

  it('list the events of one contact, newest first, with exactly their fields', async () => {
    const email = newEmail()
    const names = Array.from({ length: 51 }, (_, i) => `e${i}`)
    for (const event_name of names) {
      const event = { event_name, email, properties: { n: event_name }, timestamp: 5 }
      await api.request('POST', '/v1/automation/events', event)
    }
    await post(newEmail())
    const list = (query = '') => api.request<Page>('GET', `${path(email)}/events${query}`)
    const first = await list()
    expect(first.body.events?.map((row) => row.event_name)).toEqual(names.toReversed().slice(0, 50))
    expect(first.body.events?.[0]).toEqual({
      event_id: expect.stringMatching(/^evt_/),
      event_name: 'e50',
      email,
      workspace_id: api.workspaceId,
      timestamp: 5,
      properties: { n: 'e50' },
      created_at: expect.any(Number),
    })
    const second = await list(`?cursor=${first.body.cursor}`)
    expect(second.body).toMatchObject({ events: [{ event_name: 'e0' }], count: 1, cursor: null })
    const another = newEmail()
    await post(another)
    const bound = await api.request('GET', `${path(another)}/events?cursor=${first.body.cursor}`)
    expect(bound).toMatchObject({ status: 400, body: { code: 'invalid_cursor' } })
  })
})
