// The three answers to a refusal: what it shows, whether it ends the mail, and whose fault it is.

type BounceType = 'Permanent' | 'Transient' | 'Undetermined'

type BounceSubtype =
  | 'General'
  | 'NoEmail'
  | 'MailboxFull'
  | 'MessageTooLarge'
  | 'ContentRejected'
  | 'AttachmentRejected'
  | 'Undetermined'

/** What a refusal that is our fault speaks of, and so what would be refused again. */
type OurPart =
  /** The sender's address or domain, or its authentication (SPF, DKIM, DMARC). */
  | 'sender'
  /** The network address that we send from: its reputation, its reverse name, its EHLO name, its TLS. */
  | 'address'
  /**
   * The login or account at the relay: credentials, quota, permission to relay. In direct delivery: the recipient's server
   * takes no mail for that domain, or wants a login.
   */
  | 'account'

/**
 * Whose fault a refusal is.
 * - `recipient`: the address or its host does not exist or is closed. Only this suppresses.
 * - `mailbox`: the mailbox exists, and is full or gets too much mail. Counts as a soft bounce.
 * - `content`: this mail was not wanted; another one may be.
 * - `ours`: this service or its operator has to change something. Never ends a mail before its expiry.
 * - `unknown`: the receiving server's, its rules, the way to it, or not said. Has no consequence for the address.
 */
type Fault =
  | { fault: 'recipient' | 'mailbox' | 'content' | 'unknown' }
  | { fault: 'ours'; speaksOf: OurPart }

export type Bounce = {
  /** What the `bounced` event shows, at once or at the mail's expiry. */
  type: BounceType
  subtype: BounceSubtype
  /** Whether it ends the mail now. False: the mail is tried again until it expires. */
  final: boolean
} & Fault

/** A row of the bounce rules: all parts that it has must match. */
export interface BounceRule {
  /** Enhanced status, for example `5.1.1`. */
  enhanced?: RegExp
  code?: RegExp
  /** Words of the reply on one line, without codes at the beginnings of lines, each address as `@`. */
  text?: RegExp
  /** Only for what the relay says that all mail goes to: at any time, or in answer to MAIL or RCPT. */
  ofRelay?: 'always' | 'before_content'
  bounce: Bounce
}

const permanent = { type: 'Permanent', subtype: 'General' } as const
const transient = { type: 'Transient', subtype: 'General' } as const

export const noEmail: Bounce = {
  type: 'Permanent',
  subtype: 'NoEmail',
  final: true,
  fault: 'recipient',
}
/** The recipient's domain takes no mail at all. */
export const noMailHost: Bounce = { ...permanent, final: true, fault: 'recipient' }
/** A refusal for good that says nothing against the address. */
export const refused: Bounce = { ...permanent, final: true, fault: 'unknown' }
/** The mailbox exists, and refuses for a reason of its own. */
export const mailboxRefuses: Bounce = { ...permanent, final: true, fault: 'mailbox' }
export const mailboxFull: Bounce = {
  type: 'Transient',
  subtype: 'MailboxFull',
  final: true,
  fault: 'mailbox',
}
/** The mailbox gets more mail than it may, or is closed for a while. */
export const mailboxBusy: Bounce = { ...transient, final: true, fault: 'mailbox' }
export const tooLarge: Bounce = {
  type: 'Transient',
  subtype: 'MessageTooLarge',
  final: true,
  fault: 'content',
}
export const contentRejected: Bounce = {
  type: 'Transient',
  subtype: 'ContentRejected',
  final: true,
  fault: 'content',
}
export const attachmentRejected: Bounce = {
  type: 'Transient',
  subtype: 'AttachmentRejected',
  final: true,
  fault: 'content',
}
/** Tried until its time was over. */
export const expired: Bounce = { ...transient, final: true, fault: 'unknown' }
export const laterPerhaps: Bounce = { ...transient, final: false, fault: 'unknown' }

export const oursBy = {
  sender: { ...transient, final: false, fault: 'ours', speaksOf: 'sender' },
  address: { ...transient, final: false, fault: 'ours', speaksOf: 'address' },
  account: { ...transient, final: false, fault: 'ours', speaksOf: 'account' },
} as const satisfies Record<OurPart, Bounce>

/** A pattern that matches where one of these does, in any case of letters. */
export const anyOf = (...patterns: RegExp[]) =>
  new RegExp(patterns.map(({ source }) => source).join('|'), 'i')
