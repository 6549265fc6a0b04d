// The body of POST /v1/emails as the interface description shows it; parseBody.ts and parseDetails.ts do the checking.
import { z } from '@hono/zod-openapi'
import { limits } from '../../rules/limits.ts'

const addresses = z.union([z.string(), z.array(z.string())])
const texts = z.record(z.string(), z.string())
const freeForm = z.record(z.string(), z.unknown())

const Attachment = z
  .object({
    filename: z.string().max(limits.nameCharsMax),
    content: z.string().openapi({ format: 'byte', description: 'base64' }),
    content_type: z.string().optional(),
    content_id: z.string().optional().openapi({ description: 'For `cid:` links of the html' }),
  })
  .openapi('Attachment')

export const SendEmail = z
  .object({
    from: z.string().openapi({ example: 'Acme <hello@acme.com>' }),
    to: addresses,
    subject: z
      .string()
      .max(limits.subjectCharsMax)
      .optional()
      .openapi({ description: 'Required, unless the template has one' }),
    html: z.string().optional().openapi({ description: 'At most 40 MB; not with template_id' }),
    text: z.string().optional().openapi({ description: 'Made from the html when it is absent' }),
    template_id: z.string().optional().openapi({ description: 'Id or alias' }),
    variables: freeForm
      .optional()
      .openapi({ description: 'With it subject, html and text are Liquid' }),
    cc: addresses.optional(),
    bcc: addresses.optional(),
    reply_to: addresses.optional(),
    headers: texts.optional(),
    attachments: z.array(Attachment).optional().openapi({ description: 'At most 25 MB together' }),
    tags: texts.optional(),
    metadata: freeForm.optional(),
    tracking: z
      .object({ opens: z.boolean().optional(), clicks: z.boolean().optional() })
      .optional()
      .openapi({ description: 'What is absent is as the domain says' }),
  })
  .openapi('SendEmail', {
    description: `At most ${limits.recipientsPerEmailMax} recipients; one of html, text and template_id is required.`,
  })

export const SentEmail = z
  .object({ id: z.string(), status: z.enum(['queued']) })
  .openapi('SentEmail')
