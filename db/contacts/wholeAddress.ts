// How an address is found in a text without being taken for a part of a longer one.
import { spelledAddress } from './spelledAddress.ts'

/** Letters and digits within a class of characters. */
const LETTERS = { postgres: '[:alnum:]', javascript: '\\p{L}\\p{N}' }

/** Percent-encoded delimiters, whose digits are no part of an address; more than once, as in a link within a link. */
const DELIMITERS = '%(?:25)*(?:3d|26|3f|2f|20|3a|3c|2c|3b|22|7c|23)'

/**
 * A pattern of the whole address, however it is spelled: of Postgres, for texts in lower case, or of JavaScript, with the flags `iu`.
 * What delimits the parts of a link may stand before it; what makes its domain a longer one may not follow.
 * @param email in lower case
 */
export function wholeAddress(email: string, of: keyof typeof LETTERS = 'postgres'): string {
  const letters = LETTERS[of]
  const before = `[${letters}._+~'!$*^\`{}-]`
  const after = `[${letters}-]|[.][${letters}-]`
  return `(?:(?<!${before})|(?<=${DELIMITERS}))${spelledAddress(email)}(?!${after})`
}

/** The longest letters and digits before `@` that no spelling of the address encodes; '' if it has none. @param email in lower case */
export const plainLetters = (email: string): string =>
  (email.slice(0, email.lastIndexOf('@')).match(/[a-z0-9]+/g) ?? []).reduce(
    (longest, one) => (one.length > longest.length ? one : longest),
    '',
  )
