// Schemas of emails: list items and single emails.
import { z } from '@hono/zod-openapi'
import type { EmailEventRow, EmailListRow, EmailRow } from '../../db/emails/reads.ts'
import { textInTurns } from '../../mail/content/text.ts'
import type { Json, JsonObject } from '../../rules/json.ts'
import { pageFields } from '../http/fields.ts'
import {
  EmailEvent,
  type EmailStatus,
  type eventFields,
  RecipientEvents,
  RecipientStatus,
} from './eventSchemas.ts'

/** The fields that `?expand=details` adds. */
const details = {
  cc: z.array(z.string()).optional(),
  bcc: z.array(z.string()).optional(),
  reply_to: z.array(z.string()).optional(),
  tags: z.record(z.string(), z.string()).optional(),
  metadata: z.record(z.string(), z.unknown()).optional(),
  headers: z
    .record(z.string(), z.string())
    .optional()
    .openapi({ description: 'Those that the request set' }),
  status: z.enum(['scheduled', 'queued', 'settled']).optional().openapi({
    description:
      '`scheduled` while it waits for its time, `settled` when no recipient is still to be sent to',
  }),
  scheduled_at: z
    .int()
    .nullable()
    .optional()
    .openapi({ description: 'The time for which it was scheduled; null: it was sent at once' }),
  broadcast_id: z.string().nullable().optional().openapi({ description: 'Always null for now' }),
}

const common = {
  id: z.string(),
  type: z
    .enum(['transactional', 'broadcast'])
    .openapi({ description: 'Mail of the API and of workflows is `transactional`' }),
  to: z.array(z.string()).openapi({ description: 'As given; cc and bcc are not among them' }),
  subject: z.string().openapi({ description: 'As it was sent, with the values of a template' }),
  last_event: EmailEvent.openapi({ description: 'The latest of all recipients' }),
  email_sent_timestamp: z.int().openapi({
    description:
      'When it was accepted, or the time for which it was scheduled, in milliseconds since 1970 (UTC)',
  }),
}

const recipientsNote = 'Of each address of to, cc and bcc'

export const EmailListItem = z
  .object({
    ...common,
    recipient_statuses: z
      .array(RecipientStatus)
      .openapi({ description: `${recipientsNote}: its latest event` }),
    ...details,
  })
  .openapi('EmailListItem')
export type EmailListItem = z.infer<typeof EmailListItem>

export const EmailList = z
  .object({ emails: z.array(EmailListItem), ...pageFields })
  .openapi('EmailList')

export const Email = z
  .object({
    ...common,
    template_id: z.string().nullable().openapi({ description: 'Null: it was not made from one' }),
    domain_id: z.string().openapi({ description: 'The domain of `from`' }),
    html: z.string().openapi({ description: 'Empty when the email has none' }),
    text: z.string().openapi({ description: 'Made from the html when none was given' }),
    from: z.string().openapi({ description: 'As given, with a display name if it had one' }),
    recipient_statuses: z
      .array(RecipientEvents)
      .openapi({ description: `${recipientsNote}: all of its events` }),
    ...details,
  })
  .openapi('Email')
export type Email = z.infer<typeof Email>

const engagement = ['user_agent', 'ip'] as const

/** The fields that each status adds to an event, in the order in which they are shown. */
const shownFields: Record<EmailStatus, readonly (keyof typeof eventFields)[]> = {
  scheduled: [],
  sent: [],
  delivered: ['processing_time_millis', 'reporting_mta', 'smtp_response'],
  opened: engagement,
  clicked: ['link', ...engagement],
  bounced: ['type', 'subtype'],
}

function pick(data: JsonObject, fields: readonly string[]): Record<string, Json> {
  return Object.fromEntries(
    fields.flatMap((field) => (data[field] === undefined ? [] : [[field, data[field]]])),
  )
}

const toEmailEvent = (row: EmailEventRow): z.infer<typeof EmailEvent> => ({
  status: row.status,
  timestamp: row.at.getTime(),
  recipient: row.recipient,
  ...pick(row.data, shownFields[row.status]),
})

const toRecipientStatus = (row: EmailEventRow): z.infer<typeof RecipientStatus> => ({
  recipient: row.recipient,
  status: row.status,
  timestamp: row.at.getTime(),
  ...(row.status === 'bounced' ? pick(row.data, shownFields.bounced) : {}),
})

/** The latest event of all recipients by time, then by id. */
function latestOf(events: EmailEventRow[]): EmailEventRow {
  const [first, ...others] = events
  if (!first) throw new Error('an email has no event')
  return others.reduce((latest, row) => (isLater(row, latest) ? row : latest), first)
}

function latestOfEach(events: EmailEventRow[]): EmailEventRow[] {
  const latest = new Map<string, EmailEventRow>()
  for (const row of events) {
    const known = latest.get(row.recipient)
    if (!known || isLater(row, known)) latest.set(row.recipient, row)
  }
  return [...latest.values()]
}

function isLater(a: EmailEventRow, b: EmailEventRow): boolean {
  const by = a.at.getTime() - b.at.getTime()
  return by > 0 || (by === 0 && a.id > b.id)
}

/** @param latest of each recipient the latest event */
function toDetails(row: EmailListRow | EmailRow, latest: EmailEventRow[]) {
  return {
    cc: row.cc,
    bcc: row.bcc,
    reply_to: row.reply_to,
    tags: row.tags,
    metadata: row.metadata,
    headers: row.headers,
    status: statusOf(row, latest),
    scheduled_at: row.scheduled_at?.getTime() ?? null,
    broadcast_id: null,
  }
}

function statusOf(
  { open }: { open: boolean },
  latest: EmailEventRow[],
): 'scheduled' | 'queued' | 'settled' {
  // One of its recipients may be erased while the others wait for their time.
  if (latest.some(({ status }) => status === 'scheduled')) return 'scheduled'
  return open ? 'queued' : 'settled'
}

const sentAt = ({ scheduled_at, created_at }: EmailListRow | EmailRow): number =>
  (scheduled_at ?? created_at).getTime()

export const toEmailListItem = (row: EmailListRow, expand: boolean): EmailListItem => ({
  id: row.id,
  type: row.type,
  to: row.to,
  subject: row.subject,
  last_event: toEmailEvent(latestOf(row.latest)),
  email_sent_timestamp: sentAt(row),
  recipient_statuses: row.latest.map(toRecipientStatus),
  ...(expand ? toDetails(row, row.latest) : {}),
})

/** @param events all of the email's events in time order */
export const toEmail = async (
  row: EmailRow,
  events: EmailEventRow[],
  expand: boolean,
): Promise<Email> => ({
  id: row.id,
  type: row.type,
  to: row.to,
  subject: row.subject,
  email_sent_timestamp: sentAt(row),
  last_event: toEmailEvent(latestOf(events)),
  template_id: row.template_id,
  domain_id: row.domain_id,
  html: row.html ?? '',
  text: row.text ?? (await textInTurns(row.html ?? '')),
  from: row.from,
  recipient_statuses: toRecipientEvents(events),
  ...(expand ? toDetails(row, latestOfEach(events)) : {}),
})

function toRecipientEvents(events: EmailEventRow[]): z.infer<typeof RecipientEvents>[] {
  const byRecipient = new Map<string, EmailEventRow[]>()
  // The first event of every recipient was written with the email, in the order of the recipients.
  for (const row of [...events].sort((a, b) => a.id - b.id)) {
    if (!byRecipient.has(row.recipient)) byRecipient.set(row.recipient, [])
  }
  for (const row of events) byRecipient.get(row.recipient)?.push(row)
  // What was scheduled shows so until something else has happened.
  for (const [recipient, rows] of byRecipient) {
    const others = rows.filter(({ status }) => status !== 'scheduled')
    if (others.length > 0) byRecipient.set(recipient, others)
  }
  return [...byRecipient].map(([recipient, rows]) => ({
    recipient,
    events: rows.map((row) => ({
      status: row.status,
      timestamp: row.at.getTime(),
      ...(row.status === 'delivered' ? {} : pick(row.data, shownFields[row.status])),
    })),
  }))
}
