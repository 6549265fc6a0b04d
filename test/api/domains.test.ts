// Sending domains: registration, DNS records in both forms, exact fields, refusals.
import { createPrivateKey, createPublicKey } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../rules/json.ts'
import { createTestApi, insertTestDomain, type TestApi } from '../setup/api.ts'

let api: TestApi

beforeAll(async () => {
  api = await createTestApi()
})

type Created = JsonObject & { id: string; dns_records: { name: string; value: string }[] }
const call = <T = Created>(method: string, path = '', body?: unknown) =>
  api.request<T>(method, `/v1/domains${path}`, body)

const recordsOf = (selector: string, key: string, prefix: string) => [
  {
    name: `${selector}._domainkey${prefix}`,
    for: 'DKIM',
    type: 'TXT',
    value: `v=DKIM1; k=rsa; p=${key}`,
    required: true,
  },
  {
    name: `bounces${prefix}`,
    for: 'MAIL FROM domain',
    type: 'MX',
    value: 'api.mail.test',
    required: true,
    priority: 10,
  },
  {
    name: `bounces${prefix}`,
    for: 'MAIL FROM domain',
    type: 'TXT',
    value: 'v=spf1 a:api.mail.test ~all',
    required: true,
  },
  {
    name: `_dmarc${prefix}`,
    for: 'DMARC (highly recommended)',
    type: 'TXT',
    value: 'v=DMARC1; p=none;',
    required: false,
  },
]

const keyOf = (domainId: string) =>
  api.db
    .selectFrom('domain_keys')
    .selectAll()
    .where('domain_id', '=', domainId)
    .executeTakeFirstOrThrow()

it('registers a name, and shows its records without and with its own labels', async () => {
  const made = await call('POST', '', { name: 'News.Acme.co.uk' })
  expect(made.status).toBe(201)
  const { id } = made.body
  const row = await api.db
    .selectFrom('domains')
    .selectAll()
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  const key = await keyOf(id)
  expect(made.body).toEqual({
    id: expect.stringMatching(/^dom_[0-9A-Z]{26}$/),
    name: 'news.acme.co.uk',
    status: 'NOT_STARTED',
    dns_records: recordsOf(key.selector, key.public_key, ''),
  })
  const listItem = {
    id,
    name: 'news.acme.co.uk',
    status: 'NOT_STARTED',
    verified_for_sending_status: false,
    verification_info: {
      last_checked_timestamp: null,
      last_success_timestamp: null,
      error_type: null,
      soa_record: {},
    },
    public_key: key.public_key,
    dns_records: recordsOf(key.selector, key.public_key, '.news'),
    created: row.created_at.getTime(),
    is_warmed_up: false,
    warmed_up_at: null,
    created_by: {
      email: 'ada@owner.test',
      first_name: 'Ada',
      last_name: 'Lovelace',
      profile_picture: `https://api.mail.test/avatars/${api.userId}.svg`,
    },
  }
  expect((await call('GET')).body).toEqual({ domains: [listItem], count: 1, cursor: null })
  expect((await call('GET', `/${id}`)).body).toEqual({
    ...listItem,
    created_by: { ...listItem.created_by, type: 'user' },
    open_tracking_enabled: false,
    click_tracking_enabled: false,
  })
})

it('makes a key of its own for each domain, kept encrypted', async () => {
  const { id } = (await call('POST', '', { name: 'keys.test' })).body
  const row = await keyOf(id)
  const key = createPublicKey({
    key: Buffer.from(row.public_key, 'base64'),
    format: 'der',
    type: 'spki',
  })
  expect(key.asymmetricKeyDetails?.modulusLength).toBe(2048)
  const plain = api.deps.secrets.decrypt('dkim-key', row.private_key)
  expect(row.private_key.includes(plain.subarray(0, 64))).toBe(false)
  const secret = createPrivateKey({ key: plain, format: 'der', type: 'pkcs8' })
  expect(createPublicKey(secret.export({ format: 'pem', type: 'pkcs8' })).equals(key)).toBe(true)
})

it('gives the records of a registrable domain the same names in both forms', async () => {
  const made = await call('POST', '', { name: 'acme.com' })
  const got = await call('GET', `/${made.body.id}`)
  expect(got.body.dns_records).toEqual(made.body.dns_records)
})

it('shows the result of checks', async () => {
  const id = await insertTestDomain(api, 'checked.test')
  const at = new Date('2026-01-02T03:04:05.678Z')
  await api.db
    .updateTable('domains')
    .set({
      last_checked_at: at,
      last_success_at: at,
      error_type: 'HOST_NOT_FOUND',
      soa_record: '{"serial":1}',
      is_warmed_up: true,
      warmed_up_at: at,
    })
    .where('id', '=', id)
    .execute()
  expect((await call('GET', `/${id}`)).body).toMatchObject({
    status: 'SUCCESS',
    verified_for_sending_status: true,
    verification_info: {
      last_checked_timestamp: '2026-01-02T03:04:05.678Z',
      last_success_timestamp: '2026-01-02T03:04:05.678Z',
      error_type: 'HOST_NOT_FOUND',
      soa_record: { serial: 1 },
    },
    is_warmed_up: true,
    warmed_up_at: at.getTime(),
  })
})

describe('refusals', () => {
  it('a name twice in one workspace, also at once; another workspace may have it', async () => {
    const answers = await Promise.all(
      ['twice.test', 'Twice.test'].map((name) => call('POST', '', { name })),
    )
    expect(answers.map((answer) => answer.status).sort()).toEqual([201, 409])
    const again = await call('POST', '', { name: 'twice.test' })
    expect([again.status, again.body]).toMatchObject([409, { code: 'domain_exists' }])
    const { token } = await api.createKey({ workspaceName: 'other' })
    const headers = { authorization: `Bearer ${token}` }
    const other = await api.request('POST', '/v1/domains', { name: 'twice.test' }, headers)
    expect(other.status).toBe(201)
  })

  const label = 'a'.repeat(63)
  const longest = `${label}.${label}.${label}.${'a'.repeat(57)}.com`
  it.each([
    [undefined, 400],
    [5, 400],
    ['', 400],
    ['a.b', 400],
    ['a.co', 201],
    [longest, 201],
    [`a${longest}`, 400],
    ['localhost', 400],
    ['co.uk', 400],
    ['github.io', 400],
    ['me.github.io', 201],
    ['192.0.2.1', 400],
    ['acme..com', 400],
    ['-acme.com', 400],
    ['acme.com.', 400],
    ['ac me.com', 400],
    ['acme.com\u0000', 400],
    ['acme_x.com', 400],
    ['bücher.de', 400],
    ['xn--bcher-kva.de', 201],
    ['https://acme.com', 400],
    ['"><b>.com', 400],
  ])('the name %s: %d', async (name, status) => {
    const answer = await call('POST', '', { name })
    expect(answer.status).toBe(status)
    if (status === 400) expect(answer.body['message']).toMatch(/^name/)
  })

  it.each(['x', '%00', 'dom_00000000000000000000000000'])('the id %s', async (id) => {
    const answer = await call('GET', `/${id}`)
    expect([answer.status, answer.body]).toMatchObject([404, { code: 'not_found' }])
  })

  it('what belongs to another workspace', async () => {
    const id = await insertTestDomain(api, 'mine.test')
    const { token } = await api.createKey({ workspaceName: 'stranger' })
    const headers = { authorization: `Bearer ${token}` }
    expect((await api.request('GET', `/v1/domains/${id}`, undefined, headers)).status).toBe(404)
    const listed = await api.request('GET', '/v1/domains', undefined, headers)
    expect(listed.body).toEqual({ domains: [], count: 0, cursor: null })
  })
})

it('lists by 50 under a sealed cursor', async () => {
  await api.db.deleteFrom('domain_keys').execute()
  await api.db.deleteFrom('domains').execute()
  const ids: string[] = []
  for (let i = 0; i < 51; i++) ids.unshift(await insertTestDomain(api, `d${i}.test`))
  type Page = { domains: { id: string }[]; count: number; cursor: string | null }
  const first = await call<Page>('GET')
  expect(first.body.domains.map((row) => row.id)).toEqual(ids.slice(0, 50))
  const second = await call<Page>('GET', `?cursor=${first.body.cursor}`)
  expect(second.body).toMatchObject({ domains: [{ id: ids[50] }], count: 1, cursor: null })
  for (const cursor of ['', 'x', ids[0]]) {
    expect((await call('GET', `?cursor=${cursor}`)).body).toMatchObject({ code: 'invalid_cursor' })
  }
})
