// What is kept of a large text while it arrives takes about the memory that it needs.
import { expect, it } from 'vitest'
import { GrowingBytes } from '../../../api/http/bodies/growing.ts'
import { limits } from '../../../rules/limits.ts'

it('takes no more memory for a small text than it has bytes', () => {
  const bytes = new GrowingBytes(limits.htmlBytesMax)
  bytes.add(Buffer.from('a'))
  expect(bytes.bytes().buffer.byteLength).toBe(1)
})

it('keeps the bytes between two places, few and many, and counts those over its limit', () => {
  const bytes = new GrowingBytes(250)
  const piece = Buffer.from(Array.from({ length: 200 }, (_, i) => i))
  bytes.add(piece, 3, 6)
  bytes.add(piece, 6, 6)
  bytes.add(piece)
  expect([...bytes.bytes()]).toEqual([3, 4, 5, ...piece])
  bytes.add(piece, 10, 60)
  expect([bytes.size, bytes.bytes().length]).toEqual([253, 203])
})
