// POST /v1/emails: the checks that come after those of the contract. Nothing is written if one fails.
// Long because it is one table with a row for each wrong body.
import { beforeAll, describe, expect, it } from 'vitest'
import { createApp } from '../../api/http/app.ts'
import { createTestApi, insertTestDomain, type TestApi } from '../setup/api.ts'

let api: TestApi

const mail = {
  from: 'Acme <hello@acme.test>',
  to: 'jane@example.com',
  subject: 'Hi',
  html: '<p>Hello</p>',
}

let domainId: string

beforeAll(async () => {
  api = await createTestApi()
  domainId = await insertTestDomain(api, 'acme.test')
  await insertTestDomain(api, 'new.test', 'NOT_STARTED')
  await insertTestDomain(api, 'shaky.test', 'TEMPORARY_FAILURE')
})

const send = (body: unknown, headers?: Record<string, string>) =>
  api.request<{ id: string; status: string }>('POST', '/v1/emails', body, headers)

const countEmails = async () => (await api.db.selectFrom('emails').select('id').execute()).length

const without = (field: keyof typeof mail) => ({ ...mail, [field]: undefined })

describe('checks beyond the contract', () => {
  const attachment = { filename: 'a.txt', content: 'aGVsbG8=' }
  const table: [string, unknown, number, string, string][] = [
    ['an array', [], 400, 'invalid_request', 'The body must be an object, not an array'],
    ['null', null, 400, 'invalid_request', 'The body must be an object, not null'],
    ['not JSON', '{', 400, 'invalid_json', 'Invalid JSON payload'],
    ['nothing', '', 400, 'invalid_json', 'Invalid JSON payload'],
    ['from of a wrong type', { ...mail, from: 5 }, 400, 'invalid_request', 'from must be'],
    ['to of a wrong type', { ...mail, to: {} }, 400, 'invalid_request', 'to must be'],
    [
      'a number in to',
      { ...mail, to: ['a@b.co', 1] },
      400,
      'invalid_request',
      'to[1] must be a string',
    ],
    [
      'subject of a wrong type',
      { ...mail, subject: [] },
      400,
      'invalid_request',
      'subject must be',
    ],
    ['html of a wrong type', { ...mail, html: 1 }, 400, 'invalid_request', 'html must be'],
    ['text of a wrong type', { ...mail, text: {} }, 400, 'invalid_request', 'text must be'],
    ['nothing to send', without('html'), 400, 'content_required', 'html, text or template_id'],
    [
      'bad to',
      { ...mail, to: ['a@b.co', 'x'] },
      400,
      'invalid_address',
      'to[1] must be one address',
    ],
    ['bad cc', { ...mail, cc: 'x y@z.co' }, 400, 'invalid_address', 'cc must be one address'],
    ['bad bcc', { ...mail, bcc: ['a@b'] }, 400, 'invalid_address', 'bcc[0] must be one address'],
    [
      'bad reply_to',
      { ...mail, reply_to: '@' },
      400,
      'invalid_address',
      'reply_to must be one address',
    ],
    [
      'a time of a wrong type',
      { ...mail, scheduled_at: true },
      400,
      'invalid_request',
      'scheduled_at must be a time in ms since 1970 or ISO 8601',
    ],
    [
      'words for a time',
      { ...mail, scheduled_at: 'tomorrow' },
      400,
      'invalid_request',
      'scheduled_at must be a time in ms since 1970 or ISO 8601',
    ],
    [
      'a time that is too far',
      { ...mail, scheduled_at: 8.64e15 },
      400,
      'invalid_request',
      'scheduled_at must be at most 3653 days ahead',
    ],
    ['long subject', { ...mail, subject: 'x'.repeat(999) }, 400, 'invalid_request', 'subject must'],
    ['line break in subject', { ...mail, subject: 'a\nb' }, 400, 'invalid_request', 'subject must'],
    ['NUL in subject', { ...mail, subject: 'a\u0000b' }, 400, 'invalid_request', 'subject must'],
    ['NUL in html', { ...mail, html: '\u0000' }, 400, 'invalid_request', 'html must not'],
    ['half a pair in text', { ...mail, text: '\ud800' }, 400, 'invalid_request', 'text must not'],
    ['headers as a list', { ...mail, headers: [] }, 400, 'invalid_request', 'headers must be'],
    [
      'a number in headers',
      { ...mail, headers: { a: 1 } },
      400,
      'invalid_request',
      'headers.a must be a string, not a number',
    ],
    [
      'our header',
      { ...mail, headers: { 'message-ID': 'x' } },
      400,
      'reserved_header',
      'headers: mes',
    ],
    [
      'our content header',
      { ...mail, headers: { 'Content-X': 'x' } },
      400,
      'reserved_header',
      'head',
    ],
    [
      'a header name',
      { ...mail, headers: { 'a b': 'x' } },
      400,
      'invalid_header',
      'headers: a name',
    ],
    [
      'a colon in it',
      { ...mail, headers: { 'a:': 'x' } },
      400,
      'invalid_header',
      'headers: a name',
    ],
    [
      'a line break in a value',
      { ...mail, headers: { a: 'x\r\ny' } },
      400,
      'invalid_header',
      'headers',
    ],
    [
      'one header twice',
      { ...mail, headers: { a: '', A: '' } },
      400,
      'invalid_header',
      'headers: A',
    ],
    ['tags of a wrong type', { ...mail, tags: { a: 1 } }, 400, 'invalid_request', 'tags.a must be'],
    ['NUL in a tag', { ...mail, tags: { 'a\u0000': '' } }, 400, 'invalid_request', 'tags: keys'],
    ['metadata as a text', { ...mail, metadata: 'x' }, 400, 'invalid_request', 'metadata must be'],
    [
      'NUL in metadata',
      { ...mail, metadata: { a: '\u0000' } },
      400,
      'invalid_request',
      'metadata must not hold a NUL character',
    ],
    [
      'variables as a list',
      { ...mail, variables: [] },
      400,
      'invalid_request',
      'variables must be',
    ],
    ['bad Liquid', { ...mail, variables: {}, html: 'a\n{% if' }, 400, 'invalid_template', 'html: '],
    [
      'attachments as text',
      { ...mail, attachments: 'x' },
      400,
      'invalid_request',
      'attachments must',
    ],
    [
      'an attachment as text',
      { ...mail, attachments: ['x'] },
      400,
      'invalid_request',
      'attachments[0] must be an object, not a string',
    ],
    [
      'no filename',
      { ...mail, attachments: [{ content: 'aGk=' }] },
      400,
      'invalid_request',
      'attachments[0].filename is required',
    ],
    [
      'no base64',
      { ...mail, attachments: [attachment, { ...attachment, content: '%%' }] },
      400,
      'invalid_request',
      'attachments[1].content must be base64, which has no "%"',
    ],
    [
      'base64 that goes on after its end',
      { ...mail, attachments: [{ ...attachment, content: 'aGVsbG8=aGVsbG8=' }] },
      400,
      'invalid_request',
      'attachments[0].content must be one base64 text, and goes on after its =',
    ],
    [
      'base64 that was cut',
      { ...mail, attachments: [{ ...attachment, content: 'aGVsb' }] },
      400,
      'invalid_request',
      'attachments[0].content must be base64, and was cut: its last character stands alone',
    ],
    [
      'base64 of nothing',
      { ...mail, attachments: [{ ...attachment, content: ' \n==' }] },
      400,
      'invalid_request',
      'attachments[0].content must be base64, and holds nothing',
    ],
    [
      'a content type with a line break',
      { ...mail, attachments: [{ ...attachment, content_type: 'a/b\r\nX: y' }] },
      400,
      'invalid_request',
      'attachments[0].content_type must be a media type',
    ],
    [
      'a content id with a bracket',
      { ...mail, attachments: [{ ...attachment, content_id: 'a>b' }] },
      400,
      'invalid_request',
      'attachments[0].content_id must be 1-255 visible',
    ],
    [
      'attachments over 25 MB together',
      { ...mail, attachments: Array(3).fill({ ...attachment, content: 'A'.repeat(12 * 2 ** 20) }) },
      400,
      'attachments_too_large',
      'attachments together must not exceed 25MB, have 27.00MB',
    ],
    [
      'a foreign domain',
      { ...mail, from: 'a@b.test' },
      403,
      'domain_not_found',
      'from: b.test is not a domain of this workspace',
    ],
    [
      'an unverified one',
      { ...mail, from: 'a@new.test' },
      403,
      'domain_not_verified',
      'from: the DNS records of new.test were not found',
    ],
  ]
  it.each(table)('%s', async (_name, body, status, code, message) => {
    const before = await countEmails()
    const answer = await send(body)
    expect(answer.body).toMatchObject({ code, message: expect.stringContaining(message) })
    expect(answer.status).toBe(status)
    expect(await countEmails()).toBe(before)
  })

  it('says where Liquid fails', async () => {
    const { body } = await send({ ...mail, variables: {}, html: 'a\n  {% if' })
    expect(body).toMatchObject({ field: 'html', line: 2, column: 3 })
  })

  it('lets a key with a domain send only from that domain', async () => {
    const { token, keyId } = await api.createKey()
    await api.db
      .updateTable('api_keys')
      .set({ domain_id: domainId })
      .where('id', '=', keyId)
      .execute()
    const headers = { authorization: `Bearer ${token}` }
    expect((await send(mail, headers)).status).toBe(200)
    const refused = await send({ ...mail, from: 'a@shaky.test' }, headers)
    expect([refused.status, refused.body]).toEqual([
      403,
      { message: 'from: this API key may not send from shaky.test', code: 'domain_not_found' },
    ])
  })

  it('knows only the domains of its own workspace', async () => {
    const { token } = await api.createKey({ workspaceName: 'other' })
    const answer = await send(mail, { authorization: `Bearer ${token}` })
    expect(answer.body).toMatchObject({ code: 'domain_not_found' })
  })
})

describe('with ALLOW_UNVERIFIED_DOMAINS', () => {
  it('sends from a domain that is not verified', async () => {
    const lax = { ...api.deps, config: { ...api.deps.config, allowUnverifiedDomains: true } }
    const answer = await createApp(lax).request('/v1/emails', {
      method: 'POST',
      headers: { authorization: `Bearer ${api.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...mail, from: 'a@new.test' }),
    })
    expect(answer.status).toBe(200)
  })
})
