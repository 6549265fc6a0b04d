// The examples of the suppression operations: somebody asked Acme not to write to an address again.
import type { z } from '@hono/zod-openapi'
import { exampleTime } from '../http/exampleIds.ts'
import type { NewSuppression, Suppression, SuppressionList } from './schemas.ts'

const email = 'former-customer@example.com'

const suppressed: Suppression = {
  email,
  reason: 'manual',
  source_id: null,
  created: exampleTime,
  expires_at: null,
}

export const suppressionExamples = {
  create: {
    body: { email } satisfies z.input<typeof NewSuppression>,
    answer: suppressed,
  },
  list: {
    query: {},
    answer: {
      suppressions: [suppressed],
      count: 1,
      cursor: null,
    } satisfies z.infer<typeof SuppressionList>,
  },
  remove: { params: { email } },
}
