// Emails in bulk: one commit, all or none, or those that are right.
import { expect, it } from 'vitest'
import { batchTemplates } from '../../commands/emails/template.ts'
import { createTestApi, insertTestDomain } from '../setup/api.ts'
import { createBoundKey } from '../setup/boundKey.ts'
import { storedRows } from '../setup/storedRows.ts'
import { uniqueName } from '../setup/unique.ts'

const api = await createTestApi()
await insertTestDomain(api, 'sender.test')
await insertTestDomain(api, 'new.test', 'PENDING')

type Sent = { id: string; status: string } | null
interface Batch {
  emails: Sent[]
  errors?: { index: number; message: string; code: string }[]
}

const permissive = { 'x-batch-validation': 'permissive' }
const post = <T = Batch>(emails: unknown, headers: Record<string, string> = {}) =>
  api.request<T>('POST', '/v1/emails/batch', { emails }, headers)
const mail = (change: object = {}) => ({
  from: 'Shop <a@sender.test>',
  to: 'b@example.test',
  subject: 'S',
  text: 'T',
  ...change,
})
const idsOf = ({ emails }: Batch) => emails.map((email) => email?.id ?? '')
const subjects = async (ids: string[]) => {
  const rows = await api.db
    .selectFrom('emails')
    .select(['id', 'subject'])
    .where('id', 'in', ids)
    .execute()
  return ids.map((id) => rows.find((row) => row.id === id)?.subject)
}

it('sends each as if it came alone, in one commit, in order', async () => {
  const attachments = [{ filename: 'a.txt', content: 'aGk=' }]
  const emails = Array.from({ length: 100 }, (_, i) =>
    mail({ subject: `S${i}`, ...(i % 10 ? {} : { attachments }), cc: ['c@example.test'] }),
  )
  api.woken.length = 0
  const { status, body } = await post(emails)
  expect([status, Object.keys(body), api.woken]).toEqual([200, ['emails'], ['dripline_deliveries']])
  expect(body.emails.every((email) => email?.status === 'queued')).toBe(true)
  expect(await subjects(idsOf(body))).toEqual(emails.map(({ subject }) => subject))
  const { rows } = await api.pool.query(
    'select count(*)::int, count(distinct xmin::text)::int as commits from deliveries where email_id = any($1)',
    [idsOf(body)],
  )
  expect(rows).toEqual([{ count: 200, commits: 1 }])
})

const faulty = [
  [mail({ from: undefined }), 'invalid_request', 'from field is required'],
  [mail({ text: undefined }), 'content_required', /is required/],
  [mail({ template_id: 'none', text: undefined }), 'invalid_request', "Template 'none' not found"],
  [mail({ to: 'nobody' }), 'invalid_address', /^to must be one address/],
  [mail({ from: 'a@new.test' }), 'domain_not_verified', /new\.test/],
  [mail({ from: 'a@else.test' }), 'domain_not_found', /else\.test/],
  [mail({ text: '{% if', variables: {} }), 'invalid_template', /text/],
  ['nothing', 'invalid_request', /object/],
] as const

it('in strict validation sends none if one is refused, and names all that are', async () => {
  const before = await storedRows(api.db)
  const emails = [mail(), ...faulty.map(([email]) => email), mail()]
  for (const headers of [{}, { 'x-batch-validation': 'strict' }]) {
    const { status, body } = await post<Batch & { code: string; message: string }>(emails, headers)
    expect([status, body.code]).toEqual([400, 'batch_refused'])
    expect(body.message).toMatch(/^emails\[1\]: from field is required/)
    expect(body.errors?.map(({ index, code }) => [index, code])).toEqual(
      faulty.map(([, code], i) => [i + 1, code]),
    )
    for (const [i, [, , text]] of faulty.entries()) expect(body.errors?.[i]?.message).toMatch(text)
  }
  expect(await storedRows(api.db)).toEqual(before)
})

it('in permissive validation sends the others', async () => {
  const emails = [
    mail({ subject: 'first' }),
    ...faulty.map(([email]) => email),
    mail({ subject: 'last' }),
  ]
  const { status, body } = await post(emails, permissive)
  expect(status).toBe(200)
  expect(body.emails.map((email) => email === null)).toEqual([
    false,
    ...faulty.map(() => true),
    false,
  ])
  expect(body.errors?.map(({ index, code }) => [index, code])).toEqual(
    faulty.map(([, code], i) => [i + 1, code]),
  )
  const sent = idsOf(body).filter((id) => id !== '')
  expect(await subjects(sent)).toEqual(['first', 'last'])
})

it('calls what is no object by its name', async () => {
  const { body } = await post([5 as never], permissive)
  expect(body.errors).toEqual([
    { index: 0, message: 'An email must be an object, not a number', code: 'invalid_request' },
  ])
})

it('answers a permissive batch of which nothing is right', async () => {
  const before = await storedRows(api.db)
  const { status, body } = await post([mail({ to: '' })], permissive)
  expect([status, body]).toEqual([
    200,
    {
      emails: [null],
      errors: [{ index: 0, message: 'to field is required', code: 'invalid_request' }],
    },
  ])
  expect(await storedRows(api.db)).toEqual(before)
})

it('tells each contact of each of their mails', async () => {
  const people = Array.from({ length: 3 }, () => `${uniqueName('p')}@example.test`)
  for (const email of people)
    await api.request('POST', '/v1/automation/events', { event_name: 'seen', email })
  const { status } = await post([
    mail({ to: people }),
    mail({ to: [...people].reverse() }),
    mail({ to: people[1] }),
  ])
  expect(status).toBe(200)
  const counts = await Promise.all(
    people.map(
      async (email) => (await api.request('GET', `/v1/automation/contacts/${email}`)).body,
    ),
  )
  expect(counts.map((contact) => [contact['event_count'], contact['last_event']])).toEqual([
    [3, 'email.sent'],
    [4, 'email.sent'],
    [3, 'email.sent'],
  ])
})

it('refuses a batch without emails, with too many, of another type or with another validation', async () => {
  const many = Array.from({ length: 101 }, () => mail())
  for (const emails of [[], undefined, {}, 'x', many]) {
    const answer = await post<object>(emails)
    expect([answer.status, answer.body]).toEqual([
      400,
      { message: expect.stringContaining('emails'), code: 'invalid_request' },
    ])
  }
  const answer = await post<object>([mail()], { 'x-batch-validation': 'loose' })
  expect([answer.status, answer.body]).toEqual([
    400,
    { message: 'x-batch-validation must be strict or permissive', code: 'invalid_request' },
  ])
})

it('may send only from the domain of a bound key, and without reading contacts', async () => {
  const domainId = await insertTestDomain(api, 'bound.test')
  const { token } = await createBoundKey(api, domainId, { permission: 'sending_access' })
  const headers = { authorization: `Bearer ${token}`, ...permissive }
  const reading = { text: '{{ contact.email }}', variables: {} }
  const { body } = await post([mail({ from: 'a@bound.test' }), mail(), mail(reading)], headers)
  expect(body.emails.map((email) => email === null)).toEqual([false, true, true])
  expect(body.errors?.map(({ code }) => code)).toEqual(['domain_not_found', 'domain_not_found'])
  const own = await post([mail({ from: 'a@bound.test', ...reading })], headers)
  expect(own.body.errors).toMatchObject([{ index: 0, code: 'restricted_api_key' }])
})

it('is done once with an Idempotency-Key, for one validation', async () => {
  const headers = { 'idempotency-key': uniqueName('key') }
  const refused = await post([mail(), 'x'], headers)
  expect(refused.status).toBe(400)
  const first = await post([mail(), mail()], headers)
  const before = await storedRows(api.db)
  const again = await post([mail(), mail()], headers)
  expect([again.body, again.headers.get('idempotent-replayed')]).toEqual([first.body, 'true'])
  expect((await post([mail(), mail()], { ...headers, ...permissive })).status).toBe(409)
  expect(await storedRows(api.db)).toEqual(before)
})

it('refuses what comes after as much as a batch may render, and sends what came before', async () => {
  const { body: template } = await api.request<{ id: string }>('POST', '/v1/templates', {
    name: 'Large',
    subject: 'S',
    html: 'x'.repeat(1_000_000).slice(0, 900_000),
  })
  const published = await api.request('POST', `/v1/templates/${template.id}/publish`)
  expect(published.status).toBe(200)
  const large = mail({ template_id: template.id, variables: {}, text: undefined })
  const { body } = await api.request<Batch>(
    'POST',
    '/v1/emails/batch',
    { emails: Array.from({ length: 40 }, () => large) },
    permissive,
  )
  expect(body.errors?.length).toBeGreaterThan(10)
  for (const { code } of body.errors ?? []) expect(code).toBe('text_too_large')
  expect(body.emails.filter((email) => email !== null).length).toBeGreaterThan(15)
})

/** Publishes a template of 2 MB that shows none of them. */
async function publishLarge(): Promise<string> {
  const { body } = await api.request<{ id: string }>('POST', '/v1/templates', {
    name: 'Large',
    subject: 'S',
    html: 'x',
  })
  await api.request('POST', `/v1/templates/${body.id}/publish`)
  await api.pool.query(
    `update template_versions set html = p.part, text = p.part
     from (select '{% if false %}' || repeat('x', 1000000) || '{% endif %}' as part) p where template_id = $1`,
    [body.id],
  )
  return body.id
}

it('reads a template that many of its emails name once', async () => {
  const find = batchTemplates(api.db, api.workspaceId)
  const asked = { idOrAlias: await publishLarge(), hasSubject: false }
  expect(await find(asked)).toMatchObject({ id: asked.idOrAlias })
  expect(await find({ ...asked })).toBe(await find(asked))
})

it('refuses further templates where it holds 16 MiB of them, and sends what names one of those', async () => {
  const ids: string[] = []
  for (let i = 0; i < 11; i++) ids.push(await publishLarge())
  const named = [...ids, ids[0]].map((id) => mail({ template_id: id, text: undefined }))
  const { body } = await post(named, permissive)
  const refused = {
    message: expect.stringMatching(/^The templates of the emails before it have 16 MiB/),
    code: 'text_too_large',
  }
  expect(body.errors).toEqual([
    { index: 9, ...refused },
    { index: 10, ...refused },
  ])
  expect(body.emails.map((email) => email === null)).toEqual(
    named.map((_, i) => i === 9 || i === 10),
  )
})
