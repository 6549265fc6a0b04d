// A template that is sent as a test: the draft, from its own sender, with a mark before its subject.
import { expect, it } from 'vitest'
import { createTestApi, insertTestDomain } from '../setup/api.ts'

const api = await createTestApi()
await insertTestDomain(api, 'sender.test')
await insertTestDomain(api, 'new.test', 'NOT_STARTED')

const whole = {
  name: 'T',
  from: 'Shop <hello@sender.test>',
  reply_to: 'help@sender.test',
  subject: 'Hello {{ contact.first_name }}{{ name }}',
  html: '<p>{{ plan }} {{ contact.email }}</p>',
}

async function make(change: object = {}): Promise<string> {
  const answer = await api.request('POST', '/v1/templates', { ...whole, ...change })
  expect(answer.status).toBe(201)
  return String(answer.body['id'])
}

const test = (id: string, body: unknown) => api.request('POST', `/v1/templates/${id}/test`, body)
const read = async (id: unknown) =>
  (await api.request('GET', `/v1/emails/${id}?expand=details`)).body
const countEmails = async () => (await api.db.selectFrom('emails').select('id').execute()).length

it('sends the draft that was never published', async () => {
  const id = await make()
  const { status, body } = await test(id, {
    to: 'Ada <ada@example.test>',
    variables: { plan: 'pro' },
  })
  expect([status, Object.keys(body)]).toEqual([200, ['id']])
  expect(await read(body['id'])).toMatchObject({
    from: whole.from,
    to: ['Ada <ada@example.test>'],
    reply_to: [whole.reply_to],
    subject: '[test] Hello',
    html: '<p>pro ada@example.test</p>',
    template_id: id,
    recipient_statuses: [{ recipient: 'ada@example.test', events: [{ status: 'sent' }] }],
  })
  expect((await api.request('GET', `/v1/templates/${id}`)).body['status']).toBe('draft')
})

it('sends the current version, not the published one, to all of them together', async () => {
  const id = await make()
  expect((await api.request('POST', `/v1/templates/${id}/publish`)).status).toBe(200)
  await api.request('PATCH', `/v1/templates/${id}`, { subject: 'Changed {{ name }}', text: 'T' })
  const to = ['ada@example.test', 'Bob <bob@example.test>', 'ada@example.test']
  const { body } = await test(id, { to, variables: { name: 'X' } })
  const email = await read(body['id'])
  expect(email).toMatchObject({ subject: '[test] Changed X', text: 'T' })
  expect(email['recipient_statuses']).toHaveLength(2)
})

it('a draft without a subject has the mark alone', async () => {
  const { body } = await test(await make({ subject: null }), { to: 'ada@example.test' })
  expect((await read(body['id']))['subject']).toBe('[test]')
})

it('writes nothing for what cannot be sent', async () => {
  const id = await make()
  const before = await countEmails()
  const to = 'ada@example.test'
  const cases: [id: string, body: unknown, status: number, text: string][] = [
    [id, {}, 400, 'to is required'],
    [id, { to: '' }, 400, 'to must be one address'],
    [id, { to: [] }, 400, 'to must'],
    [id, { to: ['ada@example.test', 'x'] }, 400, 'to[1] must be one address'],
    [id, { to: Array(51).fill(to) }, 400, 'to must'],
    [id, { to: 1 }, 400, 'to must'],
    [id, { to, variables: [] }, 400, 'variables must be an object'],
    ['tpl_none', { to }, 404, "Template 'tpl_none' not found"],
    [await make({ from: null }), { to }, 400, 'The template has no from'],
    [await make({ html: null }), { to }, 400, 'The template has no html or text'],
    [await make({ from: 'a@new.test' }), { to }, 403, 'the DNS records of new.test were not found'],
    [await make({ from: 'a@elsewhere.test' }), { to }, 403, 'elsewhere.test is not a domain'],
  ]
  for (const [template, body, status, text] of cases) {
    const answer = await test(template, body)
    expect([body, answer.status, answer.body['message']]).toEqual([
      body,
      status,
      expect.stringContaining(text),
    ])
  }
  expect(await countEmails()).toBe(before)
})
