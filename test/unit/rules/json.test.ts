// JSON data: paths, and faults that Postgres could not store.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isEventName, isReservedEventName } from '../../../rules/eventNames.ts'
import { findJsonFault, utf8Bytes } from '../../../rules/jsonFault.ts'
import { limits } from '../../../rules/limits.ts'
import { jsonEquals, parsePath, readPath, setOwn } from '../../../rules/paths.ts'

function nested(depth: number): unknown {
  let value: unknown = 1
  for (let i = 0; i < depth; i++) value = i % 2 ? [value] : { a: value }
  return value
}

describe('findJsonFault', () => {
  test.each<[string, unknown, string]>([
    ['a NUL', { a: ['x\0'] }, 'unstorable_text'],
    ['a NUL in a key', { 'a\0': 1 }, 'unstorable_text'],
    ['half a pair', ['\ud800'], 'unstorable_text'],
    ['half a pair in a key', { '\udc00x': 1 }, 'unstorable_text'],
    ['infinity', JSON.parse('{"a":1e999}'), 'unstorable_number'],
    ['undefined', { a: undefined }, 'not_json'],
    ['a function', [() => 1], 'not_json'],
    ['one level too many', nested(limits.jsonDepthMax + 1), 'too_deep'],
    ['a hundred thousand levels', nested(100_000), 'too_deep'],
  ])('%s', (_name, value, code) => {
    expect(findJsonFault(value)?.code).toBe(code)
  })
  test('other JSON has no fault', () => {
    expect(findJsonFault(nested(limits.jsonDepthMax))).toBeNull()
    expect(findJsonFault({ 'ключ 🙂': ['\u2028', '\u0001', null, -0, 1e300] })).toBeNull()
  })
  test('counts bytes exactly as JSON.stringify writes them', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        // Half surrogate pairs are another fault.
        fc.pre(findJsonFault(value) === null)
        const bytes = Buffer.byteLength(JSON.stringify(value))
        expect(findJsonFault(value, bytes)).toBeNull()
        expect(findJsonFault(value, bytes - 1)?.code).toBe('too_large')
      }),
    )
  })
  test('utf8Bytes agrees with Buffer', () => {
    const units = fc.array(fc.oneof(fc.nat(0xffff), fc.integer({ min: 0xd7f0, max: 0xe010 })))
    fc.assert(
      fc.property(units, (list) => {
        const text = String.fromCharCode(...list).replace(/\p{Cs}/gu, '?')
        expect(utf8Bytes(text)).toBe(Buffer.byteLength(text))
      }),
    )
  })
})

describe('paths', () => {
  test('parse', () => {
    expect(parsePath('a.b[][].c')).toEqual([
      { name: 'a', each: 0 },
      { name: 'b', each: 2 },
      { name: 'c', each: 0 },
    ])
    for (const text of ['', '.', 'a.', '.a', 'a..b', '[]', 'a[0]', 'a[', 'a[]b', 'x'.repeat(256)]) {
      expect([text, parsePath(text)]).toEqual([text, null])
    }
  })
  test('read every element', () => {
    const root = { a: [{ b: 1 }, {}, { b: [2, 3] }, 7] }
    expect(readPath(root, parsePath('a[].b') ?? [])).toEqual([1, undefined, [2, 3], undefined])
    expect(readPath(root, parsePath('a[].b[]') ?? [])).toEqual([
      undefined,
      undefined,
      2,
      3,
      undefined,
    ])
  })
  test('setOwn never reaches a prototype', () => {
    const target = {}
    setOwn(target, '__proto__', { x: 1 })
    expect(Object.getPrototypeOf(target)).toBe(Object.prototype)
    expect(JSON.stringify(target)).toBe('{"__proto__":{"x":1}}')
  })
  test('jsonEquals is equality of JSON', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (a, b) => {
        const copy = JSON.parse(JSON.stringify(a))
        expect(jsonEquals(copy, JSON.parse(JSON.stringify(a)))).toBe(true)
        expect(jsonEquals({ a: copy, b: 1 }, { b: 1, a: copy })).toBe(true)
        const other = JSON.parse(JSON.stringify(b))
        if (jsonEquals(copy, other)) expect(copy).toEqual(other)
        else expect(copy).not.toEqual(other)
      }),
    )
    expect(jsonEquals({ a: 1 }, { b: 1 })).toBe(false)
    expect(jsonEquals([], {})).toBe(false)
    expect(jsonEquals([null], [])).toBe(false)
  })
})

test('event names', () => {
  for (const name of ['a', 'order.paid', 'a:b/c-d_e.9', 'x'.repeat(128)]) {
    expect(isEventName(name)).toBe(true)
  }
  for (const name of ['', 'a b', 'é', 'a\n', 'x'.repeat(129), 7, null]) {
    expect(isEventName(name)).toBe(false)
  }
  for (const name of [
    'email.opened',
    'contact.x',
    'audience.joined',
    'workflow.',
    'execution.done',
  ]) {
    expect(isReservedEventName(name)).toBe(true)
  }
  for (const name of ['emails.opened', 'email', 'Email.opened', 'my.email.x']) {
    expect(isReservedEventName(name)).toBe(false)
  }
})
