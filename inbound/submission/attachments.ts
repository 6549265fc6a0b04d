// The attachments of a message that was submitted: how large they may be, and whether those of another message are the same.
import { hash } from 'node:crypto'
import type { OtherPart } from '../../mail/carried/structure.ts'
import { decodedLength, decodeTransfer } from '../../mail/carried/transfer.ts'
import { limits, MEBIBYTE } from '../../rules/limits.ts'
import { badMessage, replyOf } from './replies.ts'
import { endingTurn } from './turns.ts'

/** @throws SmtpRefusal for more, or larger ones, than the HTTP interface takes */
export function checkAttachments(message: Buffer, parts: readonly OtherPart[]): void {
  if (parts.length > limits.attachmentsPerEmailMax) {
    const max = limits.attachmentsPerEmailMax
    throw badMessage(`attachments must not exceed ${max} files, has ${parts.length}`)
  }
  const bytes = parts.reduce(
    (sum, part) => sum + decodedLength(bytesOf(message, part), part.encoding),
    0,
  )
  if (bytes <= limits.attachmentsBytesMax) return
  const [max, size] = [limits.attachmentsBytesMax / MEBIBYTE, (bytes / MEBIBYTE).toFixed(2)]
  throw replyOf({
    reply: 552,
    enhanced: '5.3.4',
    code: 'attachments_too_large',
    text: `attachments together must not exceed ${max}MB, have ${size}MB`,
  })
}

/**
 * The same for attachments with the same types, names and bytes in the same order, however these are encoded. Signatures, and what is
 * signed or encrypted as one, do not count.
 * @returns hex; null: there is none
 */
export async function digestAttachments(
  message: Buffer,
  parts: readonly OtherPart[],
): Promise<string | null> {
  const read: unknown[] = []
  for (const part of parts) {
    const { type, names, encoding, isSealed } = part
    if (isSealed) continue
    const encoded = bytesOf(message, part)
    const bytes = await endingTurn(encoded, () => decodeTransfer(encoded, encoding))
    read.push([type, names, await endingTurn(bytes, () => hash('sha256', bytes))])
  }
  return read.length === 0 ? null : hash('sha256', JSON.stringify(read))
}

const bytesOf = (message: Buffer, { start, end }: OtherPart) => message.subarray(start, end)
