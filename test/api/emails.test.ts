// POST /v1/emails: every check and its text, and what is written when a mail is accepted.
import { beforeAll, describe, expect, it } from 'vitest'
import { createTestApi, insertTestDomain, type TestApi } from '../setup/api.ts'

let api: TestApi
let domainId: string

const mail = {
  from: 'Acme <hello@acme.test>',
  to: 'jane@example.com',
  subject: 'Hi',
  html: '<p>Hello</p>',
}

beforeAll(async () => {
  api = await createTestApi()
  domainId = await insertTestDomain(api, 'acme.test')
  await insertTestDomain(api, 'new.test', 'NOT_STARTED')
  await insertTestDomain(api, 'shaky.test', 'TEMPORARY_FAILURE')
})

const send = (body: unknown, headers?: Record<string, string>) =>
  api.request<{ id: string; status: string }>('POST', '/v1/emails', body, headers)
const countEmails = async () =>
  Number(
    (
      await api.db
        .selectFrom('emails')
        .select((eb) => eb.fn.countAll().as('n'))
        .executeTakeFirstOrThrow()
    ).n,
  )

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

describe('our own checks', () => {
  const attachment = { filename: 'a.txt', content: 'aGVsbG8=' }
  const table: [string, unknown, number, string, string][] = [
    ['an array', [], 400, 'invalid_request', 'The body must be a JSON object'],
    ['null', null, 400, 'invalid_request', 'The body must be a JSON object'],
    ['not JSON', '{', 400, 'invalid_json', 'Invalid JSON payload'],
    ['nothing', '', 400, 'invalid_json', 'Invalid JSON payload'],
    ['from of a wrong type', { ...mail, from: 5 }, 400, 'invalid_request', 'from must be'],
    ['to of a wrong type', { ...mail, to: {} }, 400, 'invalid_request', 'to must be'],
    ['a number in to', { ...mail, to: ['a@b.co', 1] }, 400, 'invalid_request', 'to must be'],
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
      'Invalid email format in to',
    ],
    ['bad cc', { ...mail, cc: 'x y@z.co' }, 400, 'invalid_address', 'Invalid email format in cc'],
    ['bad bcc', { ...mail, bcc: ['a@b'] }, 400, 'invalid_address', 'Invalid email format in bcc'],
    [
      'bad reply_to',
      { ...mail, reply_to: '@' },
      400,
      'invalid_address',
      'Invalid email format in rep',
    ],
    ['scheduling', { ...mail, scheduled_at: 1 }, 400, 'scheduling_not_available', 'scheduled_at'],
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
      'headers must be',
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
    ['tags of a wrong type', { ...mail, tags: { a: 1 } }, 400, 'invalid_request', 'tags must be'],
    ['NUL in a tag', { ...mail, tags: { 'a\u0000': '' } }, 400, 'invalid_request', 'tags: keys'],
    ['metadata as a text', { ...mail, metadata: 'x' }, 400, 'invalid_request', 'metadata must be'],
    [
      'NUL in metadata',
      { ...mail, metadata: { a: '\u0000' } },
      400,
      'invalid_request',
      'metadata: ',
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
      'attachments.0',
    ],
    [
      'no filename',
      { ...mail, attachments: [{ content: 'aGk=' }] },
      400,
      'invalid_request',
      'attachments.0.filename is required',
    ],
    [
      'no base64',
      { ...mail, attachments: [attachment, { ...attachment, content: '%%' }] },
      400,
      'invalid_request',
      'attachments.1.content must be base64',
    ],
    [
      'a content type with a line break',
      { ...mail, attachments: [{ ...attachment, content_type: 'a/b\r\nX: y' }] },
      400,
      'invalid_request',
      'attachments.0.content_type is not valid',
    ],
    [
      'a content id with a bracket',
      { ...mail, attachments: [{ ...attachment, content_id: 'a>b' }] },
      400,
      'invalid_request',
      'attachments.0.content_id is not valid',
    ],
    [
      'attachments over 25 MB together',
      { ...mail, attachments: Array(3).fill({ ...attachment, content: 'A'.repeat(12 * 2 ** 20) }) },
      400,
      'attachments_too_large',
      'attachments together exceed 25MB',
    ],
    ['a foreign domain', { ...mail, from: 'a@b.test' }, 403, 'domain_not_found', 'Domain b.test'],
    [
      'an unverified one',
      { ...mail, from: 'a@new.test' },
      403,
      'domain_not_verified',
      'Domain new.t',
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

  it('lets a key with a domain send from that domain alone', async () => {
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
      { message: 'This API key may not send from this domain', code: 'restricted_api_key' },
    ])
  })

  it('knows the domains of its own workspace alone', async () => {
    const { token } = await api.createKey({ workspaceName: 'other' })
    const answer = await send(mail, { authorization: `Bearer ${token}` })
    expect(answer.body).toMatchObject({ code: 'domain_not_found' })
  })
})

describe('accepted', () => {
  const rowsOf = async (id: string) => ({
    email: await api.db.selectFrom('emails').selectAll().where('id', '=', id).executeTakeFirst(),
    deliveries: await api.db
      .selectFrom('deliveries')
      .selectAll()
      .where('email_id', '=', id)
      .orderBy('id')
      .execute(),
    events: await api.db
      .selectFrom('email_events')
      .selectAll()
      .where('email_id', '=', id)
      .orderBy('id')
      .execute(),
    files: await api.db
      .selectFrom('email_attachments')
      .selectAll()
      .where('email_id', '=', id)
      .orderBy('position')
      .execute(),
  })

  it('writes the email, a delivery and an event for each address, and wakes the lanes', async () => {
    api.woken.length = 0
    const answer = await send({
      ...mail,
      to: ['Jane <jane@EXAMPLE.com>', 'b@example.org'],
      cc: 'jane@example.com',
      bcc: ['secret@example.net'],
      reply_to: 'Help <help@acme.test>',
      headers: { 'X-Ref': '42' },
      tags: { kind: 'welcome' },
      metadata: { deep: { a: [null] } },
      tracking: { opens: false },
      unknown_key: true,
    })
    expect([answer.status, answer.body.status]).toEqual([200, 'queued'])
    expect(answer.body.id).toMatch(/^em_[0-9A-Z]{26}$/)
    const { email, deliveries, events } = await rowsOf(answer.body.id)
    expect(email).toMatchObject({
      type: 'transactional',
      category: 'transactional',
      from: mail.from,
      to: ['Jane <jane@EXAMPLE.com>', 'b@example.org'],
      cc: ['jane@example.com'],
      bcc: ['secret@example.net'],
      reply_to: ['Help <help@acme.test>'],
      subject: 'Hi',
      html: mail.html,
      text: null,
      domain_id: domainId,
      headers: { 'X-Ref': '42' },
      tags: { kind: 'welcome' },
      metadata: { deep: { a: [null] } },
      message_id: expect.stringMatching(/^[\w-]{22}@acme\.test$/),
      unsubscribe_token: null,
    })
    const recipients = ['jane@example.com', 'b@example.org', 'secret@example.net']
    expect(deliveries.map((row) => row.recipient)).toEqual(recipients)
    for (const row of deliveries) {
      expect(row).toMatchObject({ state: 'queued', attempt: 0, settled_at: null })
      expect(row.next_at).toEqual(email?.created_at)
      expect(row.expires_at.getTime() - row.created_at.getTime()).toBe(24 * 3_600_000)
    }
    expect(new Set(deliveries.map((row) => row.shard)).size).toBe(3)
    expect(events.map((row) => [row.recipient, row.status, row.data])).toEqual(
      recipients.map((recipient) => [recipient, 'sent', {}]),
    )
    expect(api.woken).toEqual(['dripline_deliveries'])
  })

  it('keeps every attachment, decoded', async () => {
    const { body } = await send({
      ...mail,
      attachments: [
        { filename: 'ä.txt', content: 'aGVs\nbG8=', content_type: 'text/plain; charset=utf-8' },
        {
          filename: 'b.png',
          content: Buffer.from([0, 255]).toString('base64'),
          content_id: 'pic@1',
        },
      ],
    })
    const { files } = await rowsOf(body.id)
    expect(files.map(({ email_id, ...file }) => file)).toEqual([
      {
        position: 0,
        filename: 'ä.txt',
        content: Buffer.from('hello'),
        content_type: 'text/plain; charset=utf-8',
        content_id: null,
      },
      {
        position: 1,
        filename: 'b.png',
        content: Buffer.from([0, 255]),
        content_type: null,
        content_id: 'pic@1',
      },
    ])
  })

  it('stops no other recipient for one that is suppressed', async () => {
    const far = new Date(Date.now() + 3_600_000)
    const past = new Date(Date.now() - 1000)
    const row = { workspace_id: api.workspaceId, source_id: null, created_at: past }
    await api.db
      .insertInto('suppressions')
      .values([
        { ...row, email: 'gone@example.com', reason: 'bounce', expires_at: null },
        { ...row, email: 'soft@example.com', reason: 'bounce', expires_at: far },
        { ...row, email: 'back@example.com', reason: 'bounce', expires_at: past },
        {
          ...row,
          workspace_id: 'ws_other',
          email: 'here@example.com',
          reason: 'manual',
          expires_at: null,
        },
      ])
      .execute()
    const to = ['Gone@example.com', 'soft@example.com', 'back@example.com', 'here@example.com']
    const { body } = await send({ ...mail, to })
    const { deliveries, events } = await rowsOf(body.id)
    expect(deliveries.map((row) => row.state)).toEqual([
      'suppressed',
      'suppressed',
      'queued',
      'queued',
    ])
    expect(deliveries.map((row) => row.settled_at !== null)).toEqual([true, true, false, false])
    const bounce = { type: 'Permanent', subtype: 'OnAccountSuppressionList' }
    expect(events.slice(4).map((row) => [row.recipient, row.status, row.data])).toEqual([
      ['Gone@example.com', 'bounced', bounce],
      ['soft@example.com', 'bounced', bounce],
    ])
  })

  it('tells recipients that are automation contacts, and starts what listens', async () => {
    const at = new Date()
    await api.db
      .insertInto('contacts')
      .values(
        ['ann@example.com', 'bob@example.com'].map((email) => ({
          id: api.deps.newId('contact'),
          workspace_id: api.workspaceId,
          email,
          properties: '{}',
          first_seen: at,
          last_seen: at,
          last_event: 'signed_up',
          created_at: at,
          updated_at: at,
        })),
      )
      .execute()
    const { body } = await send({ ...mail, to: ['Ann@example.com', 'zoe@example.com'] })
    const told = await api.db.selectFrom('automation_events').selectAll().execute()
    expect(told).toHaveLength(1)
    expect(told[0]).toMatchObject({
      event_name: 'email.sent',
      email: 'ann@example.com',
      properties: { email_id: body.id, subject: 'Hi', recipient: 'ann@example.com' },
    })
    const ann = await api.db
      .selectFrom('contacts')
      .selectAll()
      .where('email', '=', 'ann@example.com')
      .executeTakeFirstOrThrow()
    expect(ann).toMatchObject({ event_count: 1, last_event: 'email.sent' })
    const { deliveries } = await rowsOf(body.id)
    expect(deliveries).toHaveLength(2)
  })

  it('takes 40 MB of html, text alone, and a domain that misses its records for a while', async () => {
    expect((await send({ ...mail, html: 'a'.repeat(40 * 1024 * 1024) })).status).toBe(200)
    expect((await send({ ...without('html'), text: 'Hi' })).status).toBe(200)
    expect((await send({ ...mail, from: 'a@Shaky.TEST' })).status).toBe(200)
    expect((await send({ ...mail, to: many(50) })).status).toBe(200)
  })

  it('leaves Liquid alone unless variables are given', async () => {
    const html = '<p>{{ name }}</p>'
    const literal = await send({ ...mail, html })
    expect((await rowsOf(literal.body.id)).email?.html).toBe(html)
    const subject = 'For {{ name }}{{ vars.line }}'
    const variables = { name: 'A & B', line: '\r\nBcc: x@example.com' }
    const rendered = await send({ ...mail, html, subject, text: '{{ name }}', variables })
    expect((await rowsOf(rendered.body.id)).email).toMatchObject({
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
    await api.db
      .updateTable('contacts')
      .set({ properties: '{"first_name": "Bob"}' })
      .where('email', '=', 'bob@example.com')
      .execute()
    for (const template_id of ['welcome', made.body.id]) {
      const body = {
        from: mail.from,
        to: 'bob@example.com',
        template_id,
        variables: { plan: 'Pro' },
      }
      const { email } = await rowsOf((await send(body)).body.id)
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
})

describe('with ALLOW_UNVERIFIED_DOMAINS', () => {
  it('sends from a domain that is not verified', async () => {
    const lax = { ...api.deps, config: { ...api.deps.config, allowUnverifiedDomains: true } }
    const { createApp } = await import('../../api/app.ts')
    const answer = await createApp(lax).request('/v1/emails', {
      method: 'POST',
      headers: { authorization: `Bearer ${api.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...mail, from: 'a@new.test' }),
    })
    expect(answer.status).toBe(200)
  })
})
