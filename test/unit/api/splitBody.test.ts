// A large body that is taken while it arrives gives what JSON.parse gives for the whole, wherever its pieces end.
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../../rules/json.ts'
import {
  comparable,
  expected,
  largeBase64Of,
  largeTextOf,
  split,
  units,
  whole,
} from '../../setup/splitBodies.ts'

const everywhere = (json: string) => Array.from({ length: Buffer.byteLength(json) }, (_, i) => i)

/** JSON text of a text, with some of its characters as escapes. */
const escaped = (text: string, which: readonly boolean[]) =>
  `"${Array.from({ length: text.length }, (_, i) => {
    const unit = text.charCodeAt(i)
    const code = unit.toString(16).padStart(4, '0')
    if (which[i % which.length] === true) return `\\u${i % 2 ? code.toUpperCase() : code}`
    return JSON.stringify(text[i] ?? '').slice(1, -1)
  }).join('')}"`

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
