// Schemas of emails in bulk.
import { z } from '@hono/zod-openapi'
import { limits } from '../../rules/limits.ts'
import { itemErrors } from '../http/batchErrors.ts'
import { sendCodes } from './sendCodes.ts'
import { SentEmail } from './sendSchemas.ts'

export const EmailBatch = z
  .object({
    emails: z
      .array(z.unknown().openapi({ type: 'object', description: 'A `SendEmail`' }))
      .min(1)
      .max(limits.emailsBatchMax)
      .openapi({ description: `1-${limits.emailsBatchMax}` }),
  })
  .openapi('EmailBatch')

const errors = itemErrors(['invalid_request', ...sendCodes, 'restricted_api_key'])

export const EmailBatchResult = z
  .object({
    emails: z.array(SentEmail.nullable()).openapi({
      description: 'In the order of the request; null in the places of `errors`',
    }),
    errors: errors.optional().openapi({
      description: 'With `x-batch-validation: permissive`: those that were not taken',
    }),
  })
  .openapi('EmailBatchResult')
