// Bounce rules for replies whose words or codes would mislead the rows after them. The comment above each row is
// the reply that it is for.
import {
  anyOf,
  type BounceRule,
  contentRejected,
  expired,
  laterPerhaps,
  mailboxBusy,
  noEmail,
  oursBy,
  refused,
  tooLarge,
} from './answers.ts'

export const exceptions: readonly BounceRule[] = [
  // 550 5.4.316 Message expired, connection refused (Exchange Online); Delivery time expired
  {
    text: anyOf(/message expired/, /delivery time expired/, /in the queue too long/),
    bounce: expired,
  },
  // 451 4.7.1 <@>: Recipient address rejected: Greylisted for 5 minutes; 454 Temporary authentication failure
  {
    code: /^4/,
    text: anyOf(/gr[ae]y ?-?list/, /temporary authentication failure/),
    bounce: laterPerhaps,
  },
  // 450 4.1.1 <@>: Recipient address rejected: unverified address: Address verification in progress
  {
    code: /^4/,
    text: anyOf(/unverified address/, /verification in progress/),
    bounce: laterPerhaps,
  },
  // 550-5.2.1 The user you are trying to contact is receiving mail at a rate that prevents … (Gmail)
  // 550 5.2.121 Recipient's per hour message receive limit from this sender exceeded (Exchange Online)
  {
    code: /^[45]/,
    text: anyOf(
      /receiving (e-?mail|mail|messages) (at a rate|too (quickly|fast|often))/,
      /message receive limit/,
      /recipient thread limit/,
      /exceeded their limit for/,
      /frequency of receiving/,
    ),
    bounce: mailboxBusy,
  },
  // 550 5.2.1 …: any other word for the rate of a mailbox that is not closed
  {
    code: /^[45]/,
    enhanced: /^\d\.2\.1$/,
    text: anyOf(/\brate\b/, /too (quickly|fast|often|many)/),
    bounce: mailboxBusy,
  },
  // 550 Envelope blocked - User Entry (Mimecast)
  // 550 5.7.513 Service unavailable, Client host [192.0.2.1] blocked by b.test using Customer Block list
  // 550 Mail is rejected by recipients (QQ)
  // 550 You are registered as spammer (by user's reject list) (Naver)
  // 550 5.7.1 Policy rejection on the target address (Yandex)
  // A list of the recipient's own is their choice.
  {
    code: /^5/,
    text: anyOf(
      /envelope blocked/,
      /manually blocked senders/,
      /block policy for (header|envelope)/,
      /customer block ?list/,
      /(user|recipient|personal)('s)? (block|black|reject|deny) ?list/,
      /rejected by (the )?recipients?\b/,
      /policy rejection on the target/,
      /recipient address rejected: block-/,
    ),
    bounce: refused,
  },
  // 550 5.7.124 Sender not in allowed-senders list; 550 5.7.133 Sender not authenticated for group (Exchange Online)
  // 550 5.7.1 RESOLVER.RST.AuthRequired; authentication required (Exchange: a group for members alone)
  {
    code: /^5/,
    text: anyOf(
      /allowed-senders list/,
      /sender (was )?not authenticated (for|by)/,
      /RST\.(AuthRequired|NotAuthorized|RestrictedToRecipientsPermission)/,
      /not authorized to send to (the|this) (recipient|group|mailbox)/,
      /delivery not authorized, message refused/,
    ),
    bounce: refused,
  },
  // 550 Mailbox unavailable or access denied (QQ, for a mailbox that gets too much)
  { code: /^5/, text: /mailbox unavailable or access deni/i, bounce: refused },
  // 550 Requested action not taken: mailbox unavailable; Reject due to policy restrictions (header based) (web.de)
  { text: /policy restrictions \(ip based\)/i, bounce: oursBy.address },
  { text: /policy restrictions \(domain based\)/i, bounce: oursBy.sender },
  { text: /reject due to policy restrictions/i, bounce: contentRejected },
  // 550 5.4.1 [@]: Recipient address rejected: Access denied. (Exchange Online, for addresses it does not know)
  {
    code: /^5/,
    enhanced: /^5\.(4\.1|1\.4|7\.504)$/,
    text: /recipient address(es)? rejected ?: access denied/i,
    bounce: noEmail,
  },
  // 550 A URL in this email (b.test) is listed on a blacklist; 554 5.7.1 Message contains a link on the SURBL
  // 550 5.7.1 Your email was rejected due to having a domain present in the Spamhaus DBL (iCloud)
  // A link or a domain in the mail, on a list, is its content.
  {
    text: anyOf(
      /\b(urls?|uris?|(hyper)?links?) (in|within|inside) (this|the|your)\b/,
      /contain(s|ing) (an? )?(\w{1,20} )?(url|uri|link|domain)s?\b/,
      /\b(spam|blacklisted|blocked|malicious|suspicious) (url|uri|link)s?\b/,
      /\b(surbl|uribl|ivmuri)\b/,
      /having a domain present in/,
      /nature of the content or the links/,
    ),
    bounce: contentRejected,
  },
  // 554 5.7.1 Invalid address in From header; 550 5.6.0 Header "To" contains invalid address; 550 Reply-To address does not exist
  // What a field of the header says is the mail's, also where it is an address.
  {
    code: /^5/,
    text: anyOf(
      /\b["']?(from|to|cc|sender|reply-to)["']?:? (header|field)\b/,
      /\bheader(s| field)?:? ["']?(from|to|cc|sender|reply-to)\b/,
      /\breply-to (e-?mail )?address\b/,
    ),
    bounce: contentRejected,
  },
  // 552 5.3.4 Message size exceeds fixed limit
  {
    code: /^5/,
    text: anyOf(
      /message (size|header size) (exceeds|limit)/,
      /exceeds (fixed )?(maximum )?message size/,
      /message size exceeds/,
    ),
    bounce: tooLarge,
  },
]
