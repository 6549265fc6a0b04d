// UTF-8 that is checked in pieces is checked as the whole, wherever the pieces end.
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createUtf8Check } from '../../../api/http/bodies/utf8.ts'

const cuts = fc.array(fc.nat(), { maxLength: 12 })

describe('the check of UTF-8 in pieces', () => {
  const check = (bytes: Buffer, ends: readonly number[]) => {
    const utf8 = createUtf8Check()
    let from = 0
    for (const end of [...ends, bytes.length]) {
      if (!utf8.push(bytes.subarray(from, end))) return false
      from = end
    }
    return utf8.end()
  }
  const isUtf8 = (bytes: Buffer) => Buffer.from(bytes.toString()).equals(bytes)

  it('says what the check of the whole says', () => {
    const some = fc.array(
      fc.oneof(
        fc.constantFrom('a', 'é', '€', '😀', '\uFFFD').map((letter) => Buffer.from(letter)),
        fc
          .constantFrom(
            [0x80],
            [0xc3],
            [0xe2, 0x82],
            [0xed, 0xa0, 0x80],
            [0xf5],
            [0xf0, 0x9f],
            [0xc0, 0x80],
            [0xff],
          )
          .map((list) => Buffer.from(list)),
      ),
      { maxLength: 8 },
    )
    void fc.assert(
      fc.property(some, cuts, (parts, places) => {
        const bytes = Buffer.concat(parts)
        const ends = places.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b)
        expect(check(bytes, ends)).toBe(isUtf8(bytes))
      }),
      { numRuns: 3_000 },
    )
  })
})
