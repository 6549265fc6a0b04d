// Bounce rules for replies whose words said nothing: codes alone. The comment above each row is the reply that it is
// for, or what the registry of enhanced status codes says.
import {
  type BounceRule,
  contentRejected,
  expired,
  laterPerhaps,
  mailboxBusy,
  mailboxFull,
  mailboxRefuses,
  noEmail,
  noMailHost,
  oursBy,
  refused,
  tooLarge,
} from './answers.ts'

export const codes: readonly BounceRule[] = [
  // 504 5.7.4 (login method), 525 5.7.13 (login disabled), 5.7.57 and 5.7.64 (Microsoft: no login, no connector)
  { enhanced: /^5\.7\.(3|4|8|9|11|13|14|57|64)$/, bounce: oursBy.account },
  // 550 5.7.26, 5.7.27, 5.7.30, 5.7.40 (Gmail), 5.7.20 to 5.7.24 (RFC 7372), 5.7.509, 5.7.515, 5.7.501 to 503 (Microsoft)
  { enhanced: /^\d\.7\.(2[0-4]|2[67]|3[0-2]|40|50[1-39]|515)$/, bounce: oursBy.sender },
  // 550 5.7.25 (no PTR), 5.7.28 (unusual rate), 5.7.29 (TLS), 5.7.506, 508, 510, 511, 606 to 649 (Microsoft)
  { enhanced: /^\d\.7\.(25|28|29|506|508|51[01]|60[6-9]|6[1-4]\d)$/, bounce: oursBy.address },
  // 550 5.7.705 (the tenant sends too much), 5.7.750 (an unregistered domain) (Microsoft)
  { enhanced: /^5\.7\.7([0-4]\d|50)$/, bounce: oursBy.account },
  // 550 5.1.1, 5.1.3, 5.1.6: no such mailbox, no address, moved. Not 550 4.1.1: what contradicts itself suppresses nobody.
  { enhanced: /^5\.1\.[136]$/, code: /^5/, bounce: noEmail },
  // 556 5.1.10: null MX (RFC 7505)
  { enhanced: /^5\.1\.10$/, code: /^5/, bounce: noMailHost },
  { code: /^556$/, bounce: noMailHost },
  // 550 5.2.1: the mailbox is closed
  { enhanced: /^5\.2\.1$/, code: /^5/, bounce: noEmail },
  // 452 4.2.2, 552 5.2.2: the mailbox is full
  { enhanced: /^\d\.2\.2$/, bounce: mailboxFull },
  // 552 5.3.4, 550 5.2.3: the mail is larger than it may be
  { enhanced: /^\d\.(3\.4|2\.3)$/, bounce: tooLarge },
  // 450 4.2.0: something about the mailbox
  { enhanced: /^\d\.2\.\d+$/, code: /^4/, bounce: mailboxBusy },
  { enhanced: /^5\.2\.\d+$/, code: /^5/, bounce: mailboxRefuses },
  // 554 4.4.7, 550 5.4.7: the time of the mail was over
  { enhanced: /^\d\.4\.7$/, bounce: expired },
  // 550 5.7.1 (of a relay, to MAIL or RCPT: it does not take mail from us)
  { ofRelay: 'before_content', enhanced: /^5\.7\.[01]$/, bounce: oursBy.account },
  // 554 5.6.0: the mail cannot be read; 550 5.7.1: it is not wanted
  { enhanced: /^5\.[67]\.\d+$/, bounce: contentRejected },
  // 550 Requested action not taken
  { code: /^5/, bounce: refused },
  // 451 4.3.0 Temporary server problem, come back later
  { code: /^4/, bounce: laterPerhaps },
]
