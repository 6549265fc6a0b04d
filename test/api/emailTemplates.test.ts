// POST /v1/emails with Liquid: variables in the request, and published templates.
import { beforeAll, expect, it } from 'vitest'
import { createTestApi, insertTestDomain, type TestApi } from '../setup/api.ts'

let api: TestApi

const mail = {
  from: 'Acme <hello@acme.test>',
  to: 'jane@example.com',
  subject: 'Hi',
  html: '<p>Hello</p>',
}

beforeAll(async () => {
  api = await createTestApi()
  await insertTestDomain(api, 'acme.test')
  const at = new Date()
  await api.db
    .insertInto('contacts')
    .values({
      id: api.deps.newId('contact'),
      workspace_id: api.workspaceId,
      email: 'bob@example.com',
      properties: '{"first_name": "Bob"}',
      first_seen: at,
      last_seen: at,
      last_event: 'signed_up',
      created_at: at,
      updated_at: at,
    })
    .execute()
})

const send = (body: unknown) => api.request<{ id: string }>('POST', '/v1/emails', body)
const emailOf = (id: string) =>
  api.db.selectFrom('emails').selectAll().where('id', '=', id).executeTakeFirstOrThrow()

it('leaves Liquid alone unless variables are given', async () => {
  const html = '<p>{{ name }}</p>'
  const literal = await send({ ...mail, html })
  expect((await emailOf(literal.body.id)).html).toBe(html)
  const subject = 'For {{ name }}{{ vars.line }}'
  const variables = { name: 'A & B', line: '\r\nBcc: x@example.com' }
  const rendered = await send({ ...mail, html, subject, text: '{{ name }}', variables })
  expect(await emailOf(rendered.body.id)).toMatchObject({
    html: '<p>A &amp; B</p>',
    text: 'A & B',
    subject: 'For A & B Bcc: x@example.com',
  })
})

it('sends a template by id or alias, in its published version', async () => {
  const made = await api.request<{ id: string }>('POST', '/v1/templates', {
    name: 'Welcome',
    alias: 'welcome',
    subject: 'Welcome {{ contact.first_name }}',
    html: '<b>{{ plan }} {{ contact.email }}</b>',
    reply_to: 'help@acme.test',
  })
  const draft = await send({ from: mail.from, to: mail.to, template_id: 'welcome' })
  expect([draft.status, draft.body]).toMatchObject([400, { code: 'template_not_published' }])
  await api.request('POST', '/v1/templates/welcome/publish')
  await api.request('PATCH', '/v1/templates/welcome', { html: 'changed' })
  for (const template_id of ['welcome', made.body.id]) {
    const body = {
      from: mail.from,
      to: 'bob@example.com',
      template_id,
      variables: { plan: 'Pro' },
    }
    const email = await emailOf((await send(body)).body.id)
    expect(email).toMatchObject({
      template_id: made.body.id,
      subject: 'Welcome Bob',
      html: '<b>Pro bob@example.com</b>',
      reply_to: ['help@acme.test'],
    })
  }
  await api.request('PATCH', '/v1/templates/welcome', { subject: null })
  await api.request('POST', '/v1/templates/welcome/publish')
  const bare = await send({ from: mail.from, to: mail.to, template_id: 'welcome' })
  expect(bare.body).toEqual({ message: 'subject field is required' })
})

it('removes a NUL character that a filter made', async () => {
  const answer = await api.request<{ id: string }>('POST', '/v1/emails', {
    ...mail,
    html: '{{ "a%00b" | url_decode }}',
    variables: {},
  })
  const read = await api.request<{ html: string }>('GET', `/v1/emails/${answer.body.id}`)
  expect([answer.status, read.body.html]).toEqual([200, 'ab'])
})

it('refuses half of a surrogate pair that a filter left', async () => {
  const answer = await send({
    ...mail,
    html: '{{ "\u{1f600}" | split: "" | first }}',
    variables: {},
  })
  expect([answer.status, answer.body]).toEqual([
    400,
    { code: 'invalid_template', message: 'the result holds a NUL character' },
  ])
})
