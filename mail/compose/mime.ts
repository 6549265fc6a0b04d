// Composes an email into bytes. The same input gives the same bytes for every attempt and on every machine.

import { after, type MaybeLater } from '../../rules/later.ts'
import { unwatched, type Watched } from '../../rules/watched.ts'
import type { Field } from '../dkim/canonical.ts'
import { type DkimOptions, signFields } from '../dkim/sign.ts'
import { inSlices } from '../slices.ts'
import { type Bodies, type BodyOptions, createBodies } from './bodyCache.ts'
import type { BodySection } from './bodySection.ts'
import type { ComposeInput } from './input.ts'
import { headerFields } from './mimeHeader.ts'
import { partsSection } from './mimeParts.ts'

/** Bytes that are copied in one turn of the event loop. */
const SLICE_BYTES = 1024 * 1024
/** A copy of so few ends no process: it needs no mark, which is two writes to a file. */
const UNMARKED_BYTES = 64 * 1024

/** A cache that is given nothing to keep. */
const noBodies = createBodies()

/**
 * Composes a message: bytes with CRLF, 7-bit, no line over 998 characters. There is no Bcc header.
 * @throws Error like `headerFields`
 */
export async function composeMessage(email: ComposeInput): Promise<Buffer> {
  const { fields, chunks } = await compose(email, noBodies, { once: true })
  return joined('', fields, chunks, unwatched)
}

/**
 * Composes and DKIM-signs a message. Its bytes are copied once.
 * @param bodies cache of encoded bodies
 * @param options `once`: for a body that no other message has; `watched`: for each piece of synchronous work
 * @throws DkimError like `signFields`; Error like `headerFields`
 */
export async function composeSigned(
  email: ComposeInput,
  signers: DkimOptions[],
  bodies: Bodies,
  options: BodyOptions = {},
): Promise<Buffer> {
  const { watched = unwatched } = options
  // Of a small mail all is done at once up to its signature, under one mark.
  const { fields, chunks, signatures } = await watched(() =>
    after(compose(email, bodies, options), ({ fields, chunks, hash }) =>
      watched(async () => ({
        fields,
        chunks,
        signatures: await signFields(fields, hash, signers),
      })),
    ),
  )
  return joined(signatures, fields, chunks, watched)
}

function compose(
  email: ComposeInput,
  bodies: Bodies,
  options: BodyOptions,
): MaybeLater<BodySection> {
  const { watched = unwatched } = options
  const { header, section } = watched(() => ({
    header: headerFields(email),
    section:
      email.attachments.length > 0 ? partsSection(email, watched) : bodies.of(email, options),
  }))
  return after(section, (body) => ({ ...body, fields: [...header, ...body.fields] }))
}

async function joined(
  signatures: string,
  fields: Field[],
  chunks: Buffer[],
  watched: Watched,
): Promise<Buffer> {
  let header = signatures
  for (const { raw } of fields) header += `${raw}\r\n`
  return joinInTurns([Buffer.from(`${header}\r\n`, 'latin1'), ...chunks], watched)
}

/** Like `Buffer.concat`, in slices that let the event loop run between them where the whole is large. */
async function joinInTurns(pieces: Buffer[], watched: Watched): Promise<Buffer> {
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0)
  if (length <= UNMARKED_BYTES) return Buffer.concat(pieces, length)
  if (length <= SLICE_BYTES) return watched(() => Buffer.concat(pieces, length))
  const whole = Buffer.allocUnsafe(length)
  let at = 0
  for await (const slice of inSlices(pieces, SLICE_BYTES))
    at += watched(() => slice.copy(whole, at))
  return whole
}
