// Messages that came whole: finding html and text in them, and changing the html alone.

import MailComposer from 'nodemailer/lib/mail-composer'
import PostalMime from 'postal-mime'
import { describe, expect, test } from 'vitest'
import { fieldValue, headerBytes, readHeader } from '../../../mail/carried/header.ts'
import { octetsOf } from '../../../mail/carried/sign.ts'
import { findParts } from '../../../mail/carried/structure.ts'
import { openHtml } from '../../../mail/carried/trackable.ts'
import { decodedLength, decodeTransfer, readText } from '../../../mail/carried/transfer.ts'
import { cpuOf, expectLinear } from '../../setup/growth.ts'

const crlf = (text: string) => Buffer.from(text.replaceAll('\n', '\r\n'), 'latin1')

function htmlOf(message: Buffer): string | null {
  const { html } = findParts(message)
  if (!html) return null
  return readText(
    decodeTransfer(message.subarray(html.start, html.end), html.encoding),
    html.charset,
  )
}

const othersOf = (message: Buffer) =>
  findParts(message).others.map(({ type, names, start, end, encoding }) => [
    type,
    names,
    decodedLength(message.subarray(start, end), encoding),
  ])

describe('the header', () => {
  test('fields keep their bytes, values are unfolded', () => {
    const bytes = crlf('Subject: one\n two\nX-A:b\n\nbody\n')
    const header = readHeader(bytes)
    if (typeof header === 'string') throw new Error(header)
    expect(header.fields.map(({ name }) => name)).toEqual(['subject', 'x-a'])
    expect(header.fields.map(fieldValue)).toEqual(['one two', 'b'])
    expect(headerBytes(header.fields)).toEqual(bytes.subarray(0, header.bodyAt))
  })

  test('a value loses spaces at its ends and no byte of a character', () => {
    const header = readHeader(Buffer.from('Subject: \t Voilà \t\r\nX-A:\r\n\r\n'))
    if (typeof header === 'string') throw new Error(header)
    expect(header.fields.map(fieldValue)).toEqual(['Voilà', ''])
  })

  test('what is no header is refused; none at all is empty', () => {
    expect(readHeader(crlf(' fold\n\n'))).toMatch(/field 1/)
    expect(readHeader(crlf('A: b\nno colon\n\n'))).toMatch(/field 2/)
    expect(readHeader(Buffer.from(`A: ${'x'.repeat(300_000)}`))).toMatch(/must not exceed/)
    expect(readHeader(crlf('\nbody'))).toEqual({ fields: [], bodyAt: 2 })
    expect(readHeader(Buffer.alloc(0))).toEqual({ fields: [], bodyAt: 0 })
  })
})

describe('html and text', () => {
  test('nodemailer’s messages read as postal-mime reads them', async () => {
    const html = `<p>Grüße, ${'lang '.repeat(300)}😀 =3D</p>\n<p>.</p>`
    const text = 'Grüße\n.\nEnde'
    for (const textEncoding of ['quoted-printable', 'base64'] as const) {
      const message = await new MailComposer({
        newline: 'windows',
        subject: 'x',
        html,
        text,
        textEncoding,
        attachments: [{ filename: 'page.html', content: '<b>other</b>', contentType: 'text/html' }],
      })
        .compile()
        .build()
      const read = await PostalMime.parse(message)
      expect(htmlOf(message)?.trimEnd()).toBe(read.html?.replaceAll('\r\n', '\n').trimEnd())
      expect(htmlOf(message)?.trimEnd()).toBe(html)
      expect(othersOf(message)).toEqual([['text/html', ['page.html', 'page.html'], 12]])
    }
  })

  test('a boundary that begins another one, a part without its end, an epilogue', () => {
    const message = crlf(`Content-Type: multipart/mixed; boundary=a

preamble
--ab
--a
Content-Type: multipart/alternative; boundary="a b"

--a b
Content-Type: text/plain

one
--a b
Content-Type: text/html; charset=iso-8859-1

<p>\xfc</p>
--a b--
--a
Content-Type: text/plain; name=notes.txt

notes`)
    const { text } = findParts(message)
    expect(message.toString('latin1', text?.start, text?.end)).toBe('one')
    expect(htmlOf(message)).toBe('<p>ü</p>')
    expect(othersOf(message)).toEqual([['text/plain', ['notes.txt'], 5]])
  })

  test('nesting and counts without end are left alone', () => {
    const part = 'Content-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\n'
    expect(findParts(Buffer.from(part.repeat(10_000))).html).toBeNull()
    const many = Buffer.from(
      `Content-Type: multipart/mixed; boundary=x\r\n\r\n${'--x\r\n\r\n\r\n'.repeat(100_000)}`,
    )
    expect(findParts(many).others.length).toBeGreaterThan(400)
    expect(findParts(many).others.length).toBeLessThan(600)
    const hidden = `${'--x\r\n'.repeat(100_000)}Content-Type: text/html\r\n\r\n<p>\r\n--x--`
    const empty = Buffer.from(`Content-Type: multipart/mixed; boundary=x\r\n\r\n${hidden}`)
    expect(findParts(empty)).toMatchObject({ html: null, others: [{ type: '' }] })
  })

  test('a boundary is looked for within its part alone', async () => {
    const inner = 'Content-Type: multipart/mixed; boundary=none\r\n\r\n\r\n'
    const tail = Buffer.alloc(16 * 1024 * 1024, 'tail of this message\r\n')
    const messageWith = (parts: number) =>
      Buffer.concat([
        Buffer.from('Content-Type: multipart/mixed; boundary=x\r\n\r\n'),
        Buffer.from(`--x\r\n${inner}`.repeat(parts)),
        Buffer.from('--x\r\n\r\n'),
        tail,
      ])
    const [few, many] = [messageWith(1), messageWith(400)]
    const least = await cpuOf(() => findParts(few))
    const most = await cpuOf(() => findParts(many))
    expect(most / Math.max(least, 20)).toBeLessThan(20)
  })

  test('a decoded length is that of the decoded bytes', () => {
    for (const size of [0, 1, 2, 3, 56, 57, 58, 1000]) {
      const bytes = Buffer.alloc(size, 7)
      const encoded = Buffer.from(bytes.toString('base64').replace(/.{1,76}/g, '$&\r\n'))
      expect(decodedLength(encoded, 'base64')).toBe(size)
    }
  })
})

describe('another html', () => {
  const parts = (encoding: string, body: string) =>
    crlf(`From: a@b.test
Content-Type: multipart/alternative; boundary=x

--x
Content-Type: text/plain

plain  with spaces 
--x
Content-Type: text/html; charset=utf-8
Content-Transfer-Encoding: ${encoding}

${body}
--x--
after
`)

  test('changes its part and no other byte', () => {
    const given = Buffer.from('<p>é =</p>')
    const bodies = {
      '8bit': given.toString('latin1'),
      base64: given.toString('base64'),
      'quoted-printable': '<p>=C3=A9 =3D</p>',
    }
    for (const [encoding, body] of Object.entries(bodies)) {
      const message = parts(encoding, body)
      const opened = openHtml(message)
      expect(opened?.html).toBe('<p>é =</p>')
      const made = opened?.withHtml('<p>à =</p>') ?? Buffer.alloc(0)
      expect(htmlOf(made)).toBe('<p>à =</p>')
      const { html } = findParts(message)
      const after = findParts(made).html
      expect(made.subarray(0, after?.start)).toEqual(message.subarray(0, html?.start))
      expect(made.subarray(after?.end)).toEqual(message.subarray(html?.end))
      expect(opened?.withHtml(opened.html)).toEqual(message)
    }
  })

  test('a line that becomes too long gets another encoding', () => {
    const opened = openHtml(parts('7bit', '<p>short</p>'))
    const long = `<p>${'x'.repeat(2_000)}</p>`
    const made = opened?.withHtml(long) ?? Buffer.alloc(0)
    expect(htmlOf(made)).toBe(long)
    expect(findParts(made).html?.encoding).toBe('quoted-printable')
    expect(
      Math.max(
        ...made
          .toString('latin1')
          .split('\r\n')
          .map((line) => line.length),
      ),
    ).toBe(76)
  })

  test('other character sets keep their bytes; what is signed, or of no known set, is not opened', () => {
    const latin = crlf('Content-Type: text/html; charset=iso-8859-1\n\n<p>\xfc</p>\n')
    const opened = openHtml(latin)
    expect(opened?.isBytes).toBe(true)
    expect(opened?.withHtml(opened.html)).toEqual(latin)
    expect(openHtml(crlf('Content-Type: text/html; charset=iso-2022-jp\n\n<p>x</p>\n'))).toBeNull()
    const signed = parts('7bit', '<p>x</p>').toString('latin1').replace('alternative', 'signed')
    expect(openHtml(Buffer.from(signed, 'latin1'))).toBeNull()
  })
})

describe('boundaries', () => {
  /** Multiparts inside each other, and lines that look like the beginnings of their boundaries. */
  const nested = (boundaryOf: (n: number) => string, lines: number) => {
    const heads = Array.from(
      { length: 9 },
      (_, n) =>
        `Content-Type: multipart/mixed; boundary="${boundaryOf(n)}"\n\n--${boundaryOf(n)}\n`,
    )
    return crlf(
      `${heads.join('')}Content-Type: text/plain\n\n${`--${'a'.repeat(900)}\n`.repeat(lines)}`,
    )
  }

  test('are found in a time that grows with the message alone', () =>
    expectLinear((share) => findParts(nested((n) => `${n}${'a'.repeat(890)}`, 8_000 * share))))
})

test('what a server must offer', () => {
  expect(octetsOf(crlf('A: b\n\nbody\n'))).toBeUndefined()
  expect(octetsOf(crlf('A: b\n\n\xe9\n'))).toBe('eight_bit')
  expect(octetsOf(crlf('A: \xc3\xa9\n\nbody\n'))).toBe('utf8_header')
})
