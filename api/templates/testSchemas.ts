// Schemas of the test mail of a template.
import { z } from '@hono/zod-openapi'
import { parseMailbox } from '../../rules/addresses.ts'
import { addressAdvice } from '../../rules/asciiDomains.ts'
import { limits } from '../../rules/limits.ts'
import { jsonObjectField, textField } from '../http/fields.ts'

const mailbox = textField(limits.mailboxCharsMax).refine((text) => parseMailbox(text) !== null, {
  error: ({ input }) =>
    `must be one address such as ada@example.com, or Ada <ada@example.com>${addressAdvice(input)}`,
})

export const TestTemplate = z
  .object({
    to: z
      .union([mailbox, z.array(mailbox).min(1).max(limits.recipientsPerEmailMax)])
      .openapi({ description: 'One address or several, who get one message together' }),
    variables: jsonObjectField.optional().openapi({
      description: 'Values for the names of the template, as in `POST /v1/emails`',
    }),
  })
  .openapi('TestTemplate')

export const SentTest = z
  .object({ id: z.string().openapi({ description: 'The id of the email' }) })
  .openapi('SentTest')
