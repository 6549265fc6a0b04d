// Reading submitted messages: values of any length cost what their length is, and those too long are refused.
import { generateKeyPairSync } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readFrom, readList } from '../../../inbound/submission/addresses.ts'
import { readMessage } from '../../../inbound/submission/message.ts'
import { signCarried } from '../../../mail/carried/sign.ts'
import { cpuOf, expectLinear } from '../../setup/growth.ts'
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
    await expectLinear((share) => readList(piece.repeat((64_000 * share) / piece.length)))
  },
)

test('one address by itself is read as the parser of lists reads it', () => {
  const chars = fc.string({ unit: fc.constantFrom(...'aZ0._-+xn@'), minLength: 1, maxLength: 12 })
  const addresses = fc.oneof(
    fc.tuple(chars, chars).map(([local, domain]) => `${local}@${domain}.test`),
    fc.constantFrom('a@b.test', 'A+b@B.Test', '.a@b.test', 'a@xn--mnchen-3ya.test', 'a@b.1'),
  )
  fc.assert(
    fc.property(addresses, (address) => {
      // With a space behind it is none by itself.
      expect(readList(address)).toEqual(readList(`${address} `))
    }),
    { numRuns: 3_000 },
  )
})

test.each([
  ['To', 65_536],
  ['Subject', 65_536],
  ['X-Dripline-Options', 131_072],
])('%s is refused when it is too long', async (name, most) => {
  const text = new RegExp(`${name.toLowerCase()} must not exceed ${most} characters`)
  await expect(read({ [name]: folded('=?utf-8?q?a?= ', most + 1_000) })).rejects.toThrow(text)
})

test('a subject of as many characters as it may have is read, each a word of its own', async () => {
  const words = Array.from({ length: 998 }, () => '=?utf-8?b?8J+YgA==?=').join('\r\n ')
  await expect(read({ Subject: words })).rejects.toThrow(
    /subject must not exceed 998 characters, has 1996/,
  )
  const half = Array.from({ length: 499 }, () => '=?utf-8?b?8J+YgA==?=').join('\r\n ')
  expect((await read({ Subject: half })).subject).toHaveLength(998)
})

/** Two parts of so many bytes in base64, each a repeated piece. */
function twoParts(piece: string, bytes: number): Buffer {
  const repeated = piece.repeat(Math.floor(54 / piece.length))
  const line = `${Buffer.from(repeated, 'latin1').toString('base64')}\r\n`
  const part = (type: string) =>
    `--b\r\nContent-Type: text/${type}\r\nContent-Transfer-Encoding: base64\r\n\r\n${line.repeat(bytes / 54)}`
  const head = messageOf({ 'Content-Type': 'multipart/alternative; boundary=b' }).split(
    '\r\n\r\n',
  )[0]
  return Buffer.from(`${head}\r\n\r\n${part('html')}${part('plain')}--b--\r\n`)
}

test.each(['a\r\n', '\0\r\n'])(
  'a large message of lines %j costs what one of few lines costs',
  async (piece) => {
    const readWhole = (of: string) =>
      cpuOf(() => readMessage(twoParts(of, 8_000_000), ['ada@example.test'], new Date()))
    await readWhole('plain text ')
    const plain = await readWhole('plain text ')
    // To replace each line end and NUL by itself took thirty times as long.
    expect(await readWhole(piece)).toBeLessThan(Math.max(plain, 50) * 8)
  },
)

test('other work has its turn while a large message is read', async () => {
  let turns = 0
  const counting = setInterval(() => turns++, 0)
  await readMessage(twoParts('a\r\n', 4_000_000), ['ada@example.test'], new Date())
  clearInterval(counting)
  expect(turns).toBeGreaterThan(3)
})

describe('a header of as much as one may have', () => {
  const from = 'From: a@sender.test\r\n'
  const message = (fields: string) => Buffer.from(`${from}Subject: Full\r\n${fields}\r\nHello\r\n`)
  const short = (count: number) => message('X-A: b\r\n'.repeat(count - 2))
  const long = (bytes: number) => {
    const line = `X-A: ${'b'.repeat(900)}\r\n`
    const fields = line.repeat(Math.floor((bytes - 100) / line.length))
    const rest = bytes - message(fields).indexOf('\r\n\r\n') - 4
    return message(`${fields}X-B: ${'b'.repeat(rest - 'X-B: \r\n'.length)}\r\n`)
  }

  test.each([
    ['fields', short(1_000)],
    ['bytes', long(256 * 1024)],
  ])('can be sent with the fields that it lacks: %s', async (_, bytes) => {
    const { sourceWith } = await readMessage(bytes, ['ada@example.test'], new Date())
    const source = sourceWith({ messageId: `${'m'.repeat(300)}@sender.test`, date: new Date() })
    const { privateKey: key } = generateKeyPairSync('ed25519')
    const signer = { domain: 'sender.test', selector: 's1', key, date: new Date() }
    const sent = await signCarried(source, 'a:b:c:d', [signer], (work) => work())
    expect(sent.toString()).toMatch(
      /Message-ID: <m{300}@sender\.test>\r\n[\s\S]*\r\n\r\nHello\r\n$/,
    )
  })

  test('is refused when it has more', async () => {
    const taking = (bytes: Buffer) => readMessage(bytes, ['ada@example.test'], new Date())
    await expect(taking(short(1_001))).rejects.toThrow('the header must not exceed 1000 fields')
    await expect(taking(long(256 * 1024 + 1))).rejects.toThrow('the header must not exceed 256 KB')
  })
})
