// What is kept of a large text while it arrives takes about the memory that it needs.
import { expect, it } from 'vitest'
import { GrowingBytes } from '../../../api/http/bodies/growing.ts'
import { limits } from '../../../rules/limits.ts'

it('takes no more memory for a small text than it has bytes', () => {
  const bytes = new GrowingBytes(limits.htmlBytesMax)
  bytes.add(Buffer.from('a'))
  expect(bytes.bytes().buffer.byteLength).toBe(1)
})
