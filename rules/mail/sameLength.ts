// Brings a field of a header to the length that it had, so that the message stays in the slices in which it is stored.

/** RFC 5322 section 2.1.1. */
const LINE_BYTES_MAX = 998
/** Of a line of filler. */
const FILLER_BYTES_MAX = 900

/**
 * The field with spaces at its end; where they would make its line too long, with a field behind it that says nothing.
 * @param field shorter than `length`
 * @param mayAdd whether the header has room for one more field
 * @returns null: it cannot be brought to that length
 */
export function lengthened(field: string, length: number, mayAdd: boolean): string | null {
  const missing = length - field.length
  const lastLine = field.length - (field.lastIndexOf('\n') + 1)
  if (missing < 0 || field.split('\r\n').some((line) => line.length > LINE_BYTES_MAX)) return null
  if (lastLine + missing <= LINE_BYTES_MAX) return field + ' '.repeat(missing)
  const filler = '\r\nX:'.length
  return mayAdd && missing >= filler ? `${field}\r\n${fillerField(missing - 2)}` : null
}

/** A field that says nothing. @param length at least two */
export function fillerField(length: number): string {
  const name = length >= 'X-Filler: x'.length ? 'X-Filler:' : 'X:'
  let field = name
  for (let left = length - name.length, start = ' '; left > 0; start = '\r\n ') {
    const most = Math.min(left, FILLER_BYTES_MAX)
    // The last line needs four bytes: line end, space, one character.
    const bytes = left - most > 0 && left - most < 4 ? most - 4 : most
    field += start + 'x'.repeat(bytes - start.length)
    left -= bytes
  }
  return field
}
