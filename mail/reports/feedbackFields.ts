// Reads the machine-readable part of a feedback report (RFC 5965 section 3).
import type { Email } from 'postal-mime'
import type { InboundReport } from '../../rules/mail/inboundReport.ts'
import { findPart } from './parseMail.ts'
import { type Fields, readFieldGroups } from './reportFields.ts'

const FEEDBACK_REPORT = /^message\/feedback-report$/

/**
 * Feedback types that are complaints. Others (RFC 5965 section 7.3, RFC 6591, RFC 6430) mean something else:
 * `not-spam` even withdraws a complaint.
 */
const complaintTypes: readonly string[] = ['abuse', 'fraud', 'opt-out', 'opt-out-list']

/** The fields of a message's feedback report; null if it has no such part. */
export function feedbackFields(mail: Email): Fields | null {
  const part = findPart(mail, FEEDBACK_REPORT)
  if (part === null) return null
  return readFieldGroups(part).find((group) => group.has('feedback-type')) ?? new Map()
}

/** What the fields say: a complaint, or something that is ignored. */
export function toReport(fields: Fields): InboundReport {
  const feedbackType = (fields.get('feedback-type') ?? '').toLowerCase()
  return complaintTypes.includes(feedbackType)
    ? { kind: 'complaint', feedbackType }
    : { kind: 'nothing', what: 'feedback' }
}
