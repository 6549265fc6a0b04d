// Keys that make and rotate keys: no more power than their own, an end that holds, tokens that live on for their grace.
import { expect, it } from 'vitest'
import { createApp } from '../../api/http/app.ts'
import { listenForKeys } from '../../commands/api-keys/keyNews.ts'
import { hashApiKey } from '../../commands/api-keys/token.ts'
import { createTestApi, insertTestDomain } from '../setup/api.ts'
import { createBoundKey } from '../setup/boundKey.ts'
import { eventually } from '../setup/eventually.ts'
import { uniqueName } from '../setup/unique.ts'

/** Stands still unless a test moves it, so that nothing expires by itself. */
let time = Date.now()
const api = await createTestApi({ now: () => new Date(time) })
const other = await api.createKey({ workspaceName: 'other' })

interface Made {
  id: string
  token: string
  prefix: string
  permission: string
  domain_id: string | null
  expires_at: number | null
}

const as = (token: string) => ({ authorization: `Bearer ${token}` })
const shop = { name: 'Shop', permission: 'full_access' }
const post = (body: unknown, token = api.key) =>
  api.request<Made>('POST', '/v1/api-keys', body, as(token))
const rotate = (id: string, grace_ms: unknown, token = api.key) =>
  api.request<Made>('POST', `/v1/api-keys/${id}/rotate`, { grace_ms }, as(token))
const statusOf = async (token: string) =>
  (await api.request('GET', '/v1/audiences', undefined, as(token))).status
/** The time of the last use is written a moment after the answer. */
const storedOf = async () => (await rowsOf()).map((row) => ({ ...row, last_used_at: null }))
const rowsOf = () => api.db.selectFrom('api_keys').selectAll().orderBy('id').execute()

async function make(change: object = {}): Promise<Made> {
  const { status, body, text } = await post({ ...shop, ...change })
  expect([status, text]).toEqual([201, text])
  return body
}

it('makes a key that works, and shows its token this once', async () => {
  const made = await make({ name: 'Reports', permission: 'read_only' })
  expect(made).toEqual({
    id: expect.stringMatching(/^key_/),
    name: 'Reports',
    prefix: made.token.slice(0, 12),
    permission: 'read_only',
    domain_id: null,
    expires_at: null,
    last_used_at: null,
    created: time,
    token: expect.stringMatching(/^drip_[\w-]{43}$/),
  })
  expect(await statusOf(made.token)).toBe(200)
  expect((await post(shop, made.token)).body).toMatchObject({ code: 'restricted_api_key' })
  const { text } = await api.request('GET', '/v1/api-keys')
  expect(text).toContain(made.id)
  expect(text).not.toContain(made.token)
  const row = (await rowsOf()).find(({ id }) => id === made.id)
  expect(row).toMatchObject({ token_hash: hashApiKey(made.token), user_id: api.userId })
})

it('writes nothing for wrong input', async () => {
  const { body: foreign } = await post(shop, other.token)
  const elsewhere = await insertTestDomain(api, `${uniqueName('gone')}.test`)
  expect((await api.request('DELETE', `/v1/domains/${elsewhere}`)).status).toBe(204)
  const foreignDomain = await insertTestDomain({ ...api, ...other }, 'other.test')
  const { id } = await make()
  const before = await storedOf()
  const bodies: [body: unknown, status: number, text: string][] = [
    [{}, 400, 'name is required'],
    [{ ...shop, name: ' ' }, 400, 'name must not be blank'],
    [{ ...shop, name: 'x'.repeat(256) }, 400, 'name must'],
    [{ name: 'Shop' }, 400, 'permission is required'],
    [{ ...shop, permission: 'all' }, 400, 'permission must be one of'],
    [{ ...shop, domain_id: 1 }, 400, 'domain_id must'],
    [{ ...shop, domain_id: '' }, 400, 'domain_id must'],
    [{ ...shop, domain_id: 'x' }, 404, 'Domain x not found'],
    [{ ...shop, domain_id: elsewhere }, 404, 'not found'],
    [{ ...shop, domain_id: foreignDomain }, 404, 'not found'],
    [{ ...shop, expires_at: '2030-01-01' }, 400, 'expires_at must'],
    [{ ...shop, expires_at: time + 0.5 }, 400, 'expires_at must'],
    [{ ...shop, expires_at: time }, 400, `expires_at must be in the future, after ${time}`],
    [{ ...shop, expires_at: -1 }, 400, 'expires_at must be in the future'],
    [{ ...shop, expires_at: 253_402_300_800_000 }, 400, 'expires_at must'],
  ]
  for (const [body, status, text] of bodies) {
    const answer = await post(body)
    expect([body, answer.status, answer.text]).toEqual([
      body,
      status,
      expect.stringContaining(text),
    ])
  }
  for (const grace_ms of [undefined, null, -1, 0.5, '0', 604_800_001]) {
    const answer = await rotate(id, grace_ms)
    expect([grace_ms, answer.status]).toEqual([grace_ms, 400])
    expect(answer.text).toContain('grace_ms')
  }
  for (const unknown of ['x', `key_${'0'.repeat(26)}`, foreign.id]) {
    expect((await rotate(unknown, 0)).status).toBe(404)
  }
  expect(await storedOf()).toEqual(before)
  expect(await statusOf(foreign.token)).toBe(200)
})

it('ends when it says, also while it is remembered', async () => {
  const { token, id } = await make({ expires_at: time + 5_000 })
  expect(await statusOf(token)).toBe(200)
  time += 4_999
  expect(await statusOf(token)).toBe(200)
  time += 1
  expect(await statusOf(token)).toBe(403)
  expect(await rotate(id, 0)).toMatchObject({ status: 409, body: { code: 'api_key_expired' } })
  expect((await api.request('DELETE', `/v1/api-keys/${id}`)).status).toBe(204)
})

it('gives no key that lives longer than its own', async () => {
  const end = time + 60_000
  const { id: endless } = await make()
  const { token, id } = await make({ expires_at: end })
  const refused = { status: 403, body: { code: 'restricted_api_key' } }
  expect(await post({ ...shop, expires_at: end + 1 }, token)).toMatchObject(refused)
  expect(await rotate(endless, 0, token)).toMatchObject(refused)
  for (const given of [undefined, null]) {
    const { body } = await post({ ...shop, expires_at: given }, token)
    expect(body.expires_at).toBe(end)
  }
  expect((await post({ ...shop, expires_at: end - 1 }, token)).body.expires_at).toBe(end - 1)
  const { status, body } = await rotate(id, 0, token)
  expect([status, body.expires_at]).toEqual([201, end])
})

it('with a key for one domain, makes keys for that domain alone', async () => {
  const [own, other] = [
    await insertTestDomain(api, `${uniqueName('own')}.test`),
    await insertTestDomain(api, `${uniqueName('other')}.test`),
  ]
  const bound = await createBoundKey(api, own)
  const { id: free } = await make()
  const { id: foreign } = await make({ domain_id: other })
  for (const domain_id of [undefined, null, own]) {
    const { status, body } = await post({ ...shop, domain_id }, bound.token)
    expect([status, body.domain_id]).toEqual([201, own])
  }
  expect((await post({ ...shop, domain_id: other }, bound.token)).status).toBe(404)
  for (const id of [free, foreign]) expect((await rotate(id, 0, bound.token)).status).toBe(404)

  const rotated = await rotate(bound.keyId, 60_000, bound.token)
  expect([rotated.status, rotated.body.domain_id]).toEqual([201, own])
  expect((await api.request('DELETE', `/v1/domains/${own}`)).status).toBe(204)
  for (const token of [bound.token, rotated.body.token]) expect(await statusOf(token)).toBe(403)
})

it('rotates: the token before lives on for its grace, and no longer', async () => {
  const first = await make()
  expect(await statusOf(first.token)).toBe(200)
  const second = (await rotate(first.id, 10_000)).body
  expect(second).toMatchObject({ id: first.id, prefix: second.token.slice(0, 12) })
  expect(second.token).not.toBe(first.token)
  time += 4_000
  const third = (await rotate(first.id, 10_000)).body
  const works = () => Promise.all([first, second, third].map(({ token }) => statusOf(token)))
  expect(await works()).toEqual([200, 200, 200])
  time += 5_999
  expect(await works()).toEqual([200, 200, 200])
  time += 1
  expect(await works()).toEqual([403, 200, 200])
  time += 4_000
  expect(await works()).toEqual([403, 403, 200])
})

it('rotates without grace: the token before is refused at once, everywhere', async () => {
  const news = listenForKeys(api.url, (err) => {
    throw err
  })
  const elsewhere = createApp({ ...api.deps, keyNews: news })
  const statusThere = async (token: string) =>
    (await elsewhere.request('/v1/audiences', { headers: as(token) })).status
  await eventually(() => expect(news.isHeard()).toBe(true))
  const { id, token } = await make()
  expect([await statusOf(token), await statusThere(token)]).toEqual([200, 200])
  const rotated = (await rotate(id, 0)).body
  expect(await statusOf(token)).toBe(403)
  await eventually(async () => expect(await statusThere(token)).toBe(403))
  expect([await statusOf(rotated.token), await statusThere(rotated.token)]).toEqual([200, 200])

  // With no grace those go too that earlier rotations gave one: it may be one of them that leaked.
  const second = (await rotate(id, 60_000)).body
  const third = (await rotate(id, 60_000)).body
  const before = [rotated.token, second.token, third.token]
  for (const one of before) {
    expect([await statusOf(one), await statusThere(one)]).toEqual([200, 200])
  }
  const last = (await rotate(id, 0)).body
  expect(await Promise.all(before.map(statusOf))).toEqual([403, 403, 403])
  await eventually(async () => {
    expect(await Promise.all(before.map(statusThere))).toEqual([403, 403, 403])
  })
  expect([await statusOf(last.token), await statusThere(last.token)]).toEqual([200, 200])
  await news.stop()
})

it('a token in its grace ends with the key, and renews neither itself nor another', async () => {
  const { id, token } = await make({ expires_at: time + 5_000 })
  const next = (await rotate(id, 60_000)).body
  expect(await rotate(id, 60_000, token)).toMatchObject({ status: 201 })
  const { id: endless, token: before } = await make()
  await rotate(endless, 60_000)
  const refused = { status: 403, body: { code: 'restricted_api_key' } }
  expect(await rotate(endless, 0, before)).toMatchObject(refused)
  expect((await post(shop, before)).body.expires_at).toBe(time + 60_000)
  time += 5_000
  expect([await statusOf(token), await statusOf(next.token)]).toEqual([403, 403])
  expect(await statusOf(before)).toBe(200)
})

it('revoking ends every token of the key', async () => {
  const { id, token } = await make()
  const next = (await rotate(id, 60_000)).body
  expect([await statusOf(token), await statusOf(next.token)]).toEqual([200, 200])
  expect((await api.request('DELETE', `/v1/api-keys/${id}`)).status).toBe(204)
  expect([await statusOf(token), await statusOf(next.token)]).toEqual([403, 403])
  expect((await rotate(id, 0)).status).toBe(404)
})

it('rotations at the same moment: each token that was answered works in its grace', async () => {
  const { id, token } = await make()
  const answers = await Promise.all(Array.from({ length: 8 }, () => rotate(id, 60_000)))
  const tokens = [token, ...answers.map(({ body }) => body.token)]
  expect(new Set(tokens).size).toBe(9)
  expect(await Promise.all(tokens.map(statusOf))).toEqual(tokens.map(() => 200))
  const { token_hash } = (await rowsOf()).find((row) => row.id === id) ?? {}
  expect(tokens.slice(1).map(hashApiKey)).toContainEqual(token_hash)
})

it('notes when a token in its grace was used', async () => {
  const { id, token } = await make()
  await rotate(id, 60_000)
  expect(await statusOf(token)).toBe(200)
  await eventually(async () => {
    const row = (await rowsOf()).find((one) => one.id === id)
    expect(row?.last_used_at?.getTime()).toBe(time)
  })
})
