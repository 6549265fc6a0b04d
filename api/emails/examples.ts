// The examples of the email operations: Acme tells Ada that an order has left.
import type { z } from '@hono/zod-openapi'
import { exampleAddress, exampleIds, exampleSender, exampleTime } from '../http/exampleIds.ts'
import type { EmailAttemptList } from './attemptSchemas.ts'
import type { Email, EmailList } from './schemas.ts'
import type { SendEmail, SentEmail } from './sendSchemas.ts'

const params = { id: exampleIds.email }
const subject = 'Order 1042 is on its way'
const html = '<p>Hello Ada, your order left our warehouse this morning.</p>'
const sentAt = exampleTime
const deliveredAt = exampleTime + 412

const delivered = {
  status: 'delivered',
  timestamp: deliveredAt,
  recipient: exampleAddress,
  processing_time_millis: 412,
  reporting_mta: 'mx.example.net',
  smtp_response: '250 2.0.0 accepted',
} as const

const shown = {
  id: exampleIds.email,
  type: 'transactional' as const,
  to: [exampleAddress],
  subject,
  last_event: delivered,
  email_sent_timestamp: sentAt,
}

/** Ms since the attempt began, who spoke, and what. */
const conversation: [number, 'client' | 'server', string][] = [
  [31, 'server', '220 relay.example.net ESMTP'],
  [31.4, 'client', 'EHLO mx.example.net'],
  [58.2, 'server', '250-relay.example.net Nice to meet you, [198.51.100.7]'],
  [58.2, 'server', '250-PIPELINING'],
  [58.2, 'server', '250-8BITMIME'],
  [58.2, 'server', '250-SMTPUTF8'],
  [58.2, 'server', '250 SIZE 67108864'],
  [58.9, 'client', 'MAIL FROM:<b+1.091eba417c412d2d3fcf@bounces.mail.example.com> SIZE=1389'],
  [58.9, 'client', `RCPT TO:<${exampleAddress}>`],
  [58.9, 'client', 'DATA'],
  [91.7, 'server', '250 Accepted'],
  [91.7, 'server', '250 Accepted'],
  [92.1, 'server', '354 End data with <CR><LF>.<CR><LF>'],
  [92.3, 'client', '<1389 bytes>'],
  [92.3, 'client', '.'],
  [383.6, 'server', '250 2.0.0 accepted'],
]

export const emailExamples = {
  send: {
    body: {
      from: exampleSender,
      to: [exampleAddress],
      subject,
      html,
      tags: { kind: 'shipping' },
      metadata: { order_id: 1042 },
    } satisfies z.input<typeof SendEmail>,
    answer: { id: exampleIds.email, status: 'queued' } satisfies z.infer<typeof SentEmail>,
  },
  list: {
    query: {},
    answer: {
      emails: [
        {
          ...shown,
          recipient_statuses: [
            { recipient: exampleAddress, status: 'delivered', timestamp: deliveredAt },
          ],
        },
      ],
      count: 1,
      cursor: null,
    } satisfies z.infer<typeof EmailList>,
  },
  get: {
    params,
    query: {},
    answer: {
      ...shown,
      template_id: null,
      domain_id: exampleIds.domain,
      html,
      text: 'Hello Ada, your order left our warehouse this morning.',
      from: exampleSender,
      recipient_statuses: [
        {
          recipient: exampleAddress,
          events: [
            { status: 'sent', timestamp: sentAt },
            { status: 'delivered', timestamp: deliveredAt },
          ],
        },
      ],
    } satisfies Email,
  },
  attempts: {
    params,
    answer: {
      attempts: [
        {
          recipient: exampleAddress,
          attempt: 1,
          started_at: sentAt + 20,
          ended_at: deliveredAt,
          outcome: 'delivered',
          phase: 'dot',
          code: 250,
          response: '250 2.0.0 accepted',
          host: 'relay.example.net',
          address: '192.0.2.25:587',
          tls: null,
          conversation: conversation.map(([at_ms, from, text]) => ({ at_ms, from, text })),
        },
      ],
      count: 1,
    } satisfies z.infer<typeof EmailAttemptList>,
  },
}
