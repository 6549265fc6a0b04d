// Reads a composed message, wherever it stands.
import type { Message } from '../../mail/transport.ts'

/** The bytes of a message without dot-stuffing. */
export async function bytesOf(message: Message): Promise<Buffer> {
  if (Buffer.isBuffer(message)) return message
  const parts: Buffer[] = []
  for await (const part of message.parts()) parts.push(part)
  const stuffed = Buffer.concat(parts).toString('latin1')
  const bytes = Buffer.from(stuffed.replace(/^\.\./gm, '.'), 'latin1').subarray(0, message.length)
  if (bytes.length !== message.length) throw new Error('a message is shorter than it says')
  return bytes
}
