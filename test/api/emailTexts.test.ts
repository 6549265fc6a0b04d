// POST /v1/emails: the contract's checks, their texts and their order.
import { beforeAll, describe, expect, it } from 'vitest'
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
})

const send = (body: unknown, headers?: Record<string, string>) =>
  api.request<{ id: string; status: string }>('POST', '/v1/emails', body, headers)

const countEmails = async () => (await api.db.selectFrom('emails').select('id').execute()).length

const without = (field: keyof typeof mail) => ({ ...mail, [field]: undefined })
const many = (count: number) => Array.from({ length: count }, (_, i) => `r${i}@example.com`)

describe('texts of the contract, in their order', () => {
  const table: [string, unknown, number, string][] = [
    ['no from', { subject: 'x' }, 400, 'from field is required'],
    ['empty from', { ...mail, from: '' }, 400, 'from field is required'],
    ['null from', { ...mail, from: null }, 400, 'from field is required'],
    ['no to', without('to'), 400, 'to field is required'],
    ['empty to', { ...mail, to: '' }, 400, 'to field is required'],
    ['empty list of to', { ...mail, to: [] }, 400, 'to field is required'],
    ['no subject', without('subject'), 400, 'subject field is required'],
    ['empty subject', { ...mail, subject: '' }, 400, 'subject field is required'],
    [
      'template with html, before recipients',
      { ...mail, template_id: 't', to: many(51) },
      400,
      'template_id cannot be used together with html',
    ],
    [
      'html of 40 MB and one byte',
      { ...mail, html: 'a'.repeat(40 * 1024 * 1024 + 1), to: many(51) },
      400,
      'html content size (40.00MB) exceeds maximum of 40MB',
    ],
    [
      'html counted in bytes',
      { ...mail, html: 'é'.repeat(21 * 1024 * 1024), from: 'nobody' },
      400,
      'html content size (42.00MB) exceeds maximum of 40MB',
    ],
    [
      '51 recipients, before the format of from',
      { ...mail, to: many(20), cc: many(20), bcc: many(11), from: 'nobody' },
      400,
      'Too many recipients: 51. Maximum allowed is 50',
    ],
    [
      'one recipient 51 times',
      { ...mail, to: Array(51).fill('a@example.com') },
      400,
      'Too many recipients: 51. Maximum allowed is 50',
    ],
    [
      'from without a domain, before the template',
      { ...without('html'), from: 'nobody', template_id: 'none' },
      400,
      'Invalid email format in from field',
    ],
    [
      'from with a line break',
      { ...mail, from: 'A <a@acme.test>\r\nBcc: x@example.com' },
      400,
      'Invalid email format in from field',
    ],
    [
      'unknown template, before the recipients',
      { ...without('html'), template_id: 'none', to: 'nobody' },
      404,
      "Template 'none' not found",
    ],
    [
      'unknown template without a subject',
      { from: mail.from, to: mail.to, template_id: 'no\u0000ne' },
      404,
      "Template 'no\u0000ne' not found",
    ],
  ]
  it.each(table)('%s', async (_name, body, status, message) => {
    const before = await countEmails()
    const answer = await send(body)
    expect([answer.status, answer.body]).toEqual([status, { message }])
    expect(await countEmails()).toBe(before)
  })
})
