// Signs a whole message with DKIM, for tests of signatures: its header is read from the message.
import { relaxedBodyHash } from '../../mail/dkim/body.ts'
import type { Field } from '../../mail/dkim/canonical.ts'
import { DkimError, type DkimOptions, signFields } from '../../mail/dkim/sign.ts'

/**
 * The message with a DKIM-Signature in front for each key.
 * @param message header and body with CRLF line ends
 * @throws DkimError without a key, for a bare CR or LF, a header without end or From, or a key that cannot sign
 */
export async function signMessage(message: Buffer, signers: DkimOptions[]): Promise<Buffer> {
  const end = message.indexOf('\r\n\r\n')
  if (end < 0) throw new DkimError('the header has no end')
  const fields = parseFields(message.toString('latin1', 0, end))
  const bodyHash = await relaxedBodyHash(message.subarray(end + 4))
  if (bodyHash === null) throw new DkimError('the message has a bare CR or LF')
  const signatures = await signFields(fields, bodyHash, signers)
  return Buffer.concat([Buffer.from(signatures, 'latin1'), message])
}

function parseFields(header: string): Field[] {
  if (/\r(?!\n)|(?<!\r)\n/.test(header)) throw new DkimError('the header has a bare CR or LF')
  return header.split(/\r\n(?![ \t])/).map((raw) => ({
    name: raw
      .slice(0, Math.max(raw.indexOf(':'), 0))
      .trim()
      .toLowerCase(),
    raw,
  }))
}
