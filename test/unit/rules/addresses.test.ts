// Addresses: the accepted forms, the refused tricks, and properties of every accepted address.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  addressDomain,
  isDomainName,
  normalizeContactEmail,
  parseMailbox,
} from '../../../rules/addresses.ts'
import { expectLinear } from '../../setup/growth.ts'

const long = (length: number): string => 'x'.repeat(length)
/** A domain of exactly that many characters. */
const domainOf = (length: number): string => {
  const labels = `${`${long(63)}.`.repeat(3)}`
  return `${labels}${long(length - labels.length - 5)}.test`
}

describe('parseMailbox reads', () => {
  test.each<[string, string | null, string]>([
    ['ada@example.test', null, 'ada@example.test'],
    ['  ada@example.test ', null, 'ada@example.test'],
    ['<ada@example.test>', null, 'ada@example.test'],
    ['Ada@EXAMPLE.Test', null, 'Ada@example.test'],
    ['Ada <ada@example.test>', 'Ada', 'ada@example.test'],
    ['Ada Lovelace<ada@example.test>', 'Ada Lovelace', 'ada@example.test'],
    ["J. R. O'Neil & Co! <j@example.test>", "J. R. O'Neil & Co!", 'j@example.test'],
    ['Zoë 日本 🙂 <z@example.test>', 'Zoë 日本 🙂', 'z@example.test'],
    ['"Lovelace, Ada" <ada@example.test>', 'Lovelace, Ada', 'ada@example.test'],
    ['"Shop (news); x: y" <a@example.test>', 'Shop (news); x: y', 'a@example.test'],
    ['"A \\"B\\" \\\\ C" <a@example.test>', 'A "B" \\ C', 'a@example.test'],
    ['"ada@example.test" <ada@example.test>', 'ada@example.test', 'ada@example.test'],
    ['"" <a@example.test>', null, 'a@example.test'],
    ["!#$%&'*+/?=^_`{|}~-9@example.test", null, "!#$%&'*+/?=^_`{|}~-9@example.test"],
    ['a.b+c@sub.xn--bcher-kva.test', null, 'a.b+c@sub.xn--bcher-kva.test'],
    [`${long(64)}@example.test`, null, `${long(64)}@example.test`],
    [`a@${domainOf(252)}`, null, `a@${domainOf(252)}`],
    [`${long(255)} <a@example.test>`, long(255), 'a@example.test'],
  ])('%j', (text, name, address) => {
    expect(parseMailbox(text)).toEqual({ name, address })
  })
})

describe('parseMailbox refuses', () => {
  test.each([
    '',
    ' ',
    'ada',
    '@example.test',
    'ada@',
    'ada@localhost',
    'ada@example..test',
    'ada@.example.test',
    'ada@example.test.',
    'ada@-a.test',
    'ada@a-.test',
    'ada@a_b.test',
    'ada@1.2.3.4',
    'ada@[1.2.3.4]',
    'ada@[IPv6:::1]',
    `ada@${long(64)}.test`,
    'ada@bücher.test',
    'ädä@example.test',
    'ada@example。test',
    'ada@exаmple.test',
    '.ada@example.test',
    'ada.@example.test',
    'a..da@example.test',
    'a da@example.test',
    'ada @example.test',
    'ada@ example.test',
    `${long(65)}@example.test`,
    `a@${domainOf(253)}`,
    `${long(256)} <a@example.test>`,
    // quoted local parts, which parsers read differently
    '"a@b"@c.test',
    '"a b"@c.test',
    '"x@evil.test y"@good.test',
    '"x@evil.test"<y@good.test>z',
    '"a"b <c@d.test>',
    '"a" "b" <c@d.test>',
    '"a <c@d.test>',
    'a" <c@d.test>',
    '"a\\" <c@d.test>',
    // two addresses in one
    'x@evil.test <y@good.test>',
    'a@b.test@c.test',
    'a@b.test,c@d.test',
    'a@b.test, c@d.test',
    'a@b.test;c@d.test',
    'a@b.test c@d.test',
    'A <a@b.test>, B <b@b.test>',
    'A <a@b.test> <c@d.test>',
    'A <a@b.test>c@d.test',
    'A <<a@b.test>>',
    'A <a@b.test>>',
    '"<x@evil.test>" <y@good.test>',
    '"x <y>" <y@good.test>',
    'A <a@b.test',
    'a@b.test>',
    '<>',
    'A <>',
    'A < a@b.test>',
    'A <a@b.test >',
    'A <B <a@b.test>',
    // groups, comments, routes, mailto
    'group: a@b.test;',
    'group:;',
    'group: <a@b.test>',
    'a(comment)@b.test',
    'a@b.test (comment)',
    '(comment) a@b.test',
    'Ada (x) <a@b.test>',
    '<@relay.test:a@b.test>',
    'mailto:a@b.test',
    '[x] <a@b.test>',
    'a\\@b.test',
    // encoded words, in name or address
    '=?utf-8?q?=41=42?= <a@b.test>',
    '"=?utf-8?q?x=0D=0ABcc:_y?=" <a@b.test>',
    '=?utf-8?q?=61=40evil.test=3e?=@b.test',
    // line breaks and other controls
    'a@b.test\r\nBcc: c@d.test',
    'a@b.test\n',
    '\ra@b.test',
    'A\r\nBcc: x <a@b.test>',
    '"A\nB" <a@b.test>',
    'A\u2028B <a@b.test>',
    'A\u0085B <a@b.test>',
    'a@b.test\0',
    'A\tB <a@b.test>',
    'A\x7f <a@b.test>',
    'A\ud800 <a@b.test>',
    'A\u202etset.dab <a@b.test>',
    // SMTP commands
    'a@b.test> SIZE=1',
    'a@b.test>\r\nRCPT TO:<c@d.test',
  ])('%j', (text) => {
    expect(parseMailbox(text)).toBeNull()
  })
})

const oddities = fc.constantFrom(
  ...[
    '@',
    '<',
    '>',
    '"',
    '\\',
    ',',
    ';',
    ':',
    '(',
    ')',
    '[',
    ']',
    ' ',
    '\r',
    '\n',
    '\0',
    '=?',
    '?=',
  ],
  ...['a', 'b.test', 'a@b.test', '<a@b.test>', 'Ada', '.', '-', 'é', '\u2028'],
)
const texts = fc.oneof(
  fc.array(oddities, { maxLength: 12 }).map((parts) => parts.join('')),
  fc.string({ unit: 'grapheme' }),
)

test('every accepted text is one plain address with a plain name', () => {
  let accepted = 0
  fc.assert(
    fc.property(texts, (text) => {
      const mailbox = parseMailbox(text)
      if (!mailbox) return
      accepted++
      expect(mailbox.address).toMatch(/^[^\s@<>"(),:;[\]\\]{1,64}@[a-z0-9.-]+\.[a-z0-9-]+$/)
      expect(mailbox.address.length).toBeLessThanOrEqual(254)
      expect(mailbox.name ?? '').not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}<>]|=\?/u)
      expect(text.includes(mailbox.address.split('@')[0] ?? '-')).toBe(true)
      // Parsed again, alone or with its name quoted, it is the same.
      expect(parseMailbox(mailbox.address)).toEqual({ name: null, address: mailbox.address })
      const quoted = `"${(mailbox.name ?? '').replace(/["\\]/g, '\\$&')}" <${mailbox.address}>`
      expect(parseMailbox(quoted)).toEqual(mailbox)
    }),
    { numRuns: 1000 },
  )
  expect(accepted).toBeGreaterThan(0)
})

test('long input is refused in linear time', async () => {
  expect(parseMailbox(`"${'\\'.repeat(501)}" <a@b.test>`)).toBeNull()
  await expectLinear((share) => {
    expect(parseMailbox(`${'a.'.repeat(500_000 * share)}@b.test`)).toBeNull()
    expect(normalizeContactEmail('a@'.repeat(500_000 * share))).toBeNull()
  })
})

test('contacts have one spelling', () => {
  expect(normalizeContactEmail('Ada.L+x@Example.TEST')).toBe('ada.l+x@example.test')
  for (const text of ['', ' ', ' a@b.test', 'a@b.test ', 'Ada <a@b.test>', '<a@b.test>', 'a@b']) {
    expect(normalizeContactEmail(text)).toBeNull()
  }
  expect(addressDomain('a@b.test')).toBe('b.test')
})

test.each<[string, boolean]>([
  ['a.co', true],
  ['acme.com', true],
  ['News.ACME.com', true],
  ['xn--bcher-kva.example', true],
  ['1.2.co', true],
  ['a-b--c.co', true],
  [`${long(63)}.com`, true],
  [domainOf(253), true],
  ['', false],
  ['a.b', false],
  ['acme', false],
  ['acme.com.', false],
  ['.acme.com', false],
  ['acme..com', false],
  ['-acme.com', false],
  ['acme-.com', false],
  ['ac_me.com', false],
  ['ac me.com', false],
  ['acme.com ', false],
  ['acme.com\n', false],
  ['acme.123', false],
  ['1.2.3.4', false],
  ['bücher.example', false],
  ['acme.com/x', false],
  ['a@acme.com', false],
  ['*.acme.com', false],
  ['http://acme.com', false],
  [`${long(64)}.com`, false],
  [domainOf(254), false],
])('isDomainName(%j) is %j', (text, expected) => {
  expect(isDomainName(text)).toBe(expected)
})
