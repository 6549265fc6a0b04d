// Bounce rules for words about the mail itself: its size, its attachments, what it says. The comment above each row
// is the reply that it is for.
import { anyOf, attachmentRejected, type BounceRule, contentRejected, tooLarge } from './answers.ts'

export const contentWords: readonly BounceRule[] = [
  // 552 5.7.0 This message was blocked because its content presents a potential security issue. (Gmail: attachments)
  // 554 5.7.1 The attachment extension is forbidden; 552 5.7.0 illegal attachment
  {
    code: /^5/,
    text: /\b(attachments?|attached file|file (type|name|extension)|executables?|macros?)\b/i,
    bounce: attachmentRejected,
  },
  // 554 message too big; 550 #5.2.3 message too large; 554 Maximum email size exceeded (Mimecast)
  {
    code: /^5/,
    text: anyOf(
      /\b(message|mail|e-?mail|size|content) .{0,30}(too (big|large|long)|exceeds)/,
      /exceed\w{0,4} .{0,30}\bsize/,
      /(maximum|max) (e-?mail|message|mail)? ?size/,
      /taille limite/,
    ),
    bounce: tooLarge,
  },
  // 554 Email rejected due to security policies (Mimecast); 550 5.7.1 Message rejected due to local policy (iCloud)
  { code: /^5/, text: /polic(y|ies)\b/i, bounce: contentRejected },
  // 554 5.7.1 Spam message rejected; 550 Mail content denied (QQ); 451 DT:SPM (NetEase)
  {
    code: /^[45]/,
    text: anyOf(
      /\b(spam|junk ?mail|unsolicited|bulk mail|virus(es)?|malware|phishing|suspicious)\b/,
      /content (is |was )?(reject|filter|den|policy|restrict)/,
      /(banned|offensive|objectionable) content/,
      /rfc( ?\d+)?[ -]compliant/,
      /\bDT:SPM\b/,
      /mail rejet/,
      /message (considered|classified|identified) as/,
      /message refus/,
    ),
    bounce: contentRejected,
  },
]
