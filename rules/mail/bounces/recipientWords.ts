// Bounce rules for words that say that an address does not exist or is closed. Only these and a few codes suppress.
// The comment above each row is the reply that it is for.
import { anyOf, type BounceRule, noEmail } from './answers.ts'

export const recipientWords: readonly BounceRule[] = [
  // 550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient not found by SMTP address lookup (Exchange)
  { code: /^5/, text: anyOf(/RecipientNotFound/, /recipient not found/), bounce: noEmail },
  // 550 5.1.1 <@>: Recipient address rejected: User unknown; 550 5.7.1 No such user! (Yandex)
  // 552 1 Requested mail action aborted, mailbox not found (Yahoo)
  // 550 Requested action not taken: mailbox unavailable (GMX, Outlook.com)
  {
    code: /^5/,
    text: anyOf(
      /no such (local )?(user|recipient|mailbox|person|account|address|id)\b/,
      // Not what is said of the sender or of our network address.
      /(?<!\b(?:ip|from:?|sender(?:.s)?|sending|originator(?:.s)?|return-path|reply-to|host|client) )\b(user|recipient|mailbox|account|addressee|address)( \S+)? (is |was )?(unknown|not (found|known|exist(ing)?|valid|listed in)|invalid|inactive|disabled|terminated|unrecognized|unallocated|does(n.t| not| no) exists?|could not be found)/,
      /mailbox unavailable/,
      /(unknown|invalid|nonexistent|non-existent|unrecognized) (user|recipient|mailbox|local part|account|address)/,
      /not a (valid|known) (user|recipient|mailbox|e-?mail address)/,
      /undeliverable address/,
      /address rejected: (undeliverable|invalid-recipient)/,
      /not in (the )?recipient list/,
      /marked as invalid/,
    ),
    bounce: noEmail,
  },
  // 554 delivery error: dd This user doesn't have a b.test account (Yahoo); … is no longer valid
  // 550 Sorry, no mailbox here by that name. (#5.1.1) (qmail); 550 User jo not listed in the Directory (Domino)
  // 550 5.1.1 unknown or illegal alias (iCloud); 550 5.2.1 This mailbox has been blocked due to inactivity (Free)
  {
    code: /^5/,
    text: anyOf(
      /(does(n.t| not)|do(n.t| not)) have an? .{0,60}account/,
      /no mail-?box here/,
      /not listed in .{0,60}(directory|address book)/,
      /(unknown|illegal|invalid) (or (unknown|illegal|invalid) )?alias/,
      /(?<!\b(?:from:?|sender(?:.s)?|sending|originator(?:.s)?) )\b(account|mailbox|user|recipient)( \S+)? (has been |is |was |is now )?(disabled|deactivated|closed|deleted|suspended|discontinued|terminated|not activ\w{1,8}|blocked due to inactivity|archived)/,
      /(account|mailbox) (that you tried to reach )?is (disabled|inactive)/,
      /inactive (e-?mail address|mbox|user)/,
      /invalid\/inactive/,
      /(suspended|deactivated|archived) (user|mailbox|recipient)/,
      /account closed/,
      /(@|user|mailbox|account|recipient|address)( is)? no longer (valid|on server|available|exists|active)/,
      /not our customer/,
      /mailbox is not allowed/,
      /utilisateur inconnu/,
      /destinataire (invalide|archivee)/,
      /compte du destinataire/,
      /(user|utente) (sconosciuto|unbekannt)/,
      /#5\.1\.0 address rejected/,
    ),
    bounce: noEmail,
  },
]
