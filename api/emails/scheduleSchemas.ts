// Schemas of scheduled mail.
import { z } from '@hono/zod-openapi'
import { scheduleAheadDaysMax } from '../../rules/mail/scheduledAt.ts'

/** As a body gives it. `readScheduledAt` says which values it may have. */
export const scheduledAtField = z.union([z.int().min(0), z.string()]).openapi({
  description:
    'When it is to be sent: milliseconds since 1970, or ISO 8601 (UTC where it says no offset), at most ' +
    `${scheduleAheadDaysMax} days ahead. A time that has come sends it at once.`,
  example: '2035-03-01T09:00:00Z',
})

export const RescheduleEmail = z
  .object({ scheduled_at: scheduledAtField })
  .openapi('RescheduleEmail')

export const RescheduledEmail = z
  .object({
    id: z.string(),
    status: z.enum(['scheduled', 'queued', 'cancelled']).openapi({
      description:
        '`queued`: it is sent now; `cancelled`: it would be, but its domain is deleted or not verified any more',
    }),
  })
  .openapi('RescheduledEmail')

export const CancelledEmail = z
  .object({ id: z.string(), status: z.enum(['cancelled']) })
  .openapi('CancelledEmail')
