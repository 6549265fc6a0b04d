// Emails as the API shows them: list items, the single form, and their events.
import { z } from '@hono/zod-openapi'
import type { EmailEventRow, EmailListRow, EmailRow } from '../../db/emails/reads.ts'
import { textInTurns } from '../../mail/content/text.ts'
import type { Json, JsonObject } from '../../rules/json.ts'

const statuses = ['sent', 'delivered', 'opened', 'clicked', 'bounced'] as const
type Status = (typeof statuses)[number]

const eventFields = {
  processing_time_millis: z.int().optional(),
  reporting_mta: z.string().optional(),
  smtp_response: z.string().optional(),
  type: z.string().optional(),
  subtype: z.string().optional(),
  link: z.string().optional(),
  user_agent: z.string().optional(),
  ip: z.string().optional(),
}

export const EmailEvent = z
  .object({
    status: z.enum(statuses),
    timestamp: z.int(),
    recipient: z.string(),
    ...eventFields,
  })
  .openapi('EmailEvent')

const RecipientStatus = z
  .object({
    recipient: z.string(),
    status: z.enum(statuses),
    timestamp: z.int(),
    type: z.string().optional(),
    subtype: z.string().optional(),
  })
  .openapi('RecipientStatus')

const RecipientEvents = z
  .object({
    recipient: z.string(),
    events: z.array(
      z.object({
        status: z.enum(statuses),
        timestamp: z.int(),
        type: z.string().optional(),
        subtype: z.string().optional(),
        link: z.string().optional(),
        user_agent: z.string().optional(),
        ip: z.string().optional(),
      }),
    ),
  })
  .openapi('RecipientEvents')

/** What `?expand=details` adds. */
const details = {
  cc: z.array(z.string()).optional(),
  bcc: z.array(z.string()).optional(),
  reply_to: z.array(z.string()).optional(),
  tags: z.record(z.string(), z.string()).optional(),
  metadata: z.record(z.string(), z.unknown()).optional(),
  headers: z.record(z.string(), z.string()).optional(),
  status: z
    .enum(['queued', 'settled'])
    .optional()
    .openapi({ description: '`settled` when no recipient is still to be sent to' }),
  scheduled_at: z.int().nullable().optional(),
  broadcast_id: z.string().nullable().optional(),
}

const common = {
  id: z.string(),
  type: z.enum(['transactional', 'broadcast']),
  to: z.array(z.string()),
  subject: z.string(),
  last_event: EmailEvent,
  email_sent_timestamp: z.int(),
}

export const EmailListItem = z
  .object({ ...common, recipient_statuses: z.array(RecipientStatus), ...details })
  .openapi('EmailListItem')
export type EmailListItem = z.infer<typeof EmailListItem>

export const EmailList = z
  .object({ emails: z.array(EmailListItem), count: z.int(), cursor: z.string().nullable() })
  .openapi('EmailList')

export const Email = z
  .object({
    ...common,
    template_id: z.string().nullable(),
    domain_id: z.string(),
    html: z.string(),
    text: z.string(),
    from: z.string(),
    recipient_statuses: z.array(RecipientEvents),
    ...details,
  })
  .openapi('Email')
export type Email = z.infer<typeof Email>

const engagement = ['user_agent', 'ip'] as const

/** The fields that each status adds to an event, in the order in which they are shown. */
const shownFields: Record<Status, readonly (keyof typeof eventFields)[]> = {
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

/** The latest by time over all recipients, ties by id. */
function latestOf(events: EmailEventRow[]): EmailEventRow {
  const [first, ...others] = events
  if (!first) throw new Error('an email has no event')
  return others.reduce((latest, row) => (isLater(row, latest) ? row : latest), first)
}

function isLater(a: EmailEventRow, b: EmailEventRow): boolean {
  const by = a.at.getTime() - b.at.getTime()
  return by > 0 || (by === 0 && a.id > b.id)
}

function toDetails(row: EmailListRow | EmailRow) {
  return {
    cc: row.cc,
    bcc: row.bcc,
    reply_to: row.reply_to,
    tags: row.tags,
    metadata: row.metadata,
    headers: row.headers,
    status: row.open ? ('queued' as const) : ('settled' as const),
    scheduled_at: null,
    broadcast_id: null,
  }
}

export const toEmailListItem = (row: EmailListRow, expand: boolean): EmailListItem => ({
  id: row.id,
  type: row.type,
  to: row.to,
  subject: row.subject,
  last_event: toEmailEvent(latestOf(row.latest)),
  email_sent_timestamp: row.created_at.getTime(),
  recipient_statuses: row.latest.map(toRecipientStatus),
  ...(expand ? toDetails(row) : {}),
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
  email_sent_timestamp: row.created_at.getTime(),
  last_event: toEmailEvent(latestOf(events)),
  template_id: row.template_id,
  domain_id: row.domain_id,
  html: row.html ?? '',
  text: row.text ?? (await textInTurns(row.html ?? '')),
  from: row.from,
  recipient_statuses: toRecipientEvents(events),
  ...(expand ? toDetails(row) : {}),
})

function toRecipientEvents(events: EmailEventRow[]): z.infer<typeof RecipientEvents>[] {
  const byRecipient = new Map<string, EmailEventRow[]>()
  // Every recipient's first event was written with the email, in its order of recipients.
  for (const row of [...events].sort((a, b) => a.id - b.id)) {
    if (!byRecipient.has(row.recipient)) byRecipient.set(row.recipient, [])
  }
  for (const row of events) byRecipient.get(row.recipient)?.push(row)
  return [...byRecipient].map(([recipient, rows]) => ({
    recipient,
    events: rows.map((row) => ({
      status: row.status,
      timestamp: row.at.getTime(),
      ...(row.status === 'delivered' ? {} : pick(row.data, shownFields[row.status])),
    })),
  }))
}
