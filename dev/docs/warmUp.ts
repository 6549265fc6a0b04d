// The table of the warm-up of a new domain, from the steps that the lanes keep to.
import { warmUpLadder } from '../../rules/mail/warmUp.ts'
import { markdownTable } from './markdown.ts'

/** The days on which a new domain sends, and how many mails go out on each. */
export function warmUpTable(): string {
  const days = warmUpLadder.map((_, i) => String(i + 1))
  return markdownTable(
    ['day with mail', ...days],
    [['mails', ...warmUpLadder.map((mails) => mails.toLocaleString('en-US'))]],
  )
}
