// A key with sending_access sends, and reads what became of a mail by its id: no list, no content, nobody's properties.
import { beforeAll, describe, expect, it } from 'vitest'
import { createTestApi, insertTestDomain } from '../setup/api.ts'

const api = await createTestApi()
await insertTestDomain(api, 'sender.test')
const { token } = await api.createKey({ permission: 'sending_access' })
const { token: reading } = await api.createKey({ permission: 'read_only' })

const mail = { from: 'Shop <a@sender.test>', to: 'ada@example.test', subject: 'Hi', text: 'Hello' }
const ask = (method: string, path: string, body?: unknown, key = token) =>
  api.request<Record<string, unknown>>(method, path, body, { authorization: `Bearer ${key}` })
const send = (change: object, key = token) => ask('POST', '/v1/emails', { ...mail, ...change }, key)
const full = (method: string, path: string, body?: unknown) => ask(method, path, body, api.key)
const emailCount = async () => (await full('GET', '/v1/emails')).body['count']

beforeAll(async () => {
  await full('POST', '/v1/automation/events', {
    event_name: 'seen',
    email: mail.to,
    contact_properties: { first_name: 'Ada', plan: 'S3CRET' },
  })
  for (const [alias, text] of [
    ['greeting', 'Hello {{ contact.first_name }}'],
    ['plain', 'Hello {{ name }}{{ vars.name }}'],
  ]) {
    await full('POST', '/v1/templates', { name: alias, alias, subject: 'S', text })
    await full('POST', `/v1/templates/${alias}/publish`)
  }
})

describe('Liquid that reads a contact', () => {
  it.each([
    ['text', 'contact.properties', { text: '{{ contact.properties | json }}', variables: {} }],
    ['subject', 'properties.plan', { subject: '{{ properties.plan }}', variables: {} }],
    ['html', 'contact["email"]', { html: '{{ contact["email"] }}', variables: { contact: 1 } }],
    ['html', '[name]', { html: '{{ [name] }}', variables: { name: 'contact' } }],
    ['text', 'contact.first_name', { text: undefined, template_id: 'greeting' }],
  ])('in %s is refused, and the text names %s', async (field, variable, change) => {
    const before = await emailCount()
    const answer = await send(change)
    const message = `${field}: this API key may not read contacts, and the template reads ${variable}`
    expect([answer.status, answer.body]).toEqual([403, { message, code: 'restricted_api_key' }])
    expect(await emailCount()).toBe(before)
    expect((await send(change, api.key)).status).toBe(200)
  })

  it('is text where nothing is rendered', async () => {
    expect((await send({ text: '{{ contact.properties }}' })).status).toBe(200)
  })

  it('is not what it needs to send a template with values of its own', async () => {
    const change = { text: undefined, template_id: 'plain', variables: { name: 'Ada' } }
    const { status, body } = await send(change)
    expect(status).toBe(200)
    expect((await full('GET', `/v1/emails/${body['id']}`)).body['text']).toBe('Hello AdaAda')
  })
})

it('reads what became of one mail, without its content', async () => {
  const { body } = await send({ html: '<p>Hello</p>' })
  const path = `/v1/emails/${body['id']}`
  for (const query of ['', '?expand=details']) {
    const whole = (await full('GET', path + query)).body
    expect(whole).toMatchObject({ html: '<p>Hello</p>', text: 'Hello' })
    expect((await ask('GET', path + query, undefined, reading)).body).toEqual(whole)
    expect((await ask('GET', path + query)).body).toEqual({ ...whole, html: '', text: '' })
  }
})

it('lists nothing', async () => {
  const { body } = await send({})
  for (const path of ['/v1/emails', `/v1/emails/${body['id']}/attempts`]) {
    for (const method of ['GET', 'HEAD']) {
      expect([path, method, (await ask(method, path)).status]).toEqual([path, method, 403])
    }
  }
})

it('read_only renders a template, and sees no keys', async () => {
  const rendered = await ask('POST', '/v1/templates/greeting/render', { email: mail.to }, reading)
  expect([rendered.status, rendered.body['text']]).toEqual([200, 'Hello Ada'])
  const keys = await ask('GET', '/v1/api-keys', undefined, reading)
  expect([keys.status, keys.body]).toEqual([
    403,
    {
      message: 'This API key has the permission read_only; this needs full_access',
      code: 'restricted_api_key',
    },
  ])
})
