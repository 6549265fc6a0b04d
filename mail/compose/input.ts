// The input of message composition.
import type { Automatic } from '../../rules/mail/classes.ts'

export interface MailAddress {
  /** Display name; null or empty for none. */
  name: string | null
  address: string
}

export interface ComposeAttachment {
  filename: string
  content: Buffer
  /** null: guessed from the file name. */
  contentType: string | null
  /** If set, the attachment is inline, for `cid:` links of the html. Without angle brackets. */
  contentId: string | null
}

export interface ComposeInput {
  /** The email's id, from which MIME boundaries are derived. */
  id: string
  from: MailAddress
  to: MailAddress[]
  cc: MailAddress[]
  replyTo: MailAddress[]
  subject: string
  html: string | null
  /** null: made from the html. */
  text: string | null
  /** When the email was accepted. */
  date: Date
  /** Without angle brackets. */
  messageId: string
  /** The caller's own headers. Those that this module sets are left out. */
  headers: Record<string, string>
  attachments: ComposeAttachment[]
  /** Sets List-Unsubscribe and List-Unsubscribe-Post (RFC 8058). */
  unsubscribe: { url: string; mailto?: string } | null
  feedbackId: string | null
  /** Whether the mail says that nobody wrote it (RFC 3834), so that nothing answers it by itself. */
  automatic: Automatic
}
