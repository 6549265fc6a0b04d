// The SMTP reply for each refusal: its codes, and the text with the code of the HTTP interface.
import type { KeyFault } from '../../commands/emails/submitOnce.ts'
import { limits, MEBIBYTE } from '../../rules/limits.ts'
import type { Refusal, RefusalCode } from '../../rules/refusals.ts'
import { shownText } from '../../rules/shown.ts'
import { SmtpRefusal } from '../refusal.ts'

/** A reply has at most 512 characters with its code (RFC 5321 section 4.5.3.1.5). */
const TEXT_CHARS_MAX = 450

/** What a reply says. `code` is that of the HTTP interface; null where its answer has none. */
interface Said {
  reply: number
  /** RFC 3463. */
  enhanced: string
  code: string | null
  text: string
}

/** Makes the reply. What is no visible ASCII is shown as `?`, since not every client reads anything else. */
export function replyOf({ reply, enhanced, code, text }: Said): SmtpRefusal {
  const line = `${code === null ? '' : `${code}: `}${text}`.replace(/[^\x20-\x7e]/g, '?')
  return new SmtpRefusal(reply, `${enhanced} ${line.slice(0, TEXT_CHARS_MAX)}`)
}

/** The reply to what the message itself has wrong. @param code as the HTTP interface says it of its body */
export const badMessage = (text: string, code: string | null = 'invalid_request'): SmtpRefusal =>
  replyOf({ reply: 550, enhanced: '5.6.0', code, text })

/** What a submission never meets; if it did, its sender would keep the mail and be told to come again. */
type NotHere = null

type Replies = { [C in RefusalCode]: ((refusal: Refusal<C>) => Said) | NotHere }

const policy = (code: string, text: string): Said => ({ reply: 550, enhanced: '5.7.1', code, text })
const wrong = (code: string | null, text: string): Said => ({
  reply: 550,
  enhanced: '5.6.0',
  code,
  text,
})

/** Closed over all refusals: a new one does not compile until it is here. */
const replies: Replies = {
  daily_limit: ({ limit, ofKey, retry_after_s }) => ({
    reply: 451,
    enhanced: '4.7.0',
    code: 'daily_limit',
    text: `This ${ofKey ? 'API key' : 'workspace'} may send ${limit} emails a day; the next day begins in ${retry_after_s} s`,
  }),
  domain_not_found: ({ name }) =>
    policy('domain_not_found', `from: ${shownText(name)} is not a domain of this workspace`),
  domain_not_of_key: ({ name }) =>
    policy('domain_not_found', `from: this API key may not send from ${shownText(name)}`),
  domain_not_verified: ({ name }) =>
    policy('domain_not_verified', `from: the DNS records of ${shownText(name)} were not found`),
  html_too_large: ({ html_bytes }) => ({
    reply: 552,
    enhanced: '5.3.4',
    code: null,
    text: `html content size (${inMebibytes(html_bytes)}MB) exceeds maximum of ${limits.htmlBytesMax / MEBIBYTE}MB`,
  }),
  subject_missing: () => wrong(null, 'subject field is required'),
  subject_too_long: ({ chars }) =>
    wrong(
      'invalid_request',
      `subject must not exceed ${limits.subjectCharsMax} characters, has ${chars}`,
    ),
  alias_taken: null,
  api_key_ends_before: null,
  api_key_expired: null,
  api_key_gone: null,
  api_key_not_found: null,
  api_key_outlives: null,
  api_key_stronger: null,
  audience_contact_not_found: null,
  audience_not_found: null,
  batch_rendered_too_large: null,
  batch_templates_too_large: null,
  contact_not_found: null,
  contact_properties_refused: null,
  contact_unreadable: null,
  contact_unsubscribed: null,
  domain_exists: null,
  domain_id_not_found: null,
  email_template_not_found: null,
  event_id_reused: null,
  execution_not_found: null,
  execution_not_running: null,
  invalid_design: null,
  invalid_domain_name: null,
  invalid_template: null,
  invalid_tracking_domain: null,
  job_not_found: null,
  email_not_found: null,
  email_not_scheduled: null,
  job_not_running: null,
  not_suppressed: null,
  re_entry_refused: null,
  opted_out: null,
  renderer_busy: null,
  replay_in_progress: null,
  reserved_event_name: null,
  secret_not_found: null,
  segment_condition_invalid: null,
  segment_cycle: null,
  segment_in_use: null,
  segment_not_found: null,
  segment_too_wide: null,
  template_empty: null,
  template_in_use: null,
  template_lacks: null,
  template_not_found: null,
  template_not_of_key: null,
  template_not_published: null,
  template_too_slow: null,
  timestamp_ahead: null,
  too_many_secrets: null,
  too_many_webhooks: null,
  version_conflict: null,
  webhook_delivery_not_found: null,
  webhook_event_unknown: null,
  webhook_not_found: null,
  webhook_url_refused: null,
  workflow_not_active: null,
  workflow_not_found: null,
  workflow_version_not_found: null,
}

const inMebibytes = (bytes: number) => (bytes / MEBIBYTE).toFixed(2)

/** The reply for a refusal of a command. */
export function toReply<C extends RefusalCode>(refusal: Refusal<C>): SmtpRefusal {
  const said = replies[refusal.code as C] as ((refusal: Refusal<C>) => Said) | NotHere
  return said === null ? tryAgain() : replyOf(said(refusal))
}

/** The reply where the fault is ours: the sender keeps the mail and comes again. */
export const tryAgain = (): SmtpRefusal =>
  replyOf({
    reply: 451,
    enhanced: '4.3.0',
    code: 'service_unavailable',
    text: 'The service cannot take mail now, try again later',
  })

/** The reply to mail that comes, or waits, while the listener stops; it ends the connection. */
export const stopping = (): SmtpRefusal =>
  replyOf({
    reply: 421,
    enhanced: '4.3.2',
    code: 'service_unavailable',
    text: 'The service is stopping, send the mail again',
  })

/** The reply to a key that came before: another message with it is refused, one whose answer is not there yet comes again. */
export const keyReply = (fault: KeyFault): SmtpRefusal =>
  fault === 'reused'
    ? replyOf({
        reply: 550,
        enhanced: '5.6.0',
        code: 'idempotency_key_reused',
        text: 'idempotency_key came with another message before; use a new key for each',
      })
    : replyOf({
        reply: 451,
        enhanced: '4.3.0',
        code: 'idempotency_in_progress',
        text: 'a message with this idempotency_key is being taken now; send it again in a moment',
      })
