// Parses a message that came to the listener, within limits that keep anybody from blocking the process.
import PostalMime, { type Attachment, type Email } from 'postal-mime'

/**
 * A report comes before the returned message, and parsing takes time for each line. Nothing beyond these limits is
 * parsed, so that nobody can block the process, which also sends mail.
 */
const BYTES_MAX = 512 * 1024
const LINES_MAX = 40_000
/** A report has two levels. Deeper nesting or a larger header is an attack on the parser. */
const DEPTH_MAX = 20
const HEADER_BYTES_MAX = 128 * 1024

export interface ParsedMail {
  mail: Email
  /** The beginning of the message, which is what was parsed. */
  bytes: Buffer
}

/** Parses a message. Null if that is not possible. @param raw the message as it came by SMTP */
export async function parseMail(raw: Buffer): Promise<ParsedMail | null> {
  const bytes = beginning(raw)
  try {
    const mail = await PostalMime.parse(bytes, {
      // The returned message is an attachment, not a part of the report's text.
      forceRfc822Attachments: true,
      maxNestingDepth: DEPTH_MAX,
      maxHeadersSize: HEADER_BYTES_MAX,
    })
    return { mail, bytes }
  } catch {
    return null
  }
}

function beginning(raw: Buffer): Buffer {
  let end = -1
  for (let lines = 0; lines < LINES_MAX; lines++) {
    end = raw.indexOf(0x0a, end + 1)
    if (end === -1 || end >= BYTES_MAX) return raw.subarray(0, BYTES_MAX)
  }
  return raw.subarray(0, end + 1)
}

/** The text of the first part of that type; null if there is none. */
export function findPart({ attachments }: Email, type: RegExp): string | null {
  const part = attachments.find(({ mimeType }) => type.test(mimeType))
  return part ? textOf(part) : null
}

/** The fields are ASCII or UTF-8 (RFC 6533). Other bytes are replaced, which affects only texts. */
function textOf({ content }: Attachment): string {
  return typeof content === 'string' ? content : new TextDecoder().decode(content)
}
