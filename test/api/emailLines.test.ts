// Hostile characters in what becomes a header or jsonb: a 400 that names the field, and nothing is written.
// Long because it is four tables of hostile requests.
// Reserved headers, with every odd spelling.
import { beforeAll, describe, expect, it } from 'vitest'
import { createTestApi, insertTestDomain, type TestApi } from '../setup/api.ts'
import { welcomeDesign } from '../setup/designs.ts'
import { describeTables } from '../setup/tables.ts'

let api: TestApi

const mail = { from: 'a@acme.test', to: 'jane@example.com', subject: 'Hi', html: '<p>Hello</p>' }
const file = { filename: 'a.txt', content: 'aGVsbG8=' }

beforeAll(async () => {
  api = await createTestApi()
  await insertTestDomain(api, 'acme.test')
  await api.request('POST', '/v1/automation/events', { event_name: 'seen', email: 'ada@b.test' })
})

const send = (change: object) => api.request('POST', '/v1/emails', { ...mail, ...change })

/** Does what must write nothing. To look at all tables takes longer than many requests, so they share a look. */
async function writingNothing<T>(work: () => Promise<T>): Promise<T> {
  const before = await describeTables(api.db)
  const done = await work()
  expect(await describeTables(api.db)).toBe(before)
  return done
}

/** Sends what must be answered by 400, and gives its code and text. */
async function ask(method: string, path: string, body: unknown): Promise<[unknown, string]> {
  const answer = await api.request(method, path, body)
  expect([answer.status, answer.text]).toEqual([400, answer.text])
  return [answer.body['code'], String(answer.body['message'] ?? answer.body['error'])]
}

const refused = (method: string, path: string, body: unknown) =>
  writingNothing(() => ask(method, path, body))

describe('characters that are not on one line', () => {
  const characters: Record<string, string> = {
    tab: '\t',
    'line feed': '\n',
    'carriage return': '\r',
    escape: '\u001b',
    DEL: '\u007f',
    'C1, next line': '\u0085',
    'C1, string terminator': '\u009c',
    'line separator': '\u2028',
    'paragraph separator': '\u2029',
  }
  const spoofs = { override: '\u202e', embedding: '\u202a', isolate: '\u2066' }
  type Row = [code: string | undefined, said: string, (evil: string) => object]
  const rows: Record<string, Row> = {
    subject: ['invalid_request', 'subject must', (evil) => ({ subject: evil })],
    'from, name': [
      undefined,
      'Invalid email format',
      (evil) => ({ from: `${evil} <a@acme.test>` }),
    ],
    'to, name': ['invalid_address', 'to[0]', (evil) => ({ to: [`"${evil}" <b@b.test>`] })],
    'cc, name': ['invalid_address', 'cc ', (evil) => ({ cc: `${evil} <b@b.test>` })],
    'bcc, name': ['invalid_address', 'bcc ', (evil) => ({ bcc: `${evil} <b@b.test>` })],
    'reply_to, name': [
      'invalid_address',
      'reply_to[0]',
      (evil) => ({ reply_to: [`${evil} <b@b.test>`] }),
    ],
    'header value': ['invalid_header', 'X-Own', (evil) => ({ headers: { 'X-Own': evil } })],
    'header name': ['invalid_header', 'headers', (evil) => ({ headers: { [evil]: 'x' } })],
    filename: [
      'invalid_request',
      'attachments[0].filename',
      (filename) => ({ attachments: [{ ...file, filename }] }),
    ],
    content_type: [
      'invalid_request',
      'attachments[0].content_type',
      (evil) => ({ attachments: [{ ...file, content_type: `a/${evil}` }] }),
    ],
    content_id: [
      'invalid_request',
      'attachments[0].content_id',
      (content_id) => ({ attachments: [{ ...file, content_id }] }),
    ],
  }
  it.each(Object.keys(rows))('%s', async (name) => {
    const [code, said, change] = rows[name] ?? [undefined, '', () => ({})]
    const names = /name$|id$|type$/.test(name)
    const all = Object.entries(names ? { ...characters, ...spoofs } : characters)
    await writingNothing(async () => {
      for (const [what, character] of all) {
        const changed = { ...mail, ...change(`a${character}b`) }
        const [got, text] = await ask('POST', '/v1/emails', changed)
        expect([what, got, text]).toEqual([what, code, expect.stringContaining(said)])
      }
    })
  })

  it('become spaces in a subject that is rendered', async () => {
    const all = Object.values(characters).join('x')
    const answer = await send({ subject: 'a{{ evil }}b', variables: { evil: all } })
    const shown = await api.request('GET', `/v1/emails/${answer.body['id']}`)
    expect([answer.status, shown.body['subject']]).toEqual([200, 'a x x x x x x x x b'])
  })

  it('leaves the marks of right-to-left languages in a subject', async () => {
    expect((await send({ subject: '\u2068שלום\u2069 \u200fمرحبا' })).status).toBe(200)
  })
})

describe('reserved headers', () => {
  const reserved = [
    ...['From', 'To', 'Cc', 'Bcc', 'Subject', 'Date', 'Message-ID', 'Reply-To', 'Sender'],
    ...['MIME-Version', 'Content-Type', 'Content-Transfer-Encoding', 'Content-Anything'],
    ...['DKIM-Signature', 'DomainKey-Signature', 'Received', 'Received-SPF', 'Return-Path'],
    ...[
      'Feedback-ID',
      'Resent-From',
      'Resent-To',
      'Resent-Date',
      'Resent-Bcc',
      'Resent-Message-ID',
    ],
    ...[
      'Authentication-Results',
      'ARC-Seal',
      'ARC-Message-Signature',
      'ARC-Authentication-Results',
    ],
  ]
  it.each(reserved)('%s', async (name) => {
    const askWith = (spelled: string) =>
      ask('POST', '/v1/emails', { ...mail, headers: { [spelled]: 'x@b.test' } })
    const [first = '', rest] = [name[0], name.slice(1)]
    const fullWidth = String.fromCharCode(first.charCodeAt(0) + 0xfee0)
    const odd = [`${name} `, ` ${name}`, `${name}:`, `${name}\t`, `${name}\u00a0`, `${name}\u200b`]
    const alike = [`${fullWidth}${rest}`, `${name}\0`, `${name}\u0301`]
    await writingNothing(async () => {
      for (const spelled of [name, name.toLowerCase(), name.toUpperCase()]) {
        const [code, text] = await askWith(spelled)
        expect([code, text]).toEqual(['reserved_header', expect.stringContaining(spelled)])
      }
      for (const spelled of [...odd, ...alike]) {
        const [code] = await askWith(spelled)
        expect([spelled, code]).toEqual([spelled, 'invalid_header'])
      }
    })
  })

  it.each([
    ['K as the sign of Kelvin', 'D\u212aIM-Signature'],
    ['s as a long one', '\u017fender'],
    ['i without and with dots', 'D\u0130IM-Signature'],
  ])('%s is no header name', async (_, name) => {
    const [code] = await refused('POST', '/v1/emails', { ...mail, headers: { [name]: 'x' } })
    expect(code).toBe('invalid_header')
  })

  it('lets others pass', async () => {
    const headers = {
      'List-Unsubscribe': '<https://acme.test/u?a=1>, <mailto:u@acme.test>',
      'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
      'List-Id': 'News <news.acme.test>',
      References: '<a@b.test>',
      'In-Reply-To': '<a@b.test>',
      Precedence: 'bulk',
      'X-Sender': 'shop',
      'X-Arc-Seal': '1',
    }
    expect((await send({ headers })).status).toBe(200)
  })
})

describe('=? where nothing can be encoded', () => {
  const word = '=?utf-8?Q?a=0d=0a?='
  const rows: [string, string, object][] = [
    ['List-Unsubscribe', 'invalid_header', { headers: { 'List-Unsubscribe': `<${word}>` } }],
    ['list-unsubscribe-post', 'invalid_header', { headers: { 'list-unsubscribe-post': 'ü' } }],
    ['References', 'invalid_header', { headers: { References: `<${word}>` } }],
    ['in-reply-to', 'invalid_header', { headers: { 'in-reply-to': '<ü@b.test>' } }],
    ['References', 'invalid_header', { headers: { References: `<a@b.test> ${'x'.repeat(801)}` } }],
    ['content_id', 'invalid_request', { attachments: [{ ...file, content_id: word }] }],
  ]
  it.each(rows)('%s', async (field, code, change) => {
    const got = await refused('POST', '/v1/emails', { ...mail, ...change })
    expect(got).toEqual([code, expect.stringContaining(field)])
  })

  it('elsewhere it is taken', async () => {
    const attachments = [{ ...file, filename: `${word}.txt` }]
    expect((await send({ subject: word, headers: { 'X-Own': word }, attachments })).status).toBe(
      200,
    )
  })
})

describe('half a surrogate pair', () => {
  const half = 'a\ud800b'
  const nodes = (data: object) => ({
    design: {
      ...welcomeDesign,
      nodes: welcomeDesign.nodes.map((node) =>
        node.id === 'hello' ? { ...node, data: { ...node.data, ...data } } : node,
      ),
    },
  })
  type Ask = [method: string, path: string, body: object, said: string]
  const mails: [said: string, change: object][] = [
    ['from', { from: `${half} <a@acme.test>` }],
    ['to', { to: `${half} <b@b.test>` }],
    ['cc', { cc: [`${half} <b@b.test>`] }],
    ['bcc', { bcc: [`${half} <b@b.test>`] }],
    ['reply_to', { reply_to: `${half} <b@b.test>` }],
    ['subject', { subject: half }],
    ['html', { html: half }],
    ['text', { text: half }],
    ['headers', { headers: { 'X-Own': half } }],
    ['headers', { headers: { [half]: 'x' } }],
    ['tags', { tags: { a: half } }],
    ['tags', { tags: { [half]: 'a' } }],
    ['metadata', { metadata: { a: [{ b: half }] } }],
    ['metadata', { metadata: { a: { [half]: 1 } } }],
    ['variables', { variables: { a: half } }],
    ['variables', { variables: { [half]: 1 } }],
    ['attachments[0].filename', { attachments: [{ ...file, filename: half }] }],
    ['attachments[0].content_type', { attachments: [{ ...file, content_type: half }] }],
    ['attachments[0].content_id', { attachments: [{ ...file, content_id: half }] }],
    ['attachments[0].content', { attachments: [{ ...file, content: half }] }],
    ['html', { variables: {}, html: `{{ "${half}" }}` }],
  ]
  const event = { event_name: 'seen', email: 'ada@b.test' }
  const contact = '/v1/automation/contacts/ada@b.test'
  const asks: Ask[] = [
    ...mails.map(([said, change]): Ask => ['POST', '/v1/emails', { ...mail, ...change }, said]),
    ...['name', 'alias', 'subject', 'from', 'reply_to', 'preview_text', 'html', 'text'].map(
      (field): Ask => ['POST', '/v1/templates', { name: 'T', [field]: half }, field],
    ),
    ['POST', '/v1/workflows', { name: half }, 'name'],
    ...['subject', 'html', 'text', 'from', 'reply_to', 'template_id'].map(
      (field): Ask => [
        'POST',
        '/v1/workflows',
        { name: 'W', ...nodes({ [field]: half }) },
        'design',
      ],
    ),
    ['POST', '/v1/workflows', { name: 'W', ...nodes({ variables: { a: half } }) }, 'design'],
    ['POST', '/v1/workflows', { name: 'W', ...nodes({ variables: { [half]: 1 } }) }, 'design'],
    ['POST', '/v1/automation/events', { ...event, event_name: half }, 'event_name'],
    ['POST', '/v1/automation/events', { ...event, event_id: half }, 'event_id'],
    ['POST', '/v1/automation/events', { ...event, email: `${half}@b.test` }, 'email'],
    ['POST', '/v1/automation/events', { ...event, properties: { a: half } }, 'properties'],
    ['POST', '/v1/automation/events', { ...event, contact_properties: { [half]: 1 } }, 'contact'],
    ['PATCH', contact, { properties: { a: { b: half } } }, 'properties'],
    ['PATCH', contact, { properties: { [half]: 1 } }, 'properties'],
    ['POST', '/v1/audiences', { name: half }, 'name'],
    ['POST', '/v1/suppressions', { email: `${half}@b.test` }, 'email'],
    ['POST', '/v1/domains', { name: half }, 'name'],
  ]
  it.each(asks)('%s %s %j', async (method, path, body, said) => {
    const [, text] = await refused(method, path, body)
    expect(text.toLowerCase()).toContain(said)
  })
})
