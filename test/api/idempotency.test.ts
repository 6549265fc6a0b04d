// Idempotency-Key: every POST gives its first answer again and does nothing twice, whatever the second one meets.
import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { listOperations } from '../../api/http/operation.ts'
import { makeReady } from '../setup/actedOn.ts'
import { type Answer, createTestApi } from '../setup/api.ts'
import { createBoundKey } from '../setup/boundKey.ts'
import { bodyOf, fillPath, postsOf } from '../setup/routes.ts'
import { storedRows } from '../setup/storedRows.ts'
import { seedTenant } from '../setup/tenant.ts'
import { uniqueName } from '../setup/unique.ts'

const api = await createTestApi()
const tenant = await seedTenant(api, 'test')

const REPLAYED = 'idempotent-replayed'
const newKey = () => uniqueName('key')
const post = <T = Record<string, unknown>>(
  path: string,
  body: unknown,
  key: string,
  headers: Record<string, string> = {},
) => api.request<T>('POST', path, body, { 'idempotency-key': key, ...headers })
const told = ({ status, body }: Answer<object>) => ({ status, body })
const isReplay = ({ headers }: Answer<object>) => headers.get(REPLAYED)
const inProgress = { status: 409, body: { code: 'idempotency_in_progress' } }
const reused = { status: 409, body: { code: 'idempotency_key_reused' } }

/** As it is kept: secrets are not. */
function kept({ status, body }: Answer<Record<string, unknown>>) {
  const hidden = ['token', 'signing_secret'].filter((name) => name in body)
  return { status, body: { ...body, ...Object.fromEntries(hidden.map((name) => [name, null])) } }
}

const { kept: keeping, unkept } = postsOf(api)
const posts = [...keeping, ...unkept]

it('is a rule of every POST, and of nothing else', () => {
  const operations = listOperations(api.app)
  const named = operations.filter(({ idempotent }) => idempotent)
  expect(named.map(({ method, path }) => `${method} ${path}`).sort()).toEqual(
    posts.map(({ name }) => name).sort(),
  )
})

it.each(unkept)('$name changes nothing, so it answers again and keeps no answer', async (route) => {
  const path = fillPath(route, tenant)
  const key = newKey()
  const rows = await storedRows(api.db)
  const first = await post(path, bodyOf(route), key)
  const again = await post(path, bodyOf(route), key)
  expect(told(again)).toEqual(told(first))
  expect(isReplay(again)).toBeNull()
  expect(await storedRows(api.db)).toEqual(rows)
})

it.each(keeping)('$name is done once', async (route) => {
  const path = fillPath(route, tenant)
  const body = bodyOf(route)
  await makeReady(api.db, route.name)
  const key = newKey()
  const first = await post(path, body, key)
  expect([first.text, first.status]).toEqual([first.text, expect.toSatisfy((s) => s < 300)])
  expect(isReplay(first)).toBeNull()
  const rows = await storedRows(api.db)
  const again = await post(path, body, key)
  expect(told(again)).toEqual(kept(first))
  expect(isReplay(again)).toBe('true')
  expect(again.headers.get('x-request-id')).not.toBe(first.headers.get('x-request-id'))
  expect(await storedRows(api.db)).toEqual(rows)

  const other = JSON.stringify({ ...body, of_another: 1 })
  const headers = { 'content-type': 'application/json' }
  expect(told(await post(path, other, key, headers))).toMatchObject({
    status: 409,
    body: { code: 'idempotency_key_reused' },
  })
  expect(await storedRows(api.db)).toEqual(rows)
})

it.each(posts)('$name refuses a key that is none, before it reads the body', async (route) => {
  const path = fillPath(route, tenant)
  for (const key of [' ', 'a b', 'é', 'a'.repeat(257), 'a\tb', 'one, two']) {
    const answer = await post(path, '{broken', key, { 'content-type': 'application/json' })
    expect([key, told(answer)]).toMatchObject([
      key,
      { status: 400, body: { code: 'invalid_idempotency_key' } },
    ])
  }
})

it('takes keys of 256 characters, and tells those apart that differ in the last', async () => {
  const long = `${'~'.repeat(255)}`
  const ids = new Set<unknown>()
  for (const key of [`${long}1`, `${long}2`, '!', '1']) {
    const answer = await post('/v1/audiences', { name: 'A' }, key)
    expect(answer.status).toBe(201)
    ids.add(answer.body['id'])
  }
  expect(ids.size).toBe(4)
})

it('counts a key within its path and its workspace', async () => {
  const key = newKey()
  const other = await seedTenant(api, 'other')
  const ofOther = { authorization: `Bearer ${other.key}` }
  const body = { name: 'Mine' }
  const made = [
    await post('/v1/audiences', body, key),
    await post('/v1/audiences', body, key, ofOther),
    await post('/v1/templates', { ...body, html: 'x' }, key),
    await post(`/v1/templates/${tenant.ids['templates']}/duplicate`, undefined, key),
  ]
  expect(made.map((answer) => [answer.status, isReplay(answer)])).toEqual(
    made.map(() => [201, null]),
  )
})

it('counts a key of an API key for one domain apart, which must not learn of mail of others', async () => {
  const key = newKey()
  const domainId = tenant.ids['domains'] ?? ''
  const { token } = await createBoundKey(api, domainId, { permission: 'sending_access' })
  const body = { from: 'a@sender.test', to: 'b@example.test', subject: 'S', text: 'T' }
  const first = await post('/v1/emails', body, key)
  const bound = await post('/v1/emails', body, key, { authorization: `Bearer ${token}` })
  expect([first.status, bound.status, isReplay(bound)]).toEqual([200, 200, null])
  expect(bound.body['id']).not.toBe(first.body['id'])
})

it('keeps no refusal: the key is free again, whether a check or the transaction refused', async () => {
  const key = newKey()
  const alias = uniqueName('alias')
  const template = { name: 'T', alias, html: 'x' }
  const { body } = await api.request('POST', '/v1/templates', template)
  expect((await post('/v1/templates', { name: '' }, key)).status).toBe(400)
  expect((await post('/v1/templates', { name: 'x', html: '{% if' }, key)).status).toBe(400)
  const taken = await post('/v1/templates', template, key)
  expect(told(taken)).toMatchObject({ status: 409, body: { code: 'alias_taken' } })
  expect((await api.request('DELETE', `/v1/templates/${body['id']}`)).status).toBe(204)
  const made = await post('/v1/templates', template, key)
  expect([made.status, isReplay(made)]).toEqual([201, null])
})

it('gives the first answer even where what it made is gone', async () => {
  const key = newKey()
  const first = await post('/v1/audiences', { name: 'Gone' }, key)
  await api.request('DELETE', `/v1/audiences/${first.body['id']}`)
  expect(told(await post('/v1/audiences', { name: 'Gone' }, key))).toEqual(told(first))
})

it('compares bodies byte by byte, also large ones, and the query', async () => {
  const key = newKey()
  const mail = { from: 'a@sender.test', to: 'b@example.test', subject: 'S', text: 'T' }
  for (const length of [70_000, 1_500_000]) {
    const name = `${key}${length}`
    const body = { ...mail, html: 'x'.repeat(length) }
    const first = await post('/v1/emails', body, name)
    expect(first.status).toBe(200)
    const again = await post('/v1/emails', body, name)
    expect([told(again), isReplay(again)]).toEqual([told(first), 'true'])
    const other = await post('/v1/emails', { ...body, html: `${'x'.repeat(length - 1)}y` }, name)
    expect(told(other)).toMatchObject(reused)
    const ordered = await post('/v1/emails', { html: body.html, ...mail }, name)
    expect(told(ordered)).toMatchObject(reused)
  }
  const audience = await post('/v1/audiences', { name: 'Q' }, key)
  expect(audience.status).toBe(201)
  expect(told(await post('/v1/audiences?a=1', { name: 'Q' }, key))).toMatchObject(reused)
})

it('wakes workers for what it commits', async () => {
  api.woken.length = 0
  const mail = { from: 'a@sender.test', to: 'b@example.test', subject: 'S', text: 'T' }
  const key = newKey()
  await post('/v1/emails', mail, key)
  expect(api.woken).toEqual(['dripline_deliveries'])
  await post('/v1/emails', mail, key)
  expect(api.woken).toHaveLength(1)
})

it('forgets an answer after 24 hours', async () => {
  const key = newKey()
  const first = await post('/v1/audiences', { name: 'Daily' }, key)
  const age = (ms: number) =>
    sql`update idempotency_keys set created_at = created_at - ${ms} * interval '1 ms'`.execute(
      api.db,
    )
  await age(24 * 60 * 60 * 1000 - 60_000)
  expect(told(await post('/v1/audiences', { name: 'Daily' }, key))).toEqual(told(first))
  await age(60_000)
  const later = await post('/v1/audiences', { name: 'Other' }, key)
  expect([later.status, isReplay(later)]).toEqual([201, null])
  const again = await post('/v1/audiences', { name: 'Other' }, key)
  expect([told(again), isReplay(again)]).toEqual([told(later), 'true'])
})

it('answers a second request at once while the first one waits for a lock', async () => {
  const key = newKey()
  const path = `/v1/audiences/${tenant.ids['audiences']}/contacts`
  const body = { email: 'waits@example.test' }
  const held = await api.db.startTransaction().execute()
  await held
    .selectFrom('audiences')
    .select('id')
    .where('id', '=', tenant.ids['audiences'] ?? '')
    .forUpdate()
    .execute()
  const first = post(path, body, key)
  const second = await post(path, body, key)
  expect(told(second)).toMatchObject(inProgress)
  await held.rollback().execute()
  expect((await first).status).toBe(201)
  expect(told(await post(path, body, key))).toEqual(told(await first))
})
