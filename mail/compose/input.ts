// What a message is composed of; the rest of this folder turns it into bytes.

export interface MailAddress {
  /** Display name; null or empty for none. */
  name: string | null
  address: string
}

export interface ComposeAttachment {
  filename: string
  content: Buffer
  /** Guessed from the file name when null. */
  contentType: string | null
  /** With it the attachment is inline, for `cid:` links of the html. Without angle brackets. */
  contentId: string | null
}

export interface ComposeInput {
  /** The email's id: seeds the MIME boundaries. */
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
}
