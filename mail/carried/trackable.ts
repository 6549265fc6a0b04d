// The html of a message that came whole, opened so that its links can be replaced. Every other byte stays.
import { headerBytes, readHeader } from './header.ts'
import { findParts, type TextPart } from './structure.ts'
import { decodeTransfer, encodeTransfer } from './transfer.ts'

interface TrackableHtml {
  /** Where `isBytes`, each character is one byte of another character set. */
  html: string
  isBytes: boolean
  /** The message with that html in place of its own. */
  withHtml: (html: string) => Buffer
}

/** Character sets in which bytes below 0x80 that make markup are always ASCII. */
const likeAscii =
  /^(iso-8859-\d+|windows-125\d|koi8-[ru]|gb2312|gbk|gb18030|big5|euc-(jp|kr)|shift_jis)$/

/** @returns null when there is no html, somebody has signed it, or its character set is not known to keep ASCII as it is */
export function openHtml(message: Buffer): TrackableHtml | null {
  const { html: part, isSigned } = findParts(message)
  if (part === null || isSigned) return null
  const encoded = message.subarray(part.start, part.end)
  const bytes = decodeTransfer(encoded, part.encoding)
  const charset = charsetFor(bytes, part.charset)
  if (charset === null) return null
  return {
    html: bytes.toString(charset),
    isBytes: charset === 'latin1',
    withHtml(html) {
      const made = encodeTransfer(Buffer.from(html, charset), part.encoding, encoded)
      const header =
        made.encoding === part.encoding
          ? message.subarray(part.headerAt, part.start)
          : headerWith(message, part, made.encoding)
      return Buffer.concat([
        message.subarray(0, part.headerAt),
        header,
        made.bytes,
        message.subarray(part.end),
      ])
    },
  }
}

function charsetFor(bytes: Buffer, charset: string): 'utf8' | 'latin1' | null {
  if (charset === '' || charset === 'us-ascii' || charset === 'utf-8') {
    return Buffer.from(bytes.toString('utf8')).equals(bytes) ? 'utf8' : 'latin1'
  }
  return likeAscii.test(charset) ? 'latin1' : null
}

/** The header of a part with another transfer encoding. */
function headerWith(message: Buffer, { headerAt, start }: TextPart, encoding: string): Buffer {
  const header = readHeader(message.subarray(headerAt, start))
  const fields = typeof header === 'string' ? [] : header.fields
  const name = 'content-transfer-encoding'
  const others = fields.filter((field) => field.name !== name)
  return headerBytes([...others, { name, raw: `Content-Transfer-Encoding: ${encoding}` }])
}
