// What an erasure takes out of the header of a message that goes to others: the person, and nobody whose address is like theirs.
import { expect, test } from 'vitest'
import { blankHeader } from '../../commands/contacts/blankHeader.ts'
import { readHeader } from '../../mail/carried/header.ts'

const ADA = 'ada@person.test'
const BO = 'bo@person.test'
const erased = (email: string, isCustomers = false) => ({ email, isCustomers })
const BODY = `\r\n\r\nDear ${ADA}\r\n`

/** The lines of the header without what keeps its length; null: it is as it was. Length, body and form of the rest are looked at too. */
function blanked(header: string, email = ADA, isCustomers = false): string[] | null {
  const message = Buffer.from(header + BODY)
  const without = blankHeader(message, erased(email, isCustomers))
  if (without === null) return null
  expect(without.length).toBe(message.length)
  const read = readHeader(without)
  if (typeof read === 'string') throw new Error(read)
  expect(without.subarray(read.bodyAt).toString()).toBe(BODY.slice(4))
  const lines = without
    .subarray(0, read.bodyAt - 4)
    .toString()
    .split('\r\n')
  for (const line of lines) expect(line).toMatch(/^(?=.*\S).{1,998}$/)
  return read.fields
    .filter(({ name }) => !/^x(-filler)?$/.test(name))
    .map(({ raw }) => Buffer.from(raw, 'latin1').toString().trimEnd())
}

test('who else is named stays, byte by byte, and the header without an end too', () => {
  const bytes = (to: string) => Buffer.from(`From: a@b.test\r\nTo: ${to}\r\nX: \xff`, 'latin1')
  const others = `"Bo, \xe9" <${BO}>`
  const gap = ' '.repeat(`Ada <${ADA}>,\r\n `.length)
  expect(blankHeader(bytes(`Ada <${ADA}>,\r\n ${others}`), erased(ADA))).toEqual(
    bytes(others + gap),
  )
  expect(blankHeader(bytes(others), erased(ADA))).toBeNull()
})

test.each([
  [`To: jo${ADA}, ${ADA}.au\r\nCc: o'${ADA}, x-${ADA}`],
  [`From: "${ADA}" <${ADA}>\r\nSubject: ${ADA}\r\nX-To: ${ADA}`],
  [`List-Unsubscribe: <https://shop.test/?to=${ADA}>`],
  [`DKIM-Signature: v=1; i=${ADA}; b=x\r\n To: ${ADA}`],
  ['To: a da@person.test, "ada @person".test, "ada@ home" <bo@person.test>'],
])('what is not theirs stays: %j', (header) => {
  expect(blanked(header)).toBeNull()
})

test('whom to answer stays where the address is the customer’s, or the sender’s', () => {
  const fields = `To: ${ADA}, ${BO}\r\nReply-To: ${ADA}`
  expect(blanked(fields, ADA, true)).toEqual([`To: ${BO}`, `Reply-To: ${ADA}`])
  const from = `From: Ada <${ADA}>`
  expect(blanked(`${from}\r\n${fields}`)).toEqual([from, `To: ${BO}`, `Reply-To: ${ADA}`])
})

test.each([
  [`to : jo${ADA},\r\n\t'Ada@person.test' <${ADA}>`, [`to : jo${ADA}`]],
  [`To: ${BO}, ${ADA},\r\n cy@person.test`, [`To: ${BO},\r\n cy@person.test`]],
  [`To:\r\n ${ADA},\r\n ${BO}`, [`To: ${BO}`]],
  // Nobody is left: the field goes, and To says so.
  [`To: Ada Lovelace <${ADA}>`, ['To: undisclosed-recipients:;']],
  [`Bcc:${ADA};\r\nResent-To: ${ADA}.\r\nTo: ${BO}`, [`To: ${BO}`]],
  [`Reply-To: ${ADA}\r\nTo: ${BO}`, [`To: ${BO}`]],
  [`Reply-To: ${ADA}, help@shop.test`, ['Reply-To: help@shop.test']],
  [`Sender: ${ADA}\r\nMail-Followup-To: ${BO}, ${ADA}`, [`Mail-Followup-To: ${BO}`]],
  [`Disposition-Notification-To: <${ADA}>\r\nErrors-To: ${ADA}\r\nX: 1`, []],
  [`From: "${ADA} by Shop" <a@shop.test>`, ['From: <a@shop.test>']],
  // Groups
  [`To: Friends: ${ADA}, Bo <${BO}>;, ${ADA}`, [`To: Friends: Bo <${BO}>;`]],
  [`Cc: Friends: ${ADA};`, ['Cc: Friends:;']],
  [`Cc: "${ADA}": ${BO};`, [`Cc: group: ${BO};`]],
  // Comments
  [`To: ${BO} (${ADA})`, [`To: ${BO}`]],
  [`To: (so (${ADA}) says) Bo <${BO}> (x)`, [`To: Bo <${BO}>`]],
  [
    `To: Bo\r\n (${ADA})\r\n <${BO}>,\r\n caf\u00e0@\u00e0`,
    [`To: Bo\r\n <${BO}>,\r\n caf\u00e0@\u00e0`],
  ],
  [`To: ada(at)@(home)person.test, ${BO}`, [`To: ${BO}`]],
  // What stands before an address
  [`To: "${ADA} by Bo" <${BO}>`, [`To: <${BO}>`]],
  [`To: =?utf-8?q?by_ada=40person.test?= <${BO}>`, [`To: <${BO}>`]],
  [`To: =?utf-8?b?${Buffer.from(ADA).toString('base64')}?=\r\n <${BO}>`, [`To: <${BO}>`]],
  // Folded within
  [`To: Ada\r\n <\r\n ada@person.test\r\n >, ${BO}`, [`To: ${BO}`]],
  [`To: ada\r\n @person . test, ${BO}`, [`To: ${BO}`]],
  // Not by the book
  [`To: Ada ${ADA}; ${BO}`, [`To: ${BO}`]],
  [`To: "Bo <${BO}>, ${ADA}`, [`To: "Bo <${BO}>, ---@------.----`]],
  [`To: "a"."d".a@person.test, "a" . d.a@person.test, ${BO}`, [`To: ${BO}`], 'a.d.a@person.test'],
  [`To: '${ADA}', <mailto:${ADA}>, ${BO}`, [`To: ${BO}`]],
  [`To: "a\\da"@person.test, <@relay.test:${ADA}>, ${BO}`, [`To: ${BO}`]],
] as [string, string[], string?][])('they go out of %j', (header, wanted, email = ADA) => {
  expect(blanked(header, email)).toEqual(wanted)
})

test.each([
  'ada@xn--bcher-kva.test',
  'ADA@bücher.test',
  'ada@BÜCHER.test',
  'ada@Bu\u0308cher.test',
  '"ada"@bücher.test',
])('the domain goes in all its spellings: %j', (written) => {
  const rest = 'ada@bücher.test.au, "o ada"@bücher.test'
  const header = `To: Ada <${written}>, ${rest}, ${BO} (${written})`
  expect(blanked(header, 'ada@xn--bcher-kva.test')).toEqual([`To: ${rest}, ${BO}`])
})

test('a domain that stands for no Unicode goes as it is', () => {
  expect(blanked(`To: ada@xn--a.test, ${BO}`, 'ada@xn--a.test')).toEqual([`To: ${BO}`])
})

test('a short field without room for a word loses its name', () => {
  expect(blanked('To:a@b.c\r\nSubject: x', 'a@b.c')).toEqual(['Subject: x'])
  expect(blanked('Cc:a@b.c\r\nSubject: x', 'a@b.c')).toEqual(['Subject: x'])
})

test('a name over many lines leaves lines that are not too long', () => {
  const name = Array.from({ length: 60 }, () => `=?utf-8?q?${'a'.repeat(60)}?=`).join('\r\n ')
  expect(blanked(`To: ${BO},\r\n ${name}\r\n <${ADA}>`)).toEqual([`To: ${BO}`])
  expect(blanked(`Reply-To: ${name}\r\n <${ADA}>\r\nTo: ${BO}`)).toEqual([`To: ${BO}`])
})

test('no address is written that nobody has written before', () => {
  const without = blankHeader(
    Buffer.from(`To: "x\r\nCc: "ada@person.com`),
    erased('ada@person.com'),
  )
  expect(without?.toString()).not.toContain('.xxx')
})

test('a header with nearly as many fields as it may have gets no more than can be read', () => {
  const named = `Cc: (${ADA} ${'x'.repeat(960)})${BO},\r\n ${'b'.repeat(30)}@x.test`
  const header = [...Array(240).fill(named), ...Array(655).fill('a:b')].join('\r\n')
  expect(Buffer.byteLength(header)).toBeLessThan(256 * 1024)
  expect(readHeader(Buffer.from(header + BODY))).toMatchObject({ fields: { length: 895 } })
  const without = blankHeader(Buffer.from(header + BODY), erased(ADA))
  expect(readHeader(without ?? Buffer.alloc(0))).toMatchObject({ bodyAt: header.length + 4 })
})

test('an entry that comes to the line of the name of its field leaves no line that is too long', () => {
  const long = `${'b'.repeat(989)}@x.test`
  const lines = blanked(`To:${ADA},\r\n ${long}`) ?? []
  expect(lines.join('\r\n')).toContain(long)
})
