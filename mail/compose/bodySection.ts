// The encoded body of a message with its DKIM body hash. Messages with the same content share it.
import { hash } from 'node:crypto'
import { after, type MaybeLater } from '../../rules/later.ts'
import type { Watched } from '../../rules/watched.ts'
import { relaxedBodyHash } from '../dkim/body.ts'
import type { Field } from '../dkim/canonical.ts'
import { type EncodedBody, encodeBody } from './bodyEncode.ts'

export interface BodySection {
  /** Content-Type and Content-Transfer-Encoding of the message. */
  fields: Field[]
  /** Everything after the empty line that ends the header, in order. */
  chunks: Buffer[]
  length_bytes: number
  /** The relaxed body hash of DKIM, base64. */
  hash: string
}

const CRLF = '\r\n'

/**
 * Encodes text, html or both (multipart/alternative). An empty part is left out; without any part the body is an
 * empty text.
 * @param watched for each piece of synchronous work
 * @param seed the boundary is derived from it: the same seed gives the same bytes
 */
export function bodySection(
  html: string | null,
  text: string | null,
  seed: string,
  watched: Watched,
): MaybeLater<BodySection> {
  const encode = (body: string) => watched(() => encodeBody(body, watched))
  if (!text || !html) {
    return after(encode(text || html || ''), ({ encoding, chunks }) =>
      toSection(contentFields(html ? 'html' : 'plain', encoding), chunks, watched),
    )
  }
  // One after the other, so that no two are half encoded in memory.
  return after(encode(text), (plain) =>
    after(encode(html), (rich) =>
      alternative(
        [
          ['plain', plain],
          ['html', rich],
        ],
        seed,
        watched,
      ),
    ),
  )
}

function alternative(
  parts: readonly [type: string, body: EncodedBody][],
  seed: string,
  watched: Watched,
): MaybeLater<BodySection> {
  const boundary = `dl-${hash('sha256', seed).slice(0, 32)}`
  const chunks: Buffer[] = []
  for (const [type, body] of parts) {
    const header = contentFields(type, body.encoding).map((field) => field.raw + CRLF)
    chunks.push(Buffer.from(`--${boundary}${CRLF}${header.join('')}${CRLF}`), ...body.chunks)
  }
  chunks.push(Buffer.from(`--${boundary}--${CRLF}`))
  const type = {
    name: 'content-type',
    raw: `Content-Type: multipart/alternative;${CRLF} boundary="${boundary}"`,
  }
  return toSection([type], chunks, watched)
}

function contentFields(type: string, encoding: string): Field[] {
  return [
    { name: 'content-type', raw: `Content-Type: text/${type}; charset=utf-8` },
    { name: 'content-transfer-encoding', raw: `Content-Transfer-Encoding: ${encoding}` },
  ]
}

/** @throws Error when the parts have a bare CR or LF */
export function toSection(
  fields: Field[],
  parts: Buffer[],
  watched: Watched,
): MaybeLater<BodySection> {
  const length_bytes = parts.reduce((sum, part) => sum + part.length, 0)
  // A small body becomes one piece; a large one is not copied.
  const chunks = length_bytes <= ONE_PIECE_BYTES ? [Buffer.concat(parts)] : parts
  return after(relaxedBodyHash(chunks, watched), (hash) => {
    if (hash === null) throw new Error('an encoded body has a bare CR or LF')
    return { fields, chunks, length_bytes, hash }
  })
}

const ONE_PIECE_BYTES = 1024 * 1024
