// Filters of the list of emails: what each finds, all of them together, and cursors that hold for their filter alone.
import { beforeAll, expect, it } from 'vitest'
import { createTestApi, insertTestDomain } from '../setup/api.ts'
import { createBoundKey } from '../setup/boundKey.ts'

const START = Date.UTC(2026, 4, 4, 12)
const HOUR_MS = 3_600_000
let time = START
const api = await createTestApi({ now: () => new Date(time) })
const { db } = api
const [shop, blog] = [
  await insertTestDomain(api, 'shop.test'),
  await insertTestDomain(api, 'blog.test'),
]

const ids: Record<string, string> = {}

async function send(name: string, change: object, token = api.key): Promise<void> {
  const mail = { from: 'Shop <News@Shop.test>', to: 'a@example.test', subject: name, text: 'Hi' }
  const headers = { authorization: `Bearer ${token}` }
  const answer = await api.request('POST', '/v1/emails', { ...mail, ...change }, headers)
  expect([name, answer.status]).toEqual([name, 200])
  ids[name] = String(answer.body['id'])
}

const happened = (name: string, status: 'delivered' | 'opened' | 'bounced', machine = false) =>
  db
    .insertInto('email_events')
    .values({
      email_id: ids[name] ?? '',
      workspace_id: api.workspaceId,
      recipient: 'a@example.test',
      status,
      at: new Date(time),
      machine: machine ? 'proxy' : null,
      data: '{}',
    })
    .execute()

beforeAll(async () => {
  await send('first', { tags: { kind: 'receipt', 'a:b': 'c' } })
  time += HOUR_MS
  await send('second', { to: ['Ada@Example.test', 'b@example.test'], tags: { kind: 'receipt' } })
  await send('third', {
    from: 'news@blog.test',
    cc: 'ADA@example.test',
    bcc: 'hidden@example.test',
  })
  time += HOUR_MS
  await send('fourth', { tags: { kind: 'login', note: '' } })
  await happened('first', 'delivered')
  await happened('first', 'opened')
  await happened('second', 'bounced')
  await happened('third', 'delivered')
  await happened('third', 'opened', true)
  const other = await api.createKey({ workspaceName: 'other' })
  await insertTestDomain({ ...api, ...other }, 'shop.test')
  await send('foreign', { tags: { kind: 'receipt' } }, other.token)
})

interface List {
  emails: { id: string }[]
  cursor: string | null
}

async function find(query: string, token = api.key): Promise<string[]> {
  const headers = { authorization: `Bearer ${token}` }
  const { status, body, text } = await api.request<List>(
    'GET',
    `/v1/emails?${query}`,
    undefined,
    headers,
  )
  expect([query, status, status === 200 ? '' : text]).toEqual([query, 200, ''])
  const names = new Map(Object.entries(ids).map(([name, id]) => [id, name]))
  return body.emails.map(({ id }) => names.get(id) ?? id)
}

it.each([
  ['', ['fourth', 'third', 'second', 'first']],
  ['status=sent', ['fourth', 'third', 'second', 'first']],
  ['status=delivered', ['third', 'first']],
  // An open by a machine is not shown, and not found.
  ['status=opened', ['first']],
  ['status=bounced', ['second']],
  ['status=clicked', []],
  ['to=a@example.test', ['fourth', 'third', 'first']],
  ['to=ada@example.test', ['third', 'second']],
  ['to=hidden@example.test', ['third']],
  ['to=nobody@example.test', []],
  ['from=NEWS@shop.test', ['fourth', 'second', 'first']],
  ['from=news@blog.test', ['third']],
  ['tag=kind:receipt', ['second', 'first']],
  ['tag=a:b:c', ['first']],
  ['tag=note:', ['fourth']],
  ['tag=kind:none', []],
  ['type=transactional', ['fourth', 'third', 'second', 'first']],
  ['type=broadcast', []],
  [`workflow_id=wf_${'0'.repeat(26)}`, []],
  [`domain_id=dom_${'0'.repeat(26)}`, []],
  [`since=${START + HOUR_MS}`, ['fourth', 'third', 'second']],
  [`since=${START + HOUR_MS + 1}`, ['fourth']],
  [`until=${START + HOUR_MS}`, ['first']],
  [`until=${START + HOUR_MS + 1}`, ['third', 'second', 'first']],
  [`since=${START + 1}&until=${START + 2 * HOUR_MS}`, ['third', 'second']],
  ['since=0&until=0', []],
  ['since=253402300799999', []],
  ['tag=kind:receipt&status=bounced', ['second']],
  ['tag=kind:receipt&to=ada@example.test&from=news@shop.test&status=sent', ['second']],
  ['tag=kind:receipt&to=hidden@example.test', []],
])('?%s', async (query, names) => {
  expect(await find(query)).toEqual(names)
})

it('finds by domain, and to a key for one domain shows no other', async () => {
  expect(await find(`domain_id=${blog}`)).toEqual(['third'])
  const { token } = await createBoundKey(api, blog)
  expect(await find('', token)).toEqual(['third'])
  expect(await find('to=ada@example.test', token)).toEqual(['third'])
  expect(await find('tag=kind:receipt', token)).toEqual([])
  expect(await find(`domain_id=${shop}`, token)).toEqual([])
})

it('pages without a gap, by cursors that hold for their filter alone', async () => {
  time += HOUR_MS
  for (let i = 0; i < 120; i++) {
    await send(`page-${i}`, { tags: { page: i % 2 === 0 ? 'even' : 'odd' }, to: 'p@example.test' })
  }
  const read = async (cursor: string | null, filter = 'tag=page:even') => {
    const more = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`
    return api.request<List>('GET', `/v1/emails?${filter}${more}`)
  }
  const first = await read(null)
  // What comes meanwhile shows on no later page.
  await send('late', { tags: { page: 'even' }, to: 'p@example.test' })
  const second = await read(first.body.cursor)
  const found = [...first.body.emails, ...second.body.emails].map(({ id }) => id)
  const even = Array.from({ length: 60 }, (_, i) => ids[`page-${2 * i}`])
  expect(found).toEqual(even.reverse())
  expect([first.body.emails.length, second.body.cursor]).toEqual([50, null])

  for (const filter of ['tag=page:odd', 'to=p@example.test', 'tag=page:even&status=sent', 'x=1']) {
    const { status, body } = await read(first.body.cursor, filter)
    expect([filter, status, (body as unknown as { code: string }).code]).toEqual([
      filter,
      400,
      'invalid_cursor',
    ])
  }
  // Without a filter a cursor is an id.
  expect((await read(ids['first'] ?? '', 'expand=details')).body.emails).toEqual([])
  expect((await read(ids['first'] ?? '')).status).toBe(400)
})

it.each([
  'status=none',
  'status=',
  'to=nobody',
  'to=%00@example.test',
  'from=a',
  'tag=kind',
  'tag=%00:x',
  `tag=${'x'.repeat(600)}:y`,
  'type=mail',
  'workflow_id=',
  'domain_id=%00',
  'domain_id=dom_none',
  `workflow_id=dom_${'0'.repeat(26)}`,
  'since=yesterday',
  'since=-1',
  'since=1.5',
  'until=99999999999999999',
  'until=253402300800000',
])('?%s is a 400 that names the field', async (query) => {
  const { status, body } = await api.request('GET', `/v1/emails?${query}`)
  expect([status, body['code']]).toEqual([400, 'invalid_request'])
  expect(body['message']).toMatch(new RegExp(`^${query.split('=')[0]} `))
})

it('a sender who is written with spaces around the address is found, and read back without them', async () => {
  const change = {
    from: ' \u00a0spaced@shop.test\ufeff ',
    to: [' b@example.test '],
    cc: ' c@example.test',
  }
  await send('spaced', { ...change, reply_to: ' Ada <r@example.test>\u3000' })
  const list = '/v1/emails?from=spaced@shop.test'
  const found = (await api.request<{ emails: { id: string }[] }>('GET', list)).body.emails
  expect(found.map(({ id }) => id)).toEqual([ids['spaced']])
  const path = `/v1/emails/${ids['spaced']}?expand=details`
  expect((await api.request('GET', path)).body).toMatchObject({
    from: 'spaced@shop.test',
    to: ['b@example.test'],
    cc: ['c@example.test'],
    reply_to: ['Ada <r@example.test>'],
  })
})
