// The canonical forms of header fields in DKIM (RFC 6376 section 3.4), for signing and for verifying.

/** A header field as it is sent. */
export interface Field {
  /** In lower case. */
  name: string
  /** The whole field with its folds, without the last CRLF; its bytes as a latin1 string. */
  raw: string
}

/** Spaces and tabs that are not one space already: to replace each space by itself takes longer than to look. */
const WIDE_BLANK = /\t| {2}/

/** RFC 6376 section 3.4.2: the name in lower case, the value unfolded, with single spaces and none at its ends. */
export function relaxedField(raw: string): string {
  const colon = raw.indexOf(':')
  const value = raw.slice(colon + 1).replace(/\r\n/g, '')
  const name = raw.slice(0, colon).trimEnd()
  const single = WIDE_BLANK.test(value) ? value.replace(/[ \t]+/g, ' ') : value
  return `${name.toLowerCase()}:${trimSpace(single)}`
}

/** Removes spaces only: trim() would also remove a NBSP, which is part of the value. */
function trimSpace(text: string): string {
  const start = text.startsWith(' ') ? 1 : 0
  return text.slice(start, text.length > start && text.endsWith(' ') ? -1 : undefined)
}
