// How an address is found in a text without being taken for a part of a longer one.
import { escapedPattern } from '../../rules/escapedPattern.ts'

/** What another address may have before theirs. What delimits the parts of a link is none of it. */
const BEFORE = "[[:alnum:]._+~'!$*^`{}-]"
/** Percent-encoded delimiters, whose digits are none of it either. */
const DELIMITERS = '%(3d|26|3f|2f|20|3a|3c|2c|3b|22|7c|23)'
/** What makes the domain a longer one. */
const AFTER = '[[:alnum:]-]|[.][[:alnum:]-]'

/** A pattern of Postgres, for texts in lower case, of the whole address, as it is or percent-encoded. @param email in lower case */
export function wholeAddress(email: string): string {
  const encoded = encodeURIComponent(email).toLowerCase()
  const spelled = [...new Set([email, encoded])].map(escapedPattern).join('|')
  return `(?:(?<!${BEFORE})|(?<=${DELIMITERS}))(?:${spelled})(?!${AFTER})`
}
