// What a stored email is composed from.
import {
  type EmailContent,
  isTransactional,
  type readHeavyParts,
} from '../../db/emails/contents.ts'
import type { ComposeInput } from '../../mail/compose/input.ts'
import { unsubscribeMailbox } from '../../mail/tracking/mailboxes.ts'
import { withoutToken } from '../../mail/tracking/tokens.ts'
import { parseMailbox } from '../../rules/addresses.ts'
import { automaticOf, feedbackId } from '../../rules/mail/classes.ts'
import type { Tracker } from './trackers.ts'

/** A delivery whose recipient an email is composed for. */
export interface ReaderOf {
  id: number
  /** True: they are of the team, and must not unsubscribe the contact by the links of a copy. */
  to_team: boolean
}

type Leaving = Pick<EmailContent, 'unsubscribe_token'>

/** The html with tracking; the text part stays that of the html without tracking. */
export function tracked(
  input: ComposeInput,
  email: Leaving,
  tracker: Tracker,
  delivery: ReaderOf,
): ComposeInput {
  const own = { ...input, html: tracker.htmlFor(delivery.id), text: tracker.text }
  return untracked(own, email, delivery)
}

/** What the recipient gets where nothing is tracked. @param delivery null: as the contact gets it */
export function untracked(
  input: ComposeInput,
  { unsubscribe_token: token }: Leaving,
  delivery: ReaderOf | null,
): ComposeInput {
  if (token === null || !delivery?.to_team) return input
  return { ...withoutToken(input, token), unsubscribe: null }
}

/**
 * @param parts long bodies and attachments of the email
 * @throws Error for an address that does not parse
 */
export function toComposeInput(
  email: EmailContent,
  { html, text, attachments }: Awaited<ReturnType<typeof readHeavyParts>>,
  publicUrl: string,
  mailFromDomain: string,
): ComposeInput {
  const token = isTransactional(email) ? null : email.unsubscribe_token
  return {
    id: email.id,
    from: mailbox(email.from),
    to: email.to.map(mailbox),
    cc: email.cc.map(mailbox),
    replyTo: email.reply_to.map(mailbox),
    subject: email.subject,
    html,
    text,
    date: email.created_at,
    messageId: email.message_id,
    headers: email.headers,
    attachments: attachments.map((part) => ({
      filename: part.filename,
      contentType: part.content_type,
      contentId: part.content_id,
      content: part.content,
    })),
    unsubscribe: token
      ? { url: `${publicUrl}/u/${token}`, mailto: unsubscribeMailbox(token, mailFromDomain) }
      : null,
    feedbackId: feedbackId(email),
    automatic: automaticOf(email),
  }
}

/** Addresses were parsed when the email was accepted. One that no longer parses must not be sent to. */
function mailbox(text: string) {
  const parsed = parseMailbox(text)
  if (!parsed) throw new Error('a stored address does not parse')
  return parsed
}
