// Bounce rules for words about a mailbox that exists: full, busy, or closed for a while. The comment above each row
// is the reply that it is for.
import { anyOf, type BounceRule, laterPerhaps, mailboxBusy, mailboxFull } from './answers.ts'

export const mailboxWords: readonly BounceRule[] = [
  // 452 4.3.1 Insufficient system storage: the server's disk, not the mailbox
  {
    code: /^4/,
    text: anyOf(
      /insufficient (system|disk) (storage|resources|space)(?!.{0,60}quota)/,
      /no space left/,
    ),
    bounce: laterPerhaps,
  },
  // 552 5.2.2 <@>: user is over quota (iCloud); 552 5.1.1 Boite du destinataire pleine. Recipient overquota (Orange)
  // 550 Requested mail action aborted: exceeded storage allocation, Quota exceeded (web.de)
  // 552 5.2.2 Mailbox size limit exceeded (Yandex); 452 4.2.2 The recipient's inbox is out of storage space (Gmail)
  {
    code: /^[45]/,
    text: anyOf(
      /over ?-?quota/,
      /quota.{0,40}(exceed|violat|full|reached)/,
      /exceed\w{0,4} .{0,30}(quota|storage)/,
      /\b(mailbox|inbox|mail box|account|user|recipient|mail folder)(.s)?( \S+)?( is| was)? .{0,20}\bfull\b/,
      /full mailbox/,
      /(mailbox|inbox|account|storage|disk) .{0,20}(limit|size|quota) (is |has been |was )?(reached|exce)/,
      /out of storage/,
      /storage (allocation|quota|limit)/,
      /\b(no|not enough|insufficient) .{0,20}(space|storage)/,
      /boite .{0,40}pleine/,
      /postfach .{0,20}voll/,
      /casella .{0,20}piena/,
    ),
    bounce: mailboxFull,
  },
  // 550 This account has been temporarily suspended
  {
    code: /^[45]/,
    text: /temporar(il)?y (suspended|disabled|blocked|locked|inactive)/i,
    bounce: mailboxBusy,
  },
]
