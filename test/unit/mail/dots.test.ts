// Dot-stuffing: the bytes of RFC 5321 section 4.5.2, in few parts whatever the message holds.
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { dotStuffed } from '../../../mail/smtp/dots.ts'

/** What the section says, line by line. */
function byLines(message: string): string {
  const stuffed = message.replace(/(^|\r\n)\./g, '$1..')
  return stuffed.endsWith('\r\n') ? stuffed : `${stuffed}\r\n`
}

test('are the bytes that the lines ask for', async () => {
  const piece = fc.oneof(
    fc.constantFrom('.', '\r\n', '\r\n.', '..', 'a'),
    fc.integer({ min: 60_000, max: 70_000 }).map((length) => 'x'.repeat(length)),
  )
  await fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
      const message = pieces.join('')
      const stuffed = Buffer.concat(dotStuffed(Buffer.from(message, 'latin1')))
      expect(stuffed.equals(Buffer.from(byLines(message), 'latin1'))).toBe(true)
    }),
    { numRuns: 500 },
  )
})

test('a message of dots is few parts, and a large one without is its own only part', () => {
  const dots = Buffer.from('.\r\n'.repeat(500_000))
  const parts = dotStuffed(dots)
  expect(parts.length).toBeLessThan(50)
  expect(Buffer.concat(parts).length).toBe(2_000_000)
  const large = Buffer.from(`${'x'.repeat(100_000)}\r\n`)
  expect(dotStuffed(large)[0]).toBe(large)
})
