// Parses a message to a return path: a bounce, a complaint, or something to ignore.
import type { Email } from 'postal-mime'
import type { InboundReport } from '../../rules/mail/inboundReport.ts'
import { isAutoReply } from './autoReplies.ts'
import { readDeliveryStatus } from './deliveryStatus.ts'
import { feedbackFields, toReport } from './feedbackFields.ts'
import { findPart, parseMail } from './parseMail.ts'
import { readTextBounce } from './textBounces.ts'

const BODY_CHARS_MAX = 64 * 1024

/** RFC 6533 has the same parts with UTF-8. */
const DELIVERY_STATUS = /^message\/(?:global-)?delivery-status$/

/**
 * Parses a report. Never throws: a message that cannot be parsed is `unreadable`. @param raw the message as it
 * came by SMTP
 */
export async function parseReport(raw: Buffer): Promise<InboundReport> {
  const parsed = await parseMail(raw)
  if (parsed === null) return { kind: 'nothing', what: 'unreadable' }
  const { mail, bytes } = parsed
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
  const fields = feedbackFields(mail)
  return fields === null ? null : toReport(fields)
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
