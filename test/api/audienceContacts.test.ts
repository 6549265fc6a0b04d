// Audience contacts: exact counts, pages by address, upserts, refusals.
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
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

describe('one contact', () => {
  it('has exactly the fields of the contract: 201 when new, 200 when known', async () => {
    const made = await add('Jane@Example.com', { first_name: 'Jane', properties: { a: { b: 1 } } })
    expect(made.status).toBe(201)
    expect(made.body).toEqual({
      id: expect.stringMatching(/^ac_[0-9A-Z]{26}$/),
      first_name: 'Jane',
      last_name: null,
      email: 'jane@example.com',
      is_subscribed: true,
      created: expect.any(Number),
      updated: made.body['created'],
    })
    const again = await add('jane@example.com', { last_name: 'Doe', properties: { a: { c: 2 } } })
    expect([again.status, again.body]).toMatchObject([
      200,
      { id: made.body['id'], first_name: 'Jane', last_name: 'Doe' },
    ])
    const listed = await call('GET', '?expand=details')
    expect(listed.body).toMatchObject({
      contacts: [{ properties: { a: { b: 1, c: 2 } } }],
      count: 1,
      cursor: null,
    })
    expect((await call('GET')).body).toEqual({ contacts: [again.body], count: 1, cursor: null })
  })

  it('keeps the counts exact', async () => {
    await add('a@example.com')
    await add('b@example.com', { is_subscribed: false })
    expect(await counts()).toEqual([2, 1])
    await add('b@example.com', { first_name: 'B' })
    expect(await counts()).toEqual([2, 1])
    await call('PATCH', '/a@example.com', { is_subscribed: false })
    expect(await counts()).toEqual([2, 2])
    await call('PATCH', '/b@example.com', { is_subscribed: true })
    expect(await counts()).toEqual([2, 1])
    await call('DELETE', '/a@example.com')
    expect(await counts()).toEqual([1, 0])
    await call('DELETE', '/b@example.com')
    expect(await counts()).toEqual([0, 0])
  })

  it('keeps the counts exact under concurrent requests', async () => {
    await Promise.all(
      Array.from({ length: 40 }, (_, i) =>
        add(`r${i % 20}@example.com`, { is_subscribed: i < 20 }),
      ),
    )
    await Promise.all(
      Array.from({ length: 10 }, (_, i) => call('DELETE', `/r${i % 5}@example.com`)),
    )
    const rows = await api.db
      .selectFrom('audience_contacts')
      .select('is_subscribed')
      .where('audience_id', '=', audience)
      .execute()
    expect(rows).toHaveLength(15)
    expect(await counts()).toEqual([15, rows.filter((row) => !row.is_subscribed).length])
  })

  it('is changed by its address, which is percent-decoded once', async () => {
    await add('a+b%41@example.com')
    const path = '/A+b%2541@example.com'
    const changed = await call('PATCH', path, { first_name: 'A', properties: { x: 1 } })
    expect([changed.status, changed.body]).toMatchObject([
      200,
      { email: 'a+b%41@example.com', first_name: 'A', last_name: null },
    ])
    await call('PATCH', path, { first_name: null, properties: { x: null } })
    expect((await call('GET', '?expand=details')).body).toMatchObject({
      contacts: [{ first_name: null, properties: {} }],
    })
    expect((await call('DELETE', path)).status).toBe(204)
    expect((await call('DELETE', path)).status).toBe(404)
    expect((await call('PATCH', path, { first_name: 'A' })).status).toBe(404)
  })
})

describe('the list', () => {
  it('pages by 50 in order of address, with the last address as cursor', async () => {
    const emails = Array.from(
      { length: 100 },
      (_, i) => `r${String(i).padStart(3, '0')}@example.com`,
    )
    await call('POST', '/batch', { contacts: emails.toReversed().map((email) => ({ email })) })
    type Page = { contacts: { email: string }[]; count: number; cursor: string | null }
    const first = await call<Page>('GET')
    expect(first.body.contacts.map((row) => row.email)).toEqual(emails.slice(0, 50))
    expect([first.body.count, first.body.cursor]).toEqual([50, emails[49]])
    await call('DELETE', `/${emails[49]}`)
    const second = await call<Page>('GET', `?cursor=${emails[49]}`)
    expect(second.body.contacts.map((row) => row.email)).toEqual(emails.slice(50))
    expect([second.body.count, second.body.cursor]).toEqual([50, null])
  })

  it.each(['', 'x', 'a@b', '%00@example.com', 'aud_00000000000000000000000000'])(
    'refuses the cursor "%s"',
    async (cursor) => {
      const answer = await call('GET', `?cursor=${cursor}`)
      expect([answer.status, answer.body]).toMatchObject([400, { code: 'invalid_cursor' }])
    },
  )
})

describe('refusals', () => {
  const bodies: [string, object][] = [
    ['no email', { email: undefined }],
    ['a malformed email', { email: 'x@y' }],
    ['a name with an email', { email: 'A <a@example.com>' }],
    ['a number as name', { first_name: 1 }],
    ['NUL in a name', { last_name: '\u0000' }],
    ['a text as flag', { is_subscribed: 'yes' }],
    ['null as flag', { is_subscribed: null }],
    ['a list as properties', { properties: [] }],
    ['NUL in properties', { properties: { a: ['\u0000'] } }],
    ['deep properties', { properties: JSON.parse(`${'{"a":'.repeat(70)}1${'}'.repeat(70)}`) }],
  ]
  it.each(bodies)('%s', async (_name, body) => {
    const answer = await add('a@example.com', body)
    expect([answer.status, answer.body]).toMatchObject([400, { code: 'invalid_request' }])
    expect(await counts()).toEqual([0, 0])
  })

  it('keys like __proto__ are ordinary keys', async () => {
    const text = '{"email":"a@example.com","properties":{"__proto__":{"x":1},"constructor":2}}'
    expect((await call('POST', '', text)).status).toBe(201)
    expect((await call('GET', '?expand=details')).text).toContain(
      '"properties":{"__proto__":{"x":1},"constructor":2}',
    )
  })

  it.each([
    ['', 'email_required'],
    ['%20', 'email_required'],
    ['x', 'invalid_email'],
    ['%00', 'invalid_email'],
    ['a@b', 'invalid_email'],
  ])('the path address %s', async (email, code) => {
    const patched = await call('PATCH', `/${email}`, { first_name: 'A' })
    expect([patched.status, patched.body]).toMatchObject([400, { code }])
    expect((await call('DELETE', `/${email}`)).body).toMatchObject({ code })
  })

  it('a change of nothing', async () => {
    await add('a@example.com')
    expect((await call('PATCH', '/a@example.com', { email: 'b@example.com' })).status).toBe(400)
  })
})
