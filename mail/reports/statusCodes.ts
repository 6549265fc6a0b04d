// Finds the reply code and the enhanced status (RFC 3463) in a text.

const REPLY_CODE = /(?<![\d.])([45]\d\d)(?=[ -](?:[#<(]|\d\.\d|\p{L}))/u
/** Does not match a part of an IP address such as 5.1.1.25. */
const ENHANCED = /(?<![\d.])([245]\.\d{1,3}\.\d{1,3})(?![\d.]*\d)/

/** The first reply code and the first status of a text; null if it has none. */
export function findStatus(text: string): { code: number | null; enhanced: string | null } {
  const code = REPLY_CODE.exec(text)?.[1]
  return {
    code: code === undefined ? null : Number(code),
    enhanced: ENHANCED.exec(text)?.[1] ?? null,
  }
}
