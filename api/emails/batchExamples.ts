// The example of emails in bulk: Acme tells two people that their orders have left.
import type { z } from '@hono/zod-openapi'
import { exampleAddress, exampleIds, exampleSender, secondAddress } from '../http/exampleIds.ts'
import type { OperationExample } from '../http/operation.ts'
import type { EmailBatchResult } from './batchSchemas.ts'

const mail = { from: exampleSender, subject: 'Your order is on its way' }

export const emailBatchExamples = {
  send: {
    body: {
      emails: [
        { ...mail, to: exampleAddress, text: 'Hello Ada, order 1043 left this morning.' },
        { ...mail, to: secondAddress, text: 'Hello Grace, order 1044 left this morning.' },
      ],
    },
    answer: {
      emails: [
        { id: exampleIds.batchEmail, status: 'queued' },
        { id: exampleIds.secondBatchEmail, status: 'queued' },
      ],
    } satisfies z.infer<typeof EmailBatchResult>,
  },
} satisfies Record<string, OperationExample>
