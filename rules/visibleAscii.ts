// Texts of a request that are taken as they are: visible ASCII, without spaces.
const VISIBLE = /^[\x21-\x7e]+$/

/** Whether a text has 1 to `charsMax` characters, all of them visible ASCII. */
export const isVisibleAscii = (text: string, charsMax: number): boolean =>
  text.length <= charsMax && VISIBLE.test(text)
