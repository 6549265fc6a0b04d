// Dot-stuffing (RFC 5321 section 4.5.2): a line that begins with a dot gets another dot, so that it does not end
// the message.

const DOT = 46
const CR = 13
const CRLF_DOT = Buffer.from('\r\n.')
const A_DOT = Buffer.from('.')
const CRLF = Buffer.from('\r\n')
/** Shorter pieces are joined, to so many bytes or a few more: of a message of dots there would else be a buffer for every other byte. */
const BLOCK_BYTES = 64 * 1024

/**
 * The dot-stuffed message, ending in CRLF, without the final dot. Long pieces are slices of the message, and
 * short ones are joined, so that no message has many parts.
 * @param message CRLF lines
 */
export function dotStuffed(message: Buffer): Buffer[] {
  const parts = createParts()
  let start = 0
  if (message[0] === DOT) parts.add(A_DOT)
  for (;;) {
    const found = message.indexOf(CRLF_DOT, start)
    if (found < 0) break
    parts.add(message.subarray(start, found + 3))
    parts.add(A_DOT)
    start = found + 3
  }
  parts.add(start === 0 ? message : message.subarray(start))
  const endsLine = message.length >= 2 && message.at(-2) === 13 && message.at(-1) === 10
  if (!endsLine) parts.add(CRLF)
  return parts.end()
}

/** Collects pieces in their order, and joins short ones. */
function createParts() {
  const parts: Buffer[] = []
  let short: Buffer[] = []
  let bytes = 0
  const join = () => {
    const [first] = short
    if (first) parts.push(short.length === 1 ? first : Buffer.concat(short, bytes))
    short = []
    bytes = 0
  }
  return {
    add(piece: Buffer): void {
      if (piece.length >= BLOCK_BYTES) {
        join()
        parts.push(piece)
        return
      }
      short.push(piece)
      bytes += piece.length
      if (bytes >= BLOCK_BYTES) join()
    },
    end(): Buffer[] {
      join()
      return parts
    },
  }
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
