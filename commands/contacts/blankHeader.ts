// Takes an address out of the header of a message that goes to others yet.

const HEADER_END = Buffer.from('\r\n\r\n')

/**
 * The start of a message whose header names the address no more: it has `x` in its place, so that the message keeps its length and the
 * header its form. @returns null if it does not name it @param email in lower case
 */
export function blankHeader(start: Buffer, email: string): Buffer | null {
  const end = start.indexOf(HEADER_END)
  const header = start.subarray(0, end === -1 ? start.length : end).toString('latin1')
  const wanted = Buffer.from(email).toString('latin1')
  const lower = header.toLowerCase()
  if (!lower.includes(wanted)) return null
  const blank = wanted.replace(/[^@.]/g, 'x')
  const parts = lower.split(wanted)
  let at = 0
  const kept = parts.map((part) => {
    const text = header.slice(at, at + part.length)
    at += part.length + wanted.length
    return text
  })
  return Buffer.concat([Buffer.from(kept.join(blank), 'latin1'), start.subarray(header.length)])
}
