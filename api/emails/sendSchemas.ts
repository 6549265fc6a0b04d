// The body of POST /v1/emails for the interface description. parseBody.ts and parseDetails.ts check it.
import { z } from '@hono/zod-openapi'
import { limits, MEBIBYTE } from '../../rules/limits.ts'
import { scheduledAtField } from './scheduleSchemas.ts'

const addresses = z.union([z.string(), z.array(z.string())])
const texts = z.record(z.string(), z.string())
const freeForm = z.record(z.string(), z.unknown())
const mebibytes = (bytes: number) => `${bytes / MEBIBYTE} MiB`

const Attachment = z
  .object({
    filename: z.string().max(limits.nameCharsMax),
    content: z.string().openapi({ format: 'byte', description: 'base64' }),
    content_type: z
      .string()
      .optional()
      .openapi({ description: 'A media type; found by the filename when it is absent' }),
    content_id: z.string().optional().openapi({
      description: 'To show it within the html: `<img src="cid:logo">` for `logo`',
    }),
  })
  .openapi('Attachment')

export const SendEmail = z
  .object({
    from: z.string().openapi({
      description:
        'One address, with or without a name. Its domain is a verified domain of the workspace.',
      example: 'Acme <hello@acme.com>',
    }),
    to: addresses.openapi({ description: 'One address or several; all recipients see it' }),
    subject: z
      .string()
      .max(limits.subjectCharsMax)
      .optional()
      .openapi({ description: 'Required, unless the template has one; without line breaks' }),
    html: z
      .string()
      .optional()
      .openapi({
        description: `At most ${mebibytes(limits.htmlBytesMax)}; not together with \`template_id\``,
      }),
    text: z
      .string()
      .optional()
      .openapi({
        description: `Made from the html when it is absent; at most ${mebibytes(limits.htmlBytesMax)}`,
      }),
    template_id: z.string().optional().openapi({
      description: 'Id or alias of a template; the mail is made from its published version',
    }),
    variables: freeForm.optional().openapi({
      description:
        'The values for the names of the template. Without a template they make subject, html and text Liquid; ' +
        'without `variables` these are sent as they are.',
    }),
    cc: addresses.optional().openapi({ description: 'All recipients see it' }),
    bcc: addresses.optional().openapi({ description: 'No recipient sees it' }),
    reply_to: addresses
      .optional()
      .openapi({ description: 'Where answers go; that of the template when it is absent' }),
    headers: texts.optional().openapi({
      description: `At most ${limits.headersPerEmailMax} further headers by name. Those that the service writes are refused.`,
    }),
    attachments: z
      .array(Attachment)
      .optional()
      .openapi({
        description: `At most ${limits.attachmentsPerEmailMax}, and ${mebibytes(limits.attachmentsBytesMax)} together, decoded`,
      }),
    tags: texts.optional().openapi({
      description: `At most ${limits.tagsPerEmailMax} texts by name, for your own use; no recipient sees them`,
    }),
    metadata: freeForm.optional().openapi({
      description: `Any JSON of at most ${limits.propertiesBytesMax / 1024} KB, for your own use; no recipient sees it`,
    }),
    scheduled_at: scheduledAtField.optional(),
    tracking: z
      .object({
        opens: z.boolean().optional().openapi({ description: 'Adds a picture of one pixel' }),
        clicks: z.boolean().optional().openapi({ description: 'Leads links through this service' }),
      })
      .optional()
      .openapi({ description: 'For this email; what is absent is as the domain says' }),
  })
  .openapi('SendEmail', {
    description:
      `At most ${limits.recipientsPerEmailMax} recipients in \`to\`, \`cc\` and \`bcc\` together. ` +
      'One of `html`, `text` and `template_id` is required.',
  })

export const SentEmail = z
  .object({
    id: z.string().openapi({ description: 'For `GET /v1/emails/{id}`' }),
    status: z
      .enum(['queued', 'scheduled'])
      .openapi({ description: '`scheduled`: it waits for `scheduled_at`' }),
  })
  .openapi('SentEmail')
