// The refusals of a relay that ask for fewer connections or a slower pace, and say nothing of the mail.

/** What the relay says of itself at this moment. */
const SLOWER =
  /too many (\w+ ){0,3}(sessions|connections|connects|messages|e-?mails|mails)|(connections?|sessions) (limit|rate)|(concurrent|number of|simultaneous) (\w+ )?(connections|sessions)|throttl|(rate|speed) (limit|exceeded|control)|(sending|message|mail|submission|connection|maximum) rate|rate .{0,20}exceeded|too (fast|frequent|quickly)|slow down|reduce .{0,20}(rate|speed)/i

/** What is not over in some seconds, or is about one sender or recipient: the bounce rules decide. */
const NOT_THE_PACE =
  /quota|credit|\b(daily|hourly|monthly|24-hour|per (day|hour)|today)\b|unsolicited|unusual|spam|reputation|\b(sender|recipient|mailbox|user|domain|account)\b|gr[ae]y/i

/** Addresses, so that no name of a mailbox reads as a word of the server. */
const ADDRESS = /[^\s@<>"'()[\],;:]{1,128}@[^\s@<>"'()[\],;:]{1,255}/g

/**
 * Whether a relay asks with this refusal for less at a time: `421 too many connections`, `454 4.7.0 Throttling failure:
 * Maximum sending rate exceeded`. The mail can go a moment later, so it has not been tried.
 */
export function asksForLess(refusal: {
  code: number
  enhanced: string | null
  reply: string
}): boolean {
  // 4.1.x and 4.2.x are about one address or mailbox.
  if (refusal.code >= 500 || /^4\.[12]\./.test(refusal.enhanced ?? '')) return false
  const words = refusal.reply.replace(ADDRESS, '@')
  return SLOWER.test(words) && !NOT_THE_PACE.test(words)
}
