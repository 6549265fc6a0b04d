// Audiences: exact fields, pages of 10, rename, delete, refusals.
import { beforeAll, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../rules/json.ts'
import { createTestApi, type TestApi } from '../setup/api.ts'
import { forgetAll } from '../setup/deletedAudiences.ts'

let api: TestApi

beforeAll(async () => {
  api = await createTestApi()
})

const call = <T = JsonObject & { id: string }>(method: string, path = '', body?: unknown) =>
  api.request<T>(method, `/v1/audiences${path}`, body)

it('has exactly the fields of the contract', async () => {
  const { status, body } = await call('POST', '', { name: 'Readers' })
  expect(status).toBe(201)
  expect(body).toEqual({
    id: expect.stringMatching(/^aud_[0-9A-Z]{26}$/),
    name: 'Readers',
    created_by: {
      email: 'ada@owner.test',
      first_name: 'Ada',
      last_name: 'Lovelace',
      profile_picture: `https://api.mail.test/avatars/${api.userId}.svg`,
    },
    created: expect.any(Number),
    updated: body['created'],
    contact_count: 0,
    unsubscribers: 0,
  })
  expect((await call('GET', `/${body.id}`)).body).toEqual(body)
  const listed = await call('GET')
  expect(listed.body).toEqual({ audiences: [body], count: 1, cursor: null })
})

it('is renamed and deleted, its contacts with it', async () => {
  const { id } = (await call('POST', '', { name: 'A' })).body
  await call('POST', `/${id}/contacts`, { email: 'a@example.com' })
  const renamed = await call('PATCH', `/${id}`, { name: 'B' })
  expect([renamed.status, renamed.body]).toMatchObject([200, { name: 'B', contact_count: 1 }])
  expect((await call('DELETE', `/${id}`)).status).toBe(204)
  expect((await call('GET', `/${id}`)).status).toBe(404)
  expect((await call('DELETE', `/${id}`)).status).toBe(404)
  await forgetAll(api.deps)
  expect(await api.db.selectFrom('audience_contacts').selectAll().execute()).toEqual([])
})

it('pages by 10, newest first, with the last id as cursor', async () => {
  await api.db.deleteFrom('audiences').execute()
  const ids: string[] = []
  for (let i = 0; i < 20; i++) ids.unshift((await call('POST', '', { name: `A${i}` })).body.id)
  type Page = { audiences: { id: string }[]; count: number; cursor: string | null }
  const first = await call<Page>('GET')
  expect(first.body.audiences.map((row) => row.id)).toEqual(ids.slice(0, 10))
  expect([first.body.count, first.body.cursor]).toEqual([10, ids[9]])
  await call('DELETE', `/${ids[9]}`)
  await call('POST', '', { name: 'new' })
  const second = await call<Page>('GET', `?cursor=${ids[9]}`)
  expect(second.body.audiences.map((row) => row.id)).toEqual(ids.slice(10))
  expect([second.body.count, second.body.cursor]).toEqual([10, null])
})

describe('refusals', () => {
  it.each(['', 'x', 'em_00000000000000000000000000', '%00', 'aud_'])(
    'the cursor "%s"',
    async (c) => {
      const answer = await call('GET', `?cursor=${c}`)
      expect([answer.status, answer.body]).toMatchObject([400, { code: 'invalid_cursor' }])
    },
  )

  const bodies: [string, unknown, string][] = [
    ['no name', {}, 'invalid_request'],
    ['a number', { name: 1 }, 'invalid_request'],
    ['an empty name', { name: '' }, 'invalid_request'],
    ['a blank name', { name: '\t' }, 'invalid_request'],
    ['a long name', { name: 'x'.repeat(256) }, 'invalid_request'],
    ['NUL', { name: '\u0000' }, 'invalid_request'],
    ['half a pair', { name: '\ud800' }, 'invalid_request'],
    ['a list', [], 'invalid_request'],
    ['no JSON', '{"name"', 'invalid_json'],
    ['nothing', '', 'invalid_json'],
  ]
  it.each(bodies)('the body: %s', async (_name, body, code) => {
    const { id } = (await call('POST', '', { name: 'A' })).body
    for (const [method, path] of [
      ['POST', ''],
      ['PATCH', `/${id}`],
    ] as const) {
      const answer = await call(method, path, body)
      expect([answer.status, answer.body]).toMatchObject([400, { code }])
    }
    expect((await call('GET', `/${id}`)).body['name']).toBe('A')
  })

  it('an audience that is unknown or of another workspace', async () => {
    const { id } = (await call('POST', '', { name: 'A' })).body
    const { token } = await api.createKey({ workspaceName: 'other' })
    const headers = { authorization: `Bearer ${token}` }
    for (const unknown of ['x', '%00', 'aud_00000000000000000000000000', id]) {
      for (const [method, tail, body] of [
        ['GET', '', undefined],
        ['PATCH', '', { name: 'B' }],
        ['DELETE', '', undefined],
        ['GET', '/contacts', undefined],
        ['POST', '/contacts', { email: 'a@example.com' }],
        ['POST', '/contacts/batch', { contacts: [{ email: 'a@example.com' }] }],
        ['PATCH', '/contacts/a@example.com', { first_name: 'A' }],
        ['DELETE', '/contacts/a@example.com', undefined],
      ] as const) {
        const answer = await api.request(method, `/v1/audiences/${unknown}${tail}`, body, headers)
        expect([answer.status, answer.body]).toMatchObject([404, { code: 'not_found' }])
      }
    }
    expect((await call('GET', `/${id}`)).body).toMatchObject({ name: 'A', contact_count: 0 })
  })
})
