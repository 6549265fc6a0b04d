// Wrong automation events: each is refused with the name of the wrong field, and nothing is written.
import { describe, expect, it } from 'vitest'
import { createTestApi } from '../setup/api.ts'
import { tableCounts } from '../setup/tableCounts.ts'
import { uniqueName } from '../setup/unique.ts'

const api = await createTestApi()

const post = (body: unknown) => api.request('POST', '/v1/automation/events', body)
const newEmail = () => `${uniqueName('c')}@example.test`

describe('a wrong event', () => {
  const deep = (levels: number): string => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`
  const good = '"event_name":"x","email":"a@b.test"'
  const cases: [string, unknown, RegExp, string][] = [
    ['no event_name', { email: 'a@b.test' }, /^event_name (must|is required)/, 'invalid_request'],
    [
      'an empty event_name',
      { event_name: '', email: 'a@b.test' },
      /^event_name (must|is required)/,
      'invalid_request',
    ],
    [
      'a long event_name',
      { event_name: 'x'.repeat(129), email: 'a@b.test' },
      /^event_name (must|is required)/,
      'invalid_request',
    ],
    [
      'a space in event_name',
      { event_name: 'a b', email: 'a@b.test' },
      /^event_name (must|is required)/,
      'invalid_request',
    ],
    [
      'a number for event_name',
      { event_name: 1, email: 'a@b.test' },
      /^event_name (must|is required)/,
      'invalid_request',
    ],
    [
      'a reserved name',
      { event_name: 'email.opened', email: 'a@b.test' },
      /^event_name (must|is required)/,
      'reserved_event_name',
    ],
    ['no email', { event_name: 'x' }, /^email (must|is required)/, 'invalid_request'],
    [
      'a malformed email',
      { event_name: 'x', email: 'nobody' },
      /^email (must|is required)/,
      'invalid_request',
    ],
    [
      'a NUL in email',
      { event_name: 'x', email: 'a\0@b.test' },
      /^email (must|is required)/,
      'invalid_request',
    ],
    [
      'an array for properties',
      { event_name: 'x', email: 'a@b.test', properties: [] },
      /^properties (must|is required)/,
      'invalid_request',
    ],
    [
      'a NUL in a value',
      { event_name: 'x', email: 'a@b.test', properties: { a: ['\0'] } },
      /^properties (must|is required)/,
      'invalid_request',
    ],
    [
      'a NUL in a key',
      { event_name: 'x', email: 'a@b.test', properties: { 'a\0': 1 } },
      /^properties (must|is required)/,
      'invalid_request',
    ],
    [
      'half a surrogate',
      `{${good},"contact_properties":{"a":"\\ud800"}}`,
      /^contact_properties (must|is required)/,
      'invalid_request',
    ],
    [
      'a number too large',
      `{${good},"properties":{"a":1e999}}`,
      /^properties (must|is required)/,
      'invalid_request',
    ],
    [
      'deep properties',
      `{${good},"properties":${deep(65)}}`,
      /^properties (must|is required)/,
      'invalid_request',
    ],
    [
      'a depth bomb',
      `{${good},"properties":${deep(100_000)}}`,
      /^The body must not be nested deeper than 80 levels$/,
      'body_too_complex',
    ],
    [
      'large properties',
      { event_name: 'x', email: 'a@b.test', properties: { a: 'x'.repeat(262_144) } },
      /^properties (must|is required)/,
      'invalid_request',
    ],
    [
      'a text for timestamp',
      { event_name: 'x', email: 'a@b.test', timestamp: '1' },
      /^timestamp (must|is required)/,
      'invalid_request',
    ],
    [
      'a fraction for timestamp',
      { event_name: 'x', email: 'a@b.test', timestamp: 1.5 },
      /^timestamp (must|is required)/,
      'invalid_request',
    ],
    [
      'a timestamp far ahead',
      { event_name: 'x', email: 'a@b.test', timestamp: Date.now() + 86_500_000 },
      /^timestamp (must|is required)/,
      'invalid_request',
    ],
    [
      'a text for historical',
      { event_name: 'x', email: 'a@b.test', historical: 'true' },
      /^historical (must|is required)/,
      'invalid_request',
    ],
    [
      'a long event_id',
      { event_name: 'x', email: 'a@b.test', event_id: 'x'.repeat(129) },
      /^event_id (must|is required)/,
      'invalid_request',
    ],
    [
      'a NUL in event_id',
      { event_name: 'x', email: 'a@b.test', event_id: '\0' },
      /^event_id (must|is required)/,
      'invalid_request',
    ],
    ['malformed JSON', '{"event_name"', /^Invalid JSON payload$/, 'invalid_json'],
    ['an array', [], /./, 'invalid_request'],
  ]

  it.each(cases)('with %s is a 400 and writes nothing', async (_name, body, error, code) => {
    const before = await tableCounts(api)
    const answer = await api.request('POST', '/v1/automation/events', body)
    expect(answer).toMatchObject({
      status: 400,
      body: { error: expect.stringMatching(error), code },
    })
    expect(await tableCounts(api)).toEqual(before)
  })

  it('whose contact_properties outgrow the contact is a 400 and writes nothing', async () => {
    const email = newEmail()
    const half = 'x'.repeat(140_000)
    expect((await post({ event_name: 'x', email, contact_properties: { a: half } })).status).toBe(
      202,
    )
    const before = await tableCounts(api)
    const answer = await post({ event_name: 'x', email, contact_properties: { b: half } })
    expect(answer.status).toBe(400)
    expect(await tableCounts(api)).toEqual(before)
    expect((await api.request('GET', `/v1/automation/contacts/${email}`)).body).toMatchObject({
      event_count: 1,
    })
  })

  it('over 1 MiB is a 413', async () => {
    const answer = await post({ event_name: 'x', email: 'a@b.test', pad: 'x'.repeat(1_048_576) })
    expect(answer.status).toBe(413)
  })
})
