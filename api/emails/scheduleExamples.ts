// The examples of scheduled mail: Acme moves the mail to Grace, and takes it back.
import type { z } from '@hono/zod-openapi'
import { exampleIds } from '../http/exampleIds.ts'
import type { CancelledEmail, RescheduleEmail } from './scheduleSchemas.ts'
import type { SentEmail } from './sendSchemas.ts'

const params = { id: exampleIds.secondBatchEmail }

export const emailScheduleExamples = {
  reschedule: {
    params,
    body: { scheduled_at: '2035-03-02T09:00:00Z' } satisfies z.input<typeof RescheduleEmail>,
    answer: { id: exampleIds.secondBatchEmail, status: 'scheduled' } satisfies z.infer<
      typeof SentEmail
    >,
  },
  cancel: {
    params,
    answer: { id: exampleIds.secondBatchEmail, status: 'cancelled' } satisfies z.infer<
      typeof CancelledEmail
    >,
  },
}
