// A long text of a large body, of which pieces of 4 KiB and more are read by another way than short ones.
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { comparable, expected, split, units, whole } from '../../setup/splitBodies.ts'

describe('a long text in long pieces', () => {
  it('what stands at their borders, and damage in one of them', () => {
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
})
