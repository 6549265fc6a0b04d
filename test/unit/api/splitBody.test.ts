// A large body that is taken while it arrives gives what JSON.parse gives for the whole, wherever its pieces end.
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { emailLargeFields } from '../../../api/emails/largeFields.ts'
import { LargeBase64 } from '../../../api/http/bodies/largeBase64.ts'
import { LargeText } from '../../../api/http/bodies/largeText.ts'
import { Splitter } from '../../../api/http/bodies/splitter.ts'
import { isJsonObject, type JsonObject } from '../../../rules/json.ts'
import { isStorableText } from '../../../rules/jsonFault.ts'

/** Reads JSON text in pieces that end at the given places. @throws ApiError */
function split(json: string | Buffer, cuts: readonly number[]): unknown {
  const bytes = Buffer.from(json)
  const splitter = new Splitter(emailLargeFields, bytes.length)
  const ends = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b)
  let from = 0
  for (const end of [...ends, bytes.length]) {
    splitter.push(bytes.subarray(from, end))
    from = end
  }
  return splitter.done()
}

const everywhere = (json: string) => Array.from({ length: Buffer.byteLength(json) }, (_, i) => i)

/** What `split` gives for a body, made from what JSON.parse gives for it. */
function expected(body: unknown): unknown {
  if (!isJsonObject(body)) return body
  const all: Record<string, unknown> = { ...body }
  for (const field of emailLargeFields.texts) {
    const value = body[field]
    if (typeof value !== 'string' || value === '') continue
    all[field] = largeTextOf(value)
  }
  const { attachments } = body
  if (!Array.isArray(attachments)) return all
  all['attachments'] = attachments.map((item) => {
    if (!isJsonObject(item) || typeof item['content'] !== 'string') return item
    return item['content'] === '' ? item : { ...item, content: largeBase64Of(item['content']) }
  })
  return all
}

function largeTextOf(text: string): LargeText {
  const bytes = Buffer.from(text)
  return new LargeText(bytes, bytes.length, isStorableText(text))
}

function largeBase64Of(text: string): LargeBase64 {
  // UTF-8 has no half of a pair; the mark in its place is as strange.
  const strange = /[^A-Za-z0-9+/=_\s-]/u.exec(text.replace(/\p{Cs}/gu, '\uFFFD'))?.[0]
  // Nothing is decoded once a character is strange: such an attachment is refused.
  const content = strange === undefined ? Buffer.from(text, 'base64') : Buffer.alloc(0)
  return new LargeBase64(content, Buffer.byteLength(text, 'base64'), strange)
}

/**
 * The same without the content of attachments that are refused anyway, and with a text that came twice as it would be
 * if it had come once.
 */
function comparable(body: unknown): unknown {
  if (!isJsonObject(body)) return body
  for (const field of emailLargeFields.texts) {
    const value = Object.hasOwn(body, field) ? body[field] : undefined
    if (typeof value === 'string' && value !== '') {
      Object.assign(body, { [field]: largeTextOf(value) })
    }
  }
  const list = Object.hasOwn(body, 'attachments') ? body['attachments'] : undefined
  if (!Array.isArray(list)) return body
  for (const item of list as unknown as JsonObject[]) {
    const content: unknown = isJsonObject(item) ? item['content'] : undefined
    if (!(content instanceof LargeBase64) || content.strange === undefined) continue
    const { byteLength, strange } = content
    Object.assign(item, { content: new LargeBase64(Buffer.alloc(0), byteLength, strange) })
  }
  return body
}

/** JSON text of a text, with some of its characters as escapes. */
const escaped = (text: string, which: readonly boolean[]) =>
  `"${Array.from({ length: text.length }, (_, i) => {
    const unit = text.charCodeAt(i)
    const code = unit.toString(16).padStart(4, '0')
    if (which[i % which.length] === true) return `\\u${i % 2 ? code.toUpperCase() : code}`
    return JSON.stringify(text[i] ?? '').slice(1, -1)
  }).join('')}"`

/** Halves of pairs that stand in a text as they are cannot be sent: UTF-8 has none. */
const whole = (json: string) => Buffer.from(json).toString()

const units = fc.string({
  unit: fc.constantFrom(
    'a',
    '"',
    '\\',
    '/',
    '\n',
    '\u0000',
    'é',
    '€',
    '😀',
    '\ud83d',
    '\ude00',
    '\u2028',
    '=',
    ' ',
  ),
  maxLength: 30,
})
const base64 = fc.oneof(
  fc.base64String({ maxLength: 60 }),
  fc.string({
    unit: fc.constantFrom('a', 'B', '9', '+', '_', '-', '=', ' ', '\r', '\n', '\u00a0', '%', 'é'),
    maxLength: 20,
  }),
)
const flags = fc.array(fc.boolean(), { minLength: 1, maxLength: 7 })
const text = fc
  .tuple(fc.oneof(units, base64), flags)
  .map(([value, which]) => whole(escaped(value, which)))
const other = fc.json({ maxDepth: 3 }).map(whole)
const attachment = fc
  .array(
    fc.tuple(
      fc.constantFrom('content', 'filename', 'html', '\\u0063ontent', '__proto__'),
      fc.oneof(text, other),
    ),
    { maxLength: 3 },
  )
  .map((pairs) => `{${pairs.map(([key, value]) => `"${key}": ${value}`).join(' , ')}}`)
const attachments = fc
  .array(fc.oneof({ weight: 4, arbitrary: attachment }, text, other), { maxLength: 3 })
  .map((items) => `[${items.join(',')}]`)
const key = fc.constantFrom(
  'html',
  'text',
  'attachments',
  'metadata',
  '\\u0068tml',
  'to',
  '__proto__',
  'constructor',
  'at\\u0074achments',
)
const body = fc
  .array(
    fc.tuple(
      key,
      fc.oneof(
        { weight: 3, arbitrary: text },
        { weight: 3, arbitrary: attachments },
        attachment,
        other,
      ),
    ),
    { maxLength: 6 },
  )
  .map((pairs) => `{ ${pairs.map(([name, value]) => `"${name}":${value}`).join(',\n')}}`)
const cuts = fc.array(fc.nat(), { maxLength: 12 })

describe('a body in pieces', () => {
  it('gives what JSON.parse gives, wherever the pieces end', () => {
    void fc.assert(
      fc.property(
        fc.oneof({ weight: 8, arbitrary: body }, attachments, other),
        cuts,
        (json, places) => {
          expect(comparable(split(json, places))).toEqual(expected(JSON.parse(json)))
        },
      ),
      { numRuns: 1_500 },
    )
  })

  it('refuses what JSON.parse refuses', () => {
    const damage = fc.tuple(
      body,
      fc.nat(),
      fc.constantFrom('', '"', '\\', '}', '\n', ',', 'x', '\u0001', '\\x', '\\u12'),
    )
    void fc.assert(
      fc.property(damage, cuts, ([json, at, more], places) => {
        const place = at % (json.length + 1)
        const broken = whole(json.slice(0, place) + more + json.slice(place + 1))
        let parsed: unknown
        let isJson = true
        try {
          parsed = JSON.parse(broken)
        } catch {
          isJson = false
        }
        if (isJson) expect(comparable(split(broken, places))).toEqual(expected(parsed))
        else expect(() => split(broken, places)).toThrow('Invalid JSON payload')
      }),
      { numRuns: 1_500 },
    )
  })

  it('a long text in long pieces: what stands at their borders, and damage in one of them', () => {
    // Pieces of 4 KiB and more are read by another way than short ones.
    const parts = fc.array(fc.oneof(units, fc.constant('x'.repeat(50))), {
      minLength: 1,
      maxLength: 8,
    })
    const damage = fc.constantFrom('', '', '"', '\\', '\n', '\\x', '\\u12', '\\ud83d', '\\')
    void fc.assert(
      fc.property(parts, fc.nat(40), damage, fc.nat(), (given, shift, more, at) => {
        // The pattern is as long as a prime number, so that each place of it is at a border some time.
        const pattern = JSON.stringify(given.join('')).slice(1, -1)
        const long = pattern.padEnd(401, 'z').repeat(Math.ceil(30_000 / 401))
        const place = at % long.length
        const json = whole(
          `{"html":"${long.slice(0, place)}${more}${long.slice(place)}","text":"t"}`,
        )
        const places = [1, 2, 3, 4, 5, 6].map((i) => shift + i * 4_500)
        let parsed: unknown
        try {
          parsed = JSON.parse(json)
        } catch {
          expect(() => split(json, places)).toThrow('Invalid JSON payload')
          return
        }
        expect(comparable(split(json, places))).toEqual(expected(parsed))
      }),
      { numRuns: 150 },
    )
  })

  it('half of a pair at the end of a piece, before a long piece without escapes', () => {
    const begin = `{"html":"${'x'.repeat(5_000)}\\ud83d`
    const json = `${begin}${'y'.repeat(9_000)}"}`
    const read = comparable(split(json, [begin.length, begin.length + 4_500]))
    expect(read).toEqual(expected(JSON.parse(json)))
  })

  it.each([
    '{"html":"\\ud83d\\ude00 😀 é € \\u0000 \\ud83d x \\ude00 \\ud83d\\ud83d\\ude00\\n\\"\\\\\\/\\b\\f\\r\\t"}',
    '\uFEFF {"text" : "a", "text": 5}',
    '{"html":5,"html":"a","html":""}',
    '{"attachments":[{"content":"aGV\\nsbG8="},{"content":""},{"content":"a%"}],"attachments":[{"content":"aGk="}]}',
    '"html"',
    '[{"html":"a"}]',
    '{"a":{"html":"b"},"b":[{"content":"c"}]}',
  ])('cut at every byte: %s', (json) => {
    const want = expected(JSON.parse(json.replace(/^\uFEFF/, '')))
    expect(comparable(split(json, everywhere(json)))).toEqual(want)
    for (const cut of everywhere(json)) expect(comparable(split(json, [cut]))).toEqual(want)
  })

  it('takes the first text of a field, and leaves the others where they are', () => {
    const count = 25_000
    const json = `{${'"html":"=a#0",'.repeat(count)}"text":"#1","attachments":[${'{"content":"AAAA"},'.repeat(count)}1]}`
    const { html, text, attachments } = split(json, []) as Record<string, unknown>
    expect(html).toBe('=a#0')
    expect(text).toEqual(largeTextOf('#1'))
    const contents = (attachments as JsonObject[]).map((item) => item['content'])
    expect(contents.slice(0, 100)).toEqual(Array(100).fill(largeBase64Of('AAAA')))
    expect(new Set(contents.slice(100))).toEqual(new Set(['AAAA', undefined]))
  })
})
