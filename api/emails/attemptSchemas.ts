// Schemas of delivery attempts.
import { z } from '@hono/zod-openapi'
import type { EmailAttemptRow } from '../../db/deliveries/reads.ts'
import { readConversation } from '../../rules/mail/conversation.ts'

const ConversationLine = z.object({
  at_ms: z.number().openapi({ description: 'Since the attempt began' }),
  from: z.enum(['client', 'server']).openapi({ description: '`client` is this service' }),
  text: z.string(),
})

const EmailAttempt = z
  .object({
    recipient: z.string(),
    attempt: z.int().openapi({ description: 'From 1, for each recipient' }),
    started_at: z.int().openapi({ description: 'Milliseconds since 1970 (UTC)' }),
    ended_at: z.int().openapi({ description: 'Milliseconds since 1970 (UTC)' }),
    outcome: z.string().openapi({
      description:
        '`delivered`; `rejected`: the server answered with an error; `failed`: no answer that counts, it is tried ' +
        'again; `ambiguous`: the connection ended before the last reply; `interrupted`: the process ended meanwhile',
    }),
    phase: z.string().nullable().openapi({
      description:
        'How far it came: `connect`, `banner`, `ehlo`, `tls`, `mail`, `rcpt`, `data`, `body`, `dot`',
    }),
    code: z.int().nullable().openapi({ description: 'Of the last reply; null when none came' }),
    response: z
      .string()
      .nullable()
      .openapi({ description: 'The last reply, or what failed; null when nothing is known' }),
    host: z.string().nullable().openapi({ description: 'The mail server that was asked' }),
    address: z.string().nullable().openapi({ description: 'Its IP address and port' }),
    tls: z.string().nullable().openapi({ description: 'The TLS version; null: not encrypted' }),
    conversation: z.array(ConversationLine).openapi({
      description: 'What both sides said, without credentials and without the mail itself',
    }),
  })
  .openapi('EmailAttempt')

export const EmailAttemptList = z
  .object({
    attempts: z.array(EmailAttempt),
    count: z.int().openapi({ description: 'The number of attempts in this answer' }),
  })
  .openapi('EmailAttemptList')

export function toEmailAttempt(row: EmailAttemptRow): z.infer<typeof EmailAttempt> {
  return {
    ...row,
    started_at: row.started_at.getTime(),
    ended_at: row.ended_at.getTime(),
    conversation: readConversation(row.conversation),
  }
}
