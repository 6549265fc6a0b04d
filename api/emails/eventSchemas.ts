// Schemas of email events, and of what happened to each recipient.
import { z } from '@hono/zod-openapi'

export const emailStatuses = [
  'scheduled',
  'sent',
  'delivered',
  'opened',
  'clicked',
  'bounced',
] as const
export type EmailStatus = (typeof emailStatuses)[number]

const statusField = z.enum(emailStatuses).openapi({
  description:
    '`scheduled`: it waits for its time, and shows no more when that has come. `sent`: accepted by this service for sending now. `delivered`: the receiving server took it. `opened`, `clicked`: by a person; ' +
    'what machines fetch is left out. `bounced`: it will not arrive.',
})

const timestampField = z.int().openapi({ description: 'Milliseconds since 1970 (UTC)' })

const recipientField = z.string().openapi({ description: 'The bare address' })

const bounceFields = {
  type: z
    .string()
    .optional()
    .openapi({ description: 'Of `bounced`: `Permanent`, `Transient` or `Undetermined`' }),
  subtype: z
    .string()
    .optional()
    .openapi({
      description:
        'Of `bounced`: why, as `NoEmail`, `General`, `MailboxFull`, `MessageTooLarge`, `ContentRejected`, ' +
        '`AttachmentRejected`; `OnAccountSuppressionList` when the address was suppressed and nothing was sent, ' +
        '`Cancelled` when it was cancelled before it was sent',
    }),
}

const engagementFields = {
  link: z.string().optional().openapi({ description: 'Of `clicked`: the address that was opened' }),
  user_agent: z.string().optional().openapi({ description: 'Of `opened` and `clicked`' }),
  ip: z.string().optional().openapi({ description: 'Of `opened` and `clicked`' }),
}

export const eventFields = {
  processing_time_millis: z.int().optional().openapi({
    description:
      'Of `delivered`: milliseconds from our acceptance, or from the time for which it was scheduled, to the acceptance of the receiving server',
  }),
  reporting_mta: z
    .string()
    .optional()
    .openapi({ description: 'Of `delivered`: the host name that this service sends as' }),
  smtp_response: z
    .string()
    .optional()
    .openapi({ description: 'Of `delivered`: the last line of the receiving server' }),
  ...bounceFields,
  ...engagementFields,
}

export const EmailEvent = z
  .object({
    status: statusField,
    timestamp: timestampField,
    recipient: recipientField,
    ...eventFields,
  })
  .openapi('EmailEvent')

export const RecipientStatus = z
  .object({
    recipient: recipientField,
    status: statusField,
    timestamp: timestampField,
    ...bounceFields,
  })
  .openapi('RecipientStatus')

export const RecipientEvents = z
  .object({
    recipient: recipientField,
    events: z
      .array(
        z.object({
          status: statusField,
          timestamp: timestampField,
          ...bounceFields,
          ...engagementFields,
        }),
      )
      .openapi({ description: 'Oldest first' }),
  })
  .openapi('RecipientEvents')
