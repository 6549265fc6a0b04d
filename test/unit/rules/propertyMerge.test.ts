// Operation 17's merge: deletion by null, objects merged, arrays replaced, prototypes never touched.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../../rules/json.ts'
import { mergeProperties } from '../../../rules/properties/merge.ts'

const json = (text: string): JsonObject => JSON.parse(text)

describe('mergeProperties', () => {
  test.each<[string, string, string, string]>([
    ['absent keys stay', '{"a":1}', '{"b":2}', '{"a":1,"b":2}'],
    ['a value replaces', '{"a":1}', '{"a":"x"}', '{"a":"x"}'],
    ['null deletes', '{"a":1,"b":2}', '{"a":null}', '{"b":2}'],
    ['null on an absent key', '{"a":1}', '{"b":null}', '{"a":1}'],
    ['objects merge', '{"a":{"b":1}}', '{"a":{"c":2}}', '{"a":{"b":1,"c":2}}'],
    [
      'null deletes at depth',
      '{"a":{"b":{"c":1,"d":2}}}',
      '{"a":{"b":{"c":null}}}',
      '{"a":{"b":{"d":2}}}',
    ],
    ['the last nested key leaves {}', '{"a":{"b":1}}', '{"a":{"b":null}}', '{"a":{}}'],
    ['{} on an absent key', '{}', '{"a":{}}', '{"a":{}}'],
    ['{} on an object', '{"a":{"b":1}}', '{"a":{}}', '{"a":{"b":1}}'],
    ['{} on a scalar', '{"a":1}', '{"a":{}}', '{"a":{}}'],
    ['an object on a scalar', '{"a":1}', '{"a":{"b":1}}', '{"a":{"b":1}}'],
    ['an object on an array', '{"a":[1]}', '{"a":{"b":1}}', '{"a":{"b":1}}'],
    ['a scalar on an object', '{"a":{"b":1}}', '{"a":0}', '{"a":0}'],
    ['arrays are replaced', '{"a":[1,2,3]}', '{"a":[4]}', '{"a":[4]}'],
    ['an array on an object', '{"a":{"b":1}}', '{"a":[]}', '{"a":[]}'],
    ['an array set to null', '{"a":[1],"b":1}', '{"a":null}', '{"b":1}'],
    ['nulls in arrays stay', '{}', '{"a":[null,{"b":null}]}', '{"a":[null,{"b":null}]}'],
    ['no null is stored below a new key', '{}', '{"a":{"b":null,"c":1}}', '{"a":{"c":1}}'],
    ['only nulls below a new key', '{}', '{"a":{"b":null}}', '{"a":{}}'],
    ['__proto__ is a key', '{}', '{"__proto__":{"x":1}}', '{"__proto__":{"x":1}}'],
    [
      '__proto__ merges',
      '{"__proto__":{"x":1}}',
      '{"__proto__":{"y":2}}',
      '{"__proto__":{"x":1,"y":2}}',
    ],
    ['__proto__ is kept', '{"__proto__":1}', '{"a":1}', '{"__proto__":1,"a":1}'],
    ['__proto__ is deleted', '{"__proto__":1,"a":1}', '{"__proto__":null}', '{"a":1}'],
    [
      'constructor is a key',
      '{}',
      '{"constructor":{"prototype":{"x":1}}}',
      '{"constructor":{"prototype":{"x":1}}}',
    ],
    ['toString is absent', '{}', '{"toString":null,"valueOf":{"a":1}}', '{"valueOf":{"a":1}}'],
  ])('%s', (_name, stored, patch, expected) => {
    expect(JSON.stringify(mergeProperties(json(stored), json(patch)))).toBe(expected)
    expect(Object.hasOwn(Object.prototype, 'x')).toBe(false)
  })

  test('returns the same object if nothing changed', () => {
    const stored = { a: 1, b: { c: [1, { d: 2 }] } }
    expect(mergeProperties(stored, {})).toBe(stored)
    expect(mergeProperties(stored, { a: 1, z: null, b: { c: [1, { d: 2 }], y: null } })).toBe(
      stored,
    )
    expect(mergeProperties(stored, { a: 2 })).not.toBe(stored)
  })

  const key = fc.constantFrom('a', 'b', '__proto__', 'constructor', 'toString')
  const { object } = fc.letrec<{ object: JsonObject; value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      fc.constantFrom(null, 1, 'x', true),
      fc.array(fc.constantFrom(null, 1)),
      tie('object'),
    ),
    object: fc
      .array(fc.tuple(key, tie('value')))
      .map((pairs) =>
        json(
          `{${pairs
            .map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`)
            .join(',')}}`,
        ),
      ),
  }))

  test('merging twice is the same as merging once, and the arguments are not changed', () => {
    fc.assert(
      fc.property(object, object, (first, patch) => {
        const stored = mergeProperties({}, first)
        const before = JSON.stringify([stored, patch])
        const once = mergeProperties(stored, patch)
        expect(JSON.stringify([stored, patch])).toBe(before)
        expect(mergeProperties(once, patch)).toBe(once)
        expect(Object.getPrototypeOf(once)).toBe(Object.prototype)
      }),
    )
  })
  test('no null is ever stored outside arrays', () => {
    const holdsNull = (value: unknown): boolean =>
      value === null ||
      (typeof value === 'object' && !Array.isArray(value) && Object.values(value).some(holdsNull))
    fc.assert(
      fc.property(object, object, (a, b) => {
        expect(holdsNull(mergeProperties(mergeProperties({}, a), b))).toBe(false)
      }),
    )
  })
})
