// Parses a report that came to the mailbox of feedback loops: what it says, and by what it names the mail.
import type { InboundReport } from '../../rules/mail/inboundReport.ts'
import { feedbackFields, toReport } from './feedbackFields.ts'
import { findPart, parseMail } from './parseMail.ts'

/** The reported message, or its header alone (RFC 5965 section 2), also with UTF-8 (RFC 6532). */
const REPORTED_MAIL =
  /^(?:message\/(?:rfc822|global)|text\/rfc822-headers|message\/global-headers)$/
const HEADER_CHARS_MAX = 64 * 1024
const RETURN_PATHS_MAX = 20

/** What could be a return path of ours, wherever it stands: in Return-Path, Received-SPF, Authentication-Results, … */
const RETURN_PATH = /b\+\d{1,16}\.[0-9a-f]{20}@[a-z0-9.-]{1,253}[a-z0-9]/gi
const MESSAGE_ID = /^message-id:[ \t]*<([^<>\s\p{Cc}]{1,500})>[ \t]*$/gimu
/** As `feedbackId` makes it. */
const FEEDBACK_ID = /^feedback-id:[ \t]*[\w-]{1,80}:[\w-]{1,80}:([\w-]{1,80}):dripline[ \t]*$/gim
/** How Microsoft's reports named the reader before they became reports by RFC 5965 (2026). */
const MICROSOFT = /^x-hmxmroriginalrecipient:/im

export interface Feedback {
  report: InboundReport
  /** Texts of the form of our return paths; whether their MACs are valid is for the caller to say. */
  returnPaths: string[]
  /** Of the reported mail, without angle brackets; null if it has none or several. */
  messageId: string | null
  /** That Feedback-ID of the reported mail names; null if it has none of ours or several. */
  workspaceId: string | null
}

/**
 * Parses a report of a feedback loop. The reported mail is its first part of such a type; of it the header alone is
 * read, since its body is what somebody else has written. Never throws.
 * @param raw the message as it came by SMTP
 */
export async function parseFeedback(raw: Buffer): Promise<Feedback> {
  const parsed = await parseMail(raw)
  const nothing = { returnPaths: [], messageId: null, workspaceId: null }
  if (parsed === null) return { report: { kind: 'nothing', what: 'unreadable' }, ...nothing }
  const header = headerOf(findPart(parsed.mail, REPORTED_MAIL) ?? '')
  const fields = feedbackFields(parsed.mail)
  const report = fields ? toReport(fields) : withoutFields(header)
  // RFC 5965 section 3.2: the return path of the reported mail.
  const texts = `${fields?.get('original-mail-from') ?? ''}\n${header}`
  const returnPaths = [...texts.matchAll(RETURN_PATH)].slice(0, RETURN_PATHS_MAX)
  return {
    report,
    returnPaths: returnPaths.map(([path]) => path),
    messageId: onlyIn(header, MESSAGE_ID),
    workspaceId: onlyIn(header, FEEDBACK_ID),
  }
}

function withoutFields(header: string): InboundReport {
  return MICROSOFT.test(header)
    ? { kind: 'complaint', feedbackType: 'abuse' }
    : { kind: 'nothing', what: 'unrecognized' }
}

/** The unfolded header of a message, or what there is of it. */
function headerOf(message: string): string {
  const text = message.slice(0, HEADER_CHARS_MAX)
  const end = /\r?\n\r?\n/.exec(text)?.index ?? text.length
  return text.slice(0, end).replace(/\r?\n(?=[ \t])/g, '')
}

/** What a field says that the header has once; null when it has none of that form, or several. */
function onlyIn(header: string, field: RegExp): string | null {
  const found = [...header.matchAll(field)]
  return found.length === 1 ? (found[0]?.[1] ?? null) : null
}
