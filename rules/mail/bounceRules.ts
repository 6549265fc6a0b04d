// The bounce rules: what an SMTP refusal means. The first matching row decides; within what a file is about, rows with
// words stand before rows of bare codes.
import { type Bounce, type BounceRule, expired, laterPerhaps, oursBy } from './bounces/answers.ts'
import { codes } from './bounces/codes.ts'
import { contentWords } from './bounces/contentWords.ts'
import { exceptions } from './bounces/exceptions.ts'
import { mailboxWords } from './bounces/mailboxWords.ts'
import { ourWords } from './bounces/ourWords.ts'
import { recipientWords } from './bounces/recipientWords.ts'
import type { Phase } from './phases.ts'

export type { Bounce } from './bounces/answers.ts'

export interface Reply {
  /** The phase of the refusal; if absent, it counts as one after RCPT. */
  phase?: Phase
  /** SMTP code; null for a report that has none. */
  code: number | null
  enhanced: string | null
  /** The whole reply, lines joined by \n. */
  reply: string
  /** Whether the relay said it that all mail goes to. False or absent: a server of the recipient. */
  ofRelay?: boolean
}

/** All rows in their order. Words that say ours, full or rate stand before the codes that suppress. */
const rules: readonly BounceRule[] = [
  ...exceptions,
  ...ourWords,
  ...mailboxWords,
  ...recipientWords,
  ...contentWords,
  ...codes,
]

/** The bounce of a delivery that expired without a reply of a server. */
export const retriesExhausted: Bounce = expired

/** The bounce of a delivery of which no status is known. */
export const undetermined: Bounce = {
  type: 'Undetermined',
  subtype: 'Undetermined',
  final: true,
  fault: 'unknown',
}

/**
 * Classifies a refusal: what it shows, whether it ends the mail, whose fault it is. A 4xx never ends a mail, and a
 * refusal before RCPT is never about the recipient.
 */
export function classifyReply(reply: Reply): Bounce {
  // A report may have only an enhanced status. Its class then serves as the code.
  const code = String(
    reply.code ?? (reply.enhanced === null ? '' : `${reply.enhanced.charAt(0)}00`),
  )
  const text = wordsOf(reply.reply)
  const rule = rules.find(
    (row) =>
      (row.enhanced === undefined || row.enhanced.test(reply.enhanced ?? '')) &&
      (row.code === undefined || row.code.test(code)) &&
      (row.text === undefined || row.text.test(text)) &&
      (row.ofRelay === undefined || isOfRelay(row.ofRelay, reply)),
  )
  const found = rule?.bounce ?? undetermined
  const bounce = code.startsWith('4') ? { ...found, final: false } : found
  return beforeRecipient(bounce, reply, code.startsWith('5'))
}

function isOfRelay(when: NonNullable<BounceRule['ofRelay']>, { ofRelay, phase }: Reply): boolean {
  return ofRelay === true && (when === 'always' || phase === 'mail' || phase === 'rcpt')
}

/**
 * How a bounce counts against the address: `for_good` suppresses it, `soft` counts towards that. Only what the
 * recipient's address or mailbox is the reason for does either.
 */
export function suppressionBy(bounce: Bounce): 'no' | 'soft' | 'for_good' {
  switch (bounce.fault) {
    case 'recipient':
      return 'for_good'
    case 'mailbox':
      return 'soft'
    default:
      return 'no'
  }
}

/**
 * What a refusal before RCPT means: nobody has named the recipient yet, so it is about us. A fault of the mail
 * itself (its size, its encoding) ends it nevertheless.
 */
function beforeRecipient(bounce: Bounce, { phase, enhanced }: Reply, isRefusal: boolean): Bounce {
  switch (phase) {
    case 'connect':
      return { ...bounce, final: false }
    case 'banner':
    case 'ehlo':
    case 'tls':
      if (bounce.fault === 'ours') return bounce
      return isRefusal ? oursBy.address : laterPerhaps
    case 'mail':
      if (bounce.fault === 'ours' || isOfTheMail(bounce, enhanced)) return bounce
      return isRefusal ? oursBy.sender : laterPerhaps
    default:
      return bounce
  }
}

const isOfTheMail = (bounce: Bounce, enhanced: string | null) =>
  bounce.subtype === 'MessageTooLarge' || /^5\.6\./.test(enhanced ?? '')

/** Codes at the beginning of a line, which break sentences of long replies. */
const LINE_START = /\r?\n(?:\d{3}(?:[ -]|$))?(?:[245]\.\d{1,3}\.\d{1,3} ?)?/g
/** Addresses, so that no name of a mailbox reads as a word of the server. */
const ADDRESS = /[^\s@<>"'()[\],;:]{1,128}@[^\s@<>"'()[\],;:]{1,255}/g

function wordsOf(reply: string): string {
  return reply.replace(LINE_START, ' ').replace(ADDRESS, '@')
}
