// Changes of a sending domain: check now, settings, another key, deletion. Each writes the outbox.
import { beforeAll, describe, expect, it } from 'vitest'
import { startMissingChecks } from '../../commands/domains/startChecks.ts'
import type { JsonObject } from '../../rules/json.ts'
import { createTestApi, insertTestDomain, type TestApi } from '../setup/api.ts'
import { uniqueName } from '../setup/unique.ts'

let api: TestApi

beforeAll(async () => {
  api = await createTestApi()
})

type Shown = JsonObject & { id: string; dns_records: { name: string; for: string; type: string }[] }
const call = <T = Shown>(method: string, path = '', body?: unknown) =>
  api.request<T>(method, `/v1/domains${path}`, body)
const newName = () =>
  `${uniqueName('d')
    .toLowerCase()
    .replace(/[^a-z0-9]/g, '')}.test`

async function register(): Promise<string> {
  return (await call('POST', '', { name: newName() })).body.id
}
const rowOf = (id: string) =>
  api.db.selectFrom('domains').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
const keysOf = (id: string) =>
  api.db.selectFrom('domain_keys').selectAll().where('domain_id', '=', id).orderBy('id').execute()
const tasksOf = async (id: string) =>
  (
    await api.db
      .selectFrom('outbox')
      .select('kind')
      .where('execution_id', '=', id)
      .orderBy('id')
      .execute()
  ).map(({ kind }) => kind)

it('a registration starts its checks in the same commit', async () => {
  const id = await register()
  expect(await tasksOf(id)).toEqual(['domain_start'])
  expect(api.woken).toContain('dripline_outbox')
  const row = await rowOf(id)
  expect(row.checking_since).toEqual(row.created_at)
})

it('domains of an early release get their checks once; verified ones only on request', async () => {
  const old = await insertTestDomain(api, newName(), 'PENDING')
  const verified = await insertTestDomain(api, newName())
  await Promise.all([startMissingChecks(api.deps), startMissingChecks(api.deps)])
  expect(await tasksOf(old)).toEqual(['domain_start'])
  expect(await tasksOf(verified)).toEqual([])
})

describe('verify', () => {
  it('asks for a check and answers with the domain as it is', async () => {
    const id = await insertTestDomain(api, newName())
    const answer = await call('POST', `/${id}/verify`)
    expect([answer.status, answer.body]).toMatchObject([200, { id, status: 'SUCCESS' }])
    expect(await tasksOf(id)).toEqual(['domain_check'])
  })

  it('gives a failed domain another round of checks', async () => {
    const id = await insertTestDomain(api, newName(), 'FAILED')
    const long = new Date(0)
    const lost = { checking_since: long, failing_since: long, misses: 80 }
    await api.db.updateTable('domains').set(lost).where('id', '=', id).execute()
    expect((await call('POST', `/${id}/verify`)).body).toMatchObject({ status: 'PENDING' })
    const row = await rowOf(id)
    expect(row).toMatchObject({ status: 'PENDING', failing_since: null, misses: 0 })
    expect(row.checking_since?.getTime()).toBeGreaterThan(Date.now() - 60_000)
  })
})

describe('PATCH', () => {
  it('sets what is given and leaves the rest', async () => {
    const id = await insertTestDomain(api, newName())
    const answer = await call('PATCH', `/${id}`, { open_tracking_enabled: true })
    expect([answer.status, answer.body]).toMatchObject([
      200,
      { open_tracking_enabled: true, click_tracking_enabled: false, tracking_domain: null },
    ])
    const again = await call('PATCH', `/${id}`, { click_tracking_enabled: true })
    expect(again.body).toMatchObject({ open_tracking_enabled: true, click_tracking_enabled: true })
  })

  it('a tracking host has a record, and a changed one loses its stored state', async () => {
    const name = newName()
    const id = await insertTestDomain(api, `news.${name}`)
    const host = `Links.News.${name}`
    const record = { for: 'Tracking', type: 'CNAME', value: 'api.mail.test', required: false }
    const set = await call('PATCH', `/${id}`, { tracking_domain: host })
    expect(set.body).toMatchObject({ tracking_domain: host.toLowerCase() })
    expect(set.body.dns_records.at(-1)).toEqual({ name: 'links.news', ...record })
    const found = { record_states: { mx: 'SUCCESS', tracking: 'SUCCESS' } }
    await api.db.updateTable('domains').set(found).where('id', '=', id).execute()
    const same = await call('PATCH', `/${id}`, { tracking_domain: host })
    expect(same.body).toMatchObject(found)
    const other = await call('PATCH', `/${id}`, { tracking_domain: `t.${name}` })
    expect(other.body['record_states']).toEqual({ mx: 'SUCCESS' })
    const none = await call('PATCH', `/${id}`, { tracking_domain: null })
    expect(none.body).toMatchObject({ tracking_domain: null })
    expect(none.body.dns_records.map((shown) => shown.type)).not.toContain('CNAME')
  })

  it.each([
    [{}],
    [{ other: 1 }],
    [{ open_tracking_enabled: 'yes' }],
    [{ open_tracking_enabled: null }],
    [{ tracking_domain: '' }],
    [{ tracking_domain: 'links.elsewhere.example' }],
    [{ tracking_domain: 'refusing.test' }],
    [{ tracking_domain: 'bounces.refusing.test' }],
    [{ tracking_domain: 'a..refusing.test' }],
    [{ tracking_domain: 'a.refusing.test/x' }],
  ])('%j: 400', async (body) => {
    const id = await insertTestDomain(api, newName())
    await api.db
      .updateTable('domains')
      .set({ name: 'refusing.test' })
      .where('id', '=', id)
      .execute()
    expect((await call('PATCH', `/${id}`, body)).status).toBe(400)
    expect(await rowOf(id)).toMatchObject({ tracking_domain: null, open_tracking_enabled: false })
    expect(await tasksOf(id)).toEqual([])
    await api.db.deleteFrom('domain_keys').where('domain_id', '=', id).execute()
    await api.db.deleteFrom('domains').where('id', '=', id).execute()
  })
})

describe('rotate-dkim', () => {
  const selectors = (shown: Shown) =>
    shown.dns_records.filter((record) => record.for === 'DKIM').map((record) => record.name)

  it('adds a key that does not sign yet; repeated and concurrent requests get the same key', async () => {
    const id = await register()
    const [old] = await keysOf(id)
    const answers = await Promise.all([1, 2].map(() => call('POST', `/${id}/rotate-dkim`)))
    expect(answers.map(({ status }) => status)).toEqual([200, 200])
    const [first, second, ...others] = await keysOf(id)
    expect(others).toEqual([])
    expect(first?.id).toBe(old?.id)
    expect(second).toMatchObject({ algorithm: 'rsa', activated_at: null, retired_at: null })
    for (const { body } of answers) {
      expect(selectors(body)).toEqual([first, second].map((key) => `${key?.selector}._domainkey`))
      expect(body).toMatchObject({ public_key: old?.public_key })
    }
    expect(await tasksOf(id)).toEqual(['domain_start', 'domain_check', 'domain_check'])
  })

  it('ed25519 comes beside the RSA key, as an optional record', async () => {
    const id = await register()
    const { body } = await call('POST', `/${id}/rotate-dkim`, { algorithm: 'ed25519' })
    const [, key] = await keysOf(id)
    expect(Buffer.from(key?.public_key ?? '', 'base64')).toHaveLength(32)
    expect(body.dns_records[1]).toMatchObject({
      value: `v=DKIM1; k=ed25519; p=${key?.public_key}`,
      required: false,
    })
  })

  it('another algorithm: 400', async () => {
    const id = await register()
    expect((await call('POST', `/${id}/rotate-dkim`, { algorithm: 'dsa' })).status).toBe(400)
    expect(await keysOf(id)).toHaveLength(1)
  })
})

describe('DELETE', () => {
  it('is gone, its name is free, its keys are refused', async () => {
    const made = await call('POST', '', { name: newName() })
    const { id } = made.body
    const { token, keyId } = await api.createKey()
    await api.db.updateTable('api_keys').set({ domain_id: id }).where('id', '=', keyId).execute()
    const headers = { authorization: `Bearer ${token}` }
    expect((await api.request('GET', '/v1/domains', undefined, headers)).status).toBe(200)
    const gone = await call('DELETE', `/${id}`)
    expect([gone.status, gone.text]).toEqual([204, ''])
    expect((await api.request('GET', '/v1/domains', undefined, headers)).status).toBe(403)
    expect((await call('GET', `/${id}`)).status).toBe(404)
    expect((await call('DELETE', `/${id}`)).status).toBe(404)
    expect((await call('POST', `/${id}/verify`)).status).toBe(404)
    expect(await tasksOf(id)).toEqual(['domain_start', 'domain_check'])
    expect((await call('POST', '', { name: made.body['name'] })).status).toBe(201)
  })

  it('nothing is sent from it', async () => {
    const name = newName()
    const id = await insertTestDomain(api, name)
    const mail = { from: `a@${name}`, to: 'b@example.test', subject: 'Hi', text: 'Hello' }
    expect((await api.request('POST', '/v1/emails', mail)).status).toBe(200)
    await call('DELETE', `/${id}`)
    const refused = await api.request('POST', '/v1/emails', mail)
    expect([refused.status, refused.body]).toMatchObject([403, { code: 'domain_not_found' }])
  })
})

it.each(['NOT_STARTED', 'PENDING', 'FAILED'] as const)(
  'nothing is sent from a %s one',
  async (status) => {
    const name = newName()
    await insertTestDomain(api, name, status)
    const mail = { from: `a@${name}`, to: 'b@example.test', subject: 'Hi', text: 'Hello' }
    const refused = await api.request('POST', '/v1/emails', mail)
    expect([refused.status, refused.body]).toMatchObject([403, { code: 'domain_not_verified' }])
  },
)

it('details are shown with expand, and a domain of another workspace is not found', async () => {
  const id = await insertTestDomain(api, newName())
  expect((await call('GET', `/${id}`)).body).not.toHaveProperty('record_states')
  const { body } = await call('GET', `/${id}?expand=details`)
  expect(body).toMatchObject({ record_states: {}, tracking_domain: null })
  const { token } = await api.createKey({ workspaceName: newName() })
  const headers = { authorization: `Bearer ${token}` }
  for (const [method, path, given] of [
    ['POST', '/verify', undefined],
    ['POST', '/rotate-dkim', {}],
    ['PATCH', '', { open_tracking_enabled: true }],
    ['DELETE', '', undefined],
  ] as const) {
    const answer = await api.request(method, `/v1/domains/${id}${path}`, given, headers)
    expect([method, path, answer.status]).toEqual([method, path, 404])
  }
  expect(await rowOf(id)).toMatchObject({ deleted_at: null, open_tracking_enabled: false })
  expect(await tasksOf(id)).toEqual([])
})
