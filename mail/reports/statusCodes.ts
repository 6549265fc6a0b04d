// Finds the reply code and the enhanced status (RFC 3463) in what a server wrote.

const REPLY_CODE = /(?<![\d.])([45]\d\d)(?=[ -](?:[#<(]|\d\.\d|\p{L}))/u
/** Not a part of an address such as 5.1.1.25. */
const ENHANCED = /(?<![\d.])([245]\.\d{1,3}\.\d{1,3})(?![\d.]*\d)/

/** The first code and status of a text; null where it has none. */
export function findStatus(text: string): { code: number | null; enhanced: string | null } {
  const code = REPLY_CODE.exec(text)?.[1]
  return {
    code: code === undefined ? null : Number(code),
    enhanced: ENHANCED.exec(text)?.[1] ?? null,
  }
}
