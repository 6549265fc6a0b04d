// Dot-stuffing (RFC 5321 section 4.5.2): a line that begins with a dot gets another dot, so that it does not end
// the message.

const DOT = 46
const CR = 13
const CRLF_DOT = Buffer.from('\r\n.')
const A_DOT = Buffer.from('.')

/**
 * The dot-stuffed message, ending in CRLF, without the final dot. Nothing is copied: the parts are slices of the
 * message.
 * @param message CRLF lines
 */
export function dotStuffed(message: Buffer): Buffer[] {
  const parts: Buffer[] = []
  let start = 0
  if (message[0] === DOT) parts.push(A_DOT)
  for (;;) {
    const found = message.indexOf(CRLF_DOT, start)
    if (found < 0) break
    parts.push(message.subarray(start, found + 3), A_DOT)
    start = found + 3
  }
  parts.push(start === 0 ? message : message.subarray(start))
  const endsLine = message.length >= 2 && message.at(-2) === 13 && message.at(-1) === 10
  if (!endsLine) parts.push(Buffer.from('\r\n'))
  return parts
}

const LF_DOT = Buffer.from('\n.')
const CR_DOT = Buffer.from('\r.')

/**
 * True if a dot follows a bare CR or LF. Some servers take such a line for the end of the message and the rest for
 * commands (SMTP smuggling). Stuffing it would change the message for all other servers.
 */
export function hasLoneDot(message: Buffer): boolean {
  if (message.includes(CR_DOT)) return true
  for (let at = message.indexOf(LF_DOT); at >= 0; at = message.indexOf(LF_DOT, at + 2)) {
    if (message[at - 1] !== CR) return true
  }
  return false
}
