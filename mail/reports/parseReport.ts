// Parses a message to a return path: a bounce, a complaint, or something to ignore.
import PostalMime, { type Attachment, type Email } from 'postal-mime'
import type { InboundReport } from '../../rules/mail/inboundReport.ts'
import { isAutoReply } from './autoReplies.ts'
import { readDeliveryStatus } from './deliveryStatus.ts'
import { readFieldGroups } from './reportFields.ts'
import { readTextBounce } from './textBounces.ts'

/**
 * A report comes before the returned message, and parsing takes time for each line. Nothing beyond these limits is
 * parsed, so that nobody can block the process, which also sends mail.
 */
const BYTES_MAX = 512 * 1024
const LINES_MAX = 40_000
/** A report has two levels. Deeper nesting or a larger header is an attack on the parser. */
const DEPTH_MAX = 20
const HEADER_BYTES_MAX = 128 * 1024
const BODY_CHARS_MAX = 64 * 1024

/** RFC 6533 has the same parts with UTF-8. */
const DELIVERY_STATUS = /^message\/(?:global-)?delivery-status$/
const FEEDBACK_REPORT = /^message\/feedback-report$/

/**
 * Feedback types that are complaints. Others (RFC 5965 section 7.3, RFC 6591, RFC 6430) mean something else:
 * `not-spam` even withdraws a complaint.
 */
const complaintTypes: readonly string[] = ['abuse', 'fraud', 'opt-out', 'opt-out-list']

/**
 * Parses a report. Never throws: a message that cannot be parsed is `unreadable`. @param raw the message as it
 * came by SMTP
 */
export async function parseReport(raw: Buffer): Promise<InboundReport> {
  const bytes = beginning(raw)
  let mail: Email
  try {
    mail = await PostalMime.parse(bytes, {
      // The returned message is an attachment, not a part of the report's text.
      forceRfc822Attachments: true,
      maxNestingDepth: DEPTH_MAX,
      maxHeadersSize: HEADER_BYTES_MAX,
    })
  } catch {
    return { kind: 'nothing', what: 'unreadable' }
  }
  return fromStatus(mail) ?? fromFeedback(mail) ?? fromText(mail, bytes)
}

/** True for a report of a feedback loop. Those do not come from the null sender `<>`. */
export function isFeedback(report: InboundReport): boolean {
  return report.kind === 'complaint' || (report.kind === 'nothing' && report.what === 'feedback')
}

function fromStatus(mail: Email): InboundReport | null {
  const part = findPart(mail, DELIVERY_STATUS)
  const found = part === null ? null : readDeliveryStatus(part)
  if (found === null) return null
  if (found.action !== 'failed') return { kind: 'nothing', what: found.action }
  return { kind: 'bounce', bounce: found.bounce, status: found.status }
}

function fromFeedback(mail: Email): InboundReport | null {
  const part = findPart(mail, FEEDBACK_REPORT)
  if (part === null) return null
  const field = readFieldGroups(part).find((group) => group.has('feedback-type'))
  const feedbackType = (field?.get('feedback-type') ?? '').toLowerCase()
  return complaintTypes.includes(feedbackType)
    ? { kind: 'complaint', feedbackType }
    : { kind: 'nothing', what: 'feedback' }
}

function fromText(mail: Email, bytes: Buffer): InboundReport {
  const header = (name: string) => mail.headers.find(({ key }) => key === name)?.value
  // Without attachments the parser may have found no text either: the whole body is used then.
  const isWhole = mail.attachments.length === 0
  const bounced = readTextBounce({
    subject: mail.subject ?? '',
    header,
    from: header('from') ?? '',
    body: mail.text || withoutTags(mail.html ?? '') || (isWhole ? withoutHeader(bytes) : ''),
  })
  if (bounced?.bounce) return { kind: 'bounce', bounce: bounced.bounce, status: bounced.status }
  if (bounced) return { kind: 'nothing', what: 'delayed' }
  return { kind: 'nothing', what: isAutoReply(header) ? 'auto_reply' : 'unrecognized' }
}

function findPart({ attachments }: Email, type: RegExp): string | null {
  const part = attachments.find(({ mimeType }) => type.test(mimeType))
  return part ? textOf(part) : null
}

/** The fields are ASCII or UTF-8 (RFC 6533). Other bytes are replaced, which affects only texts. */
function textOf({ content }: Attachment): string {
  return typeof content === 'string' ? content : new TextDecoder().decode(content)
}

function beginning(raw: Buffer): Buffer {
  let end = -1
  for (let lines = 0; lines < LINES_MAX; lines++) {
    end = raw.indexOf(0x0a, end + 1)
    if (end === -1 || end >= BYTES_MAX) return raw.subarray(0, BYTES_MAX)
  }
  return raw.subarray(0, end + 1)
}

function withoutHeader(bytes: Buffer): string {
  const text = bytes.subarray(0, BODY_CHARS_MAX).toString('latin1')
  return text.slice(/\r?\n\r?\n/.exec(text)?.index ?? text.length)
}

function withoutTags(html: string): string {
  return html
    .slice(0, BODY_CHARS_MAX)
    .replace(/<(?:br|\/p|\/div|\/tr|\/h\d)\b[^<>]{0,200}>/gi, '\n')
    .replace(/<[^<>]{0,2000}>/g, ' ')
    .replace(/[ \t]+/g, ' ')
    .replace(/\n +/g, '\n')
}
