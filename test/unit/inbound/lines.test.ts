// The lines of a message are looked at chunk by chunk: whatever its chunks, as by a reader that takes byte by byte.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { watchLines } from '../../../inbound/submission/lines.ts'

/** The first fault, by the rules alone. */
function faultOf(bytes: readonly number[]): string | null {
  let column = 0
  for (const [i, byte] of bytes.entries()) {
    const isAfterCr = bytes[i - 1] === 0x0d
    if ((byte === 0x0a) !== isAfterCr) return 'half_line_end'
    if (byte === 0) return 'nul'
    if (byte === 0x0a) column = 0
    else if (byte !== 0x0d) column += 1
    if (column > 998) return 'long_line'
  }
  return bytes.at(-1) === 0x0d ? 'half_line_end' : null
}

const piece = fc.oneof(
  { weight: 6, arbitrary: fc.constant([0x0d, 0x0a]) },
  { weight: 6, arbitrary: fc.array(fc.constantFrom(0x20, 0x41, 0xff), { maxLength: 4 }) },
  { weight: 3, arbitrary: fc.integer({ min: 990, max: 999 }).map((n) => Array(n).fill(0x61)) },
  { weight: 2, arbitrary: fc.constantFrom([0x09], [0x0b], [0x01], [0x09, 0x41]) },
  { weight: 1, arbitrary: fc.constantFrom([0x0d], [0x0a], [0], [0x0d, 0x0d, 0x0a]) },
)

test('the same fault is found in whatever chunks a message comes', () => {
  const message = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.flat())
  const cuts = fc.array(fc.nat(2_000), { maxLength: 5 })
  fc.assert(
    fc.property(message, cuts, (bytes, places) => {
      const lines = watchLines()
      const ends = [...places.filter((at) => at < bytes.length).sort((a, b) => a - b), bytes.length]
      let from = 0
      for (const end of ends) {
        lines.add(Buffer.from(bytes.slice(from, end)))
        from = end
      }
      expect(lines.fault()).toBe(faultOf(bytes))
    }),
    { numRuns: 2_000 },
  )
})

test.each([
  { line: '998 bytes is taken', bytes: 998, fault: null },
  { line: '999 bytes is refused', bytes: 999, fault: 'long_line' },
])('a line of $line', ({ bytes, fault }) => {
  for (const end of ['', '\r\n']) {
    const lines = watchLines()
    lines.add(Buffer.from(`${'x'.repeat(bytes)}${end}`))
    expect(lines.fault()).toBe(fault)
  }
})
