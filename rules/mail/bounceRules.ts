// The bounce rules: what an SMTP refusal means. The first matching row decides.
import type { Phase } from './phases.ts'

type BounceType = 'Permanent' | 'Transient' | 'Undetermined'

type BounceSubtype =
  | 'General'
  | 'NoEmail'
  | 'MailboxFull'
  | 'MessageTooLarge'
  | 'ContentRejected'
  | 'AttachmentRejected'
  | 'OnAccountSuppressionList'
  | 'Undetermined'

export interface Bounce {
  type: BounceType
  subtype: BounceSubtype
  /** The address does not work: suppress it. */
  suppress: boolean
  /**
   * The refusal is about this service (reputation, DNS records, credentials), not the recipient. Never suppresses.
   */
  ours: boolean
}

export interface Reply {
  /** The phase of the refusal; if absent, it counts as one after RCPT. */
  phase?: Phase
  /** SMTP code; null for a report that has none. */
  code: number | null
  enhanced: string | null
  reply: string
}

interface Rule {
  enhanced?: RegExp
  code?: RegExp
  text?: RegExp
  bounce: Bounce
}

const noEmail = bounce('Permanent', 'NoEmail')
const permanent = bounce('Permanent', 'General')
const mailboxFull = bounce('Transient', 'MailboxFull')
const tooLarge = bounce('Transient', 'MessageTooLarge')
const content = bounce('Transient', 'ContentRejected')
const attachment = bounce('Transient', 'AttachmentRejected')
const general = bounce('Transient', 'General')
const ours: Bounce = { ...general, ours: true }
const undetermined = bounce('Undetermined', 'Undetermined')

/** The bounce of a delivery that expired before a try succeeded. */
export const retriesExhausted: Bounce = general

/** The bounce of a recipient on the workspace's suppression list, to whom nothing is sent. */
export const onSuppressionList: Bounce = {
  ...bounce('Permanent', 'OnAccountSuppressionList'),
  suppress: false,
}

// All parts of a rule must match. The comment above each is an example of its replies.
const rules: readonly Rule[] = [
  // 550-5.2.1 The mailbox gets mail faster than it may at the moment.
  {
    enhanced: /^\d\.2\.1$/,
    text: /receiving mail (at a rate|too (quickly|fast|often))/i,
    bounce: general,
  },
  // 550-5.1.1 The account that you wrote to does not exist here.
  { enhanced: /^\d\.1\.[136]$/, code: /^5/, bounce: noEmail },
  // 550 5.2.1 This mailbox has been closed and takes no messages.
  { enhanced: /^\d\.2\.1$/, code: /^5/, bounce: noEmail },
  // 550 5.1.10 RESOLVER.ADR.RecipientNotFound; no mailbox has this address (Exchange)
  { enhanced: /^5\.1\.10$/, text: /RecipientNotFound|recipient not found/i, bounce: noEmail },
  // 553 5.1.8 The domain of the sender's address cannot be found.
  { enhanced: /^\d\.1\.[78]$/, code: /^5/, bounce: ours },
  // 550 5.4.7 It was tried until its time was over. (Exchange; others say 4.4.7)
  { enhanced: /^\d\.4\.7$/, bounce: general },
  // 550 5.1.2 No host for the domain of the recipient could be found.
  // 556 5.1.10 The domain of the recipient takes no mail (null MX).
  { enhanced: /^\d\.1\.(2|10)$/, code: /^5/, bounce: permanent },
  // 452-4.2.2 The inbox of the recipient is out of space.
  { enhanced: /^\d\.2\.2$/, bounce: mailboxFull },
  // 552 5.3.4 Your message is larger than the fixed limit of this system.
  { enhanced: /^\d\.(3\.4|2\.3)$/, bounce: tooLarge },
  // 550 5.7.26 Unauthenticated mail from this domain is not accepted: neither SPF nor DKIM passed.
  // 550 5.7.515 Access denied, the sending domain does not meet the required authentication level.
  { enhanced: /^\d\.7\.(2[0-9]|509|515)$/, bounce: ours },
  // 550 5.7.606 This sending address is banned; 5.7.705: its tenant sends too much. (Microsoft)
  { enhanced: /^\d\.7\.(5(0[1-9]|1[1-4])|6[0-4]\d|7[0-5]\d)$/, bounce: ours },
  // 535 5.7.8 User name or password not accepted.
  { code: /^(530|534|535|538)$/, bounce: ours },
  // 554 5.7.1 Service unavailable; client host [192.0.2.1] blocked using zen.spamhaus.example
  {
    code: /^[45]/,
    text: /\b(spamhaus|spamcop|barracudacentral|dnsbl|rbl|proofpoint|blocklist(ed)?|block list|black ?list(ed)?)\b/i,
    bounce: ours,
  },
  // 550 5.7.1 Rejected by the DMARC policy of the sender's domain.
  {
    code: /^5/,
    text: /\b(spf|dkim|dmarc)\b|unauthenticated (e-?mail|sender)|(reverse dns|ptr record|fcrdns)/i,
    bounce: ours,
  },
  // 552 5.7.0 This message was blocked since an attachment of this type may do harm.
  {
    code: /^5/,
    text: /\b(attachments?|attached file|file (type|name|extension)|executables?|macros?)\b/i,
    bounce: attachment,
  },
  // 554 5.6.0 The message could not be parsed.
  // 550 5.7.1 This message looks like unsolicited mail and was rejected.
  { enhanced: /^5\.[67]\.\d+$/, bounce: content },
  // 452 Over quota, please try later.
  // 452 The box has exceeded its storage allocation.
  {
    code: /^(452|552)$/,
    text: /quota|storage|mailbox (is )?full|full mailbox|insufficient (disk|system)? ?space/i,
    bounce: mailboxFull,
  },
  // 552 Message size exceeds fixed maximum message size
  { code: /^552$/, bounce: tooLarge },
  // 550 Mailbox over quota
  {
    code: /^[45]/,
    text: /over ?quota|quota (is )?exceeded|exceeded .{0,20}quota|(mailbox|inbox) (is )?full/i,
    bounce: mailboxFull,
  },
  // 554 message too big
  {
    code: /^5/,
    text: /(message|mail|size) .{0,20}(too (big|large)|exceeds)|exceeds .{0,20}size/i,
    bounce: tooLarge,
  },
  // 550 no such user here
  {
    code: /^5/,
    text: /no such (user|recipient|mailbox|person|account|address)|(user|recipient|mailbox|account|address)( \S+)? (is )?(unknown|not (found|known|exist(ing)?)|unavailable|invalid|does(n't| not) exist|inactive|disabled)|(unknown|invalid|nonexistent|non-existent) (user|recipient|mailbox|local part|account|address)|not a (valid|known) (user|recipient|mailbox)/i,
    bounce: noEmail,
  },
  // 554 delivery error: this person does not have an account here (Yahoo)
  // 550 Nobody of that name, no mailbox here by that name. (qmail)
  // 550 User not listed in the directory. (Domino)
  {
    code: /^5/,
    text: /(does(n't| not)|do(n't| not)) have an? .{0,60}account|no mailbox here|not listed in .{0,60}(directory|address book)|(unknown|illegal|invalid) (or (unknown|illegal|invalid) )?alias|(account|mailbox) (has been |is |was )?(disabled|deactivated|closed|deleted|suspended|discontinued)/i,
    bounce: noEmail,
  },
  // 550 5.4.1 Recipient address rejected: Access denied.
  {
    enhanced: /^5\.4\.1$/,
    text: /recipient address rejected: access denied/i,
    bounce: noEmail,
  },
  // 554 Transaction failed: spam message rejected.
  {
    code: /^5/,
    text: /\b(spam|unsolicited|bulk mail|content (rejected|filter)|policy|virus|malware|phishing|url(ibl|bl)?)\b/i,
    bounce: content,
  },
  // 550 Requested action not taken.
  { code: /^5/, bounce: permanent },
  // 451 4.3.0 Temporary server problem, come back later.
  { code: /^4/, bounce: general },
]

const beforeRecipient: readonly Phase[] = ['connect', 'banner', 'ehlo', 'tls', 'mail']

/**
 * Classifies a refusal, by the types and subtypes of a `bounced` email event. A refusal before RCPT is about this
 * service: it may end the delivery, but never suppresses the recipient.
 */
export function classifyReply(reply: Reply): Bounce {
  // A report may have only an enhanced status. Its class then serves as the code.
  const code = reply.code ?? (reply.enhanced === null ? '' : `${reply.enhanced.charAt(0)}00`)
  const rule = rules.find(
    (row) =>
      (row.enhanced === undefined || row.enhanced.test(reply.enhanced ?? '')) &&
      (row.code === undefined || row.code.test(String(code))) &&
      (row.text === undefined || row.text.test(reply.reply)),
  )
  const found = rule?.bounce ?? undetermined
  const early = reply.phase !== undefined && beforeRecipient.includes(reply.phase)
  return early && found.suppress ? ours : found
}

/**
 * True if a rejection ends the delivery: a 5xx about the sender, recipient or message. A 5xx before a message
 * begins (banner, EHLO, TLS, login) is about the server, so the delivery is tried again.
 */
export function isFinal(rejection: { phase: Phase; code: number }): boolean {
  return rejection.code >= 500 && !['connect', 'banner', 'ehlo', 'tls'].includes(rejection.phase)
}

function bounce(type: BounceType, subtype: BounceSubtype): Bounce {
  return { type, subtype, suppress: type === 'Permanent', ours: false }
}
