// The example of emails in bulk: Acme tells Ada that an order has left, and will ask Grace about another one.
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
        {
          from: exampleSender,
          subject: 'How was your order?',
          to: secondAddress,
          text: 'Hello Grace, tell us about order 1044.',
          scheduled_at: '2035-03-01T09:00:00Z',
        },
      ],
    },
    answer: {
      emails: [
        { id: exampleIds.batchEmail, status: 'queued' },
        { id: exampleIds.secondBatchEmail, status: 'scheduled' },
      ],
    } satisfies z.infer<typeof EmailBatchResult>,
  },
} satisfies Record<string, OperationExample>
