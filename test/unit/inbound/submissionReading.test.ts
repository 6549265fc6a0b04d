// Reading submitted messages: values of any length cost what their length is, and those too long are refused.
import { describe, expect, test } from 'vitest'
import { readFrom, readList } from '../../../inbound/submission/addresses.ts'
import { readMessage } from '../../../inbound/submission/message.ts'
import { expectLinear } from '../../setup/growth.ts'
import { messageOf } from '../../setup/messages.ts'

const read = (headers: Record<string, string>) =>
  readMessage(Buffer.from(messageOf(headers)), ['ada@example.test'], new Date())
/** A value on lines that a message may have. */
const folded = (piece: string, chars: number) =>
  `${piece.repeat(Math.ceil(60 / piece.length))}\r\n `.repeat(Math.ceil(chars / 60))

describe('a hostile From', () => {
  test('costs what its length is', async () => {
    await expectLinear((share) => readFrom(`a${' '.repeat(80_000 * share)}(`))
  })
  test('is refused when it is too long, and read when it is not', () => {
    expect(readFrom(`a${' '.repeat(1_990)}<a@b.test>`)).toBeNull()
    for (const from of ['Ada L <a@b.test>', '"Ada L" <a@b.test>', '"Ada L"<a@b.test>'])
      expect(readFrom(from)).toMatchObject({ name: 'Ada L', address: 'a@b.test' })
  })
})

test.each(['a@b.test,', 'a:', '=?utf-8?b?YQ==?= <a@b.test>, '])(
  'a list of %j costs what its length is',
  {
    timeout: 90_000,
  },
  async (piece) => {
    await expectLinear((share) => readList([piece.repeat((64_000 * share) / piece.length)]))
  },
)

test.each([
  ['To', 65_536],
  ['Subject', 65_536],
  ['X-Dripline-Options', 131_072],
])('%s is refused when it is too long', (name, most) => {
  const text = new RegExp(`${name.toLowerCase()} must not exceed ${most} characters`)
  expect(() => read({ [name]: folded('=?utf-8?q?a?= ', most + 1_000) })).toThrow(text)
})

test('a subject of as many characters as it may have is read, each a word of its own', () => {
  const words = Array.from({ length: 998 }, () => '=?utf-8?b?8J+YgA==?=').join('\r\n ')
  expect(() => read({ Subject: words })).toThrow(/subject must not exceed 998 characters, has 1996/)
  const half = Array.from({ length: 499 }, () => '=?utf-8?b?8J+YgA==?=').join('\r\n ')
  expect(read({ Subject: half }).subject).toHaveLength(998)
})
