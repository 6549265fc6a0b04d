// Attempts at an email's deliveries as the API shows them.
import { z } from '@hono/zod-openapi'
import type { EmailAttemptRow } from '../../db/deliveries/reads.ts'
import { readConversation } from '../../rules/mail/conversation.ts'

const ConversationLine = z.object({
  at_ms: z.number().openapi({ description: 'Since the attempt began' }),
  from: z.enum(['client', 'server']),
  text: z.string(),
})

const EmailAttempt = z
  .object({
    recipient: z.string(),
    attempt: z.int(),
    started_at: z.int(),
    ended_at: z.int(),
    outcome: z.string().openapi({
      description: '`delivered`, `rejected`, `failed`, `ambiguous` or `interrupted`',
    }),
    phase: z.string().nullable(),
    code: z.int().nullable(),
    response: z.string().nullable(),
    host: z.string().nullable(),
    address: z.string().nullable(),
    tls: z.string().nullable(),
    conversation: z.array(ConversationLine),
  })
  .openapi('EmailAttempt')

export const EmailAttemptList = z
  .object({ attempts: z.array(EmailAttempt), count: z.int() })
  .openapi('EmailAttemptList')

export function toEmailAttempt(row: EmailAttemptRow): z.infer<typeof EmailAttempt> {
  return {
    ...row,
    started_at: row.started_at.getTime(),
    ended_at: row.ended_at.getTime(),
    conversation: readConversation(row.conversation),
  }
}
