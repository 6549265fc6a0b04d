// Templates as the API takes and shows them.
import { z } from '@hono/zod-openapi'
import type { NewTemplate as New } from '../../commands/templates/create.ts'
import type { TemplateChange as Change } from '../../commands/templates/update.ts'
import type { TemplateListRow, TemplateRow } from '../../db/templates/reads.ts'
import { parseMailbox } from '../../rules/addresses.ts'
import { limits } from '../../rules/limits.ts'
import { jsonObjectField, nameField, textField, writtenEmailField } from '../http/fields.ts'

const head = {
  id: z.string(),
  name: z.string(),
  alias: z.string().nullable(),
  subject: z.string().nullable(),
  from: z.string().nullable(),
  reply_to: z.string().nullable(),
  preview_text: z.string().nullable(),
  status: z.enum(['draft', 'published']),
  current_version: z.int(),
  published_version: z.int().nullable(),
  created: z.int(),
  updated: z.int(),
}

export const TemplateListItem = z.object(head).openapi('TemplateListItem')
export type TemplateListItem = z.infer<typeof TemplateListItem>

export const TemplateList = z
  .object({ templates: z.array(TemplateListItem), count: z.int(), cursor: z.string().nullable() })
  .openapi('TemplateList')

export const Template = TemplateListItem.extend({
  html: z.string().nullable(),
  text: z.string().nullable(),
}).openapi('Template', { description: 'The content is that of the current version.' })
export type Template = z.infer<typeof Template>

/** Never of the form of an id: the two stand in the same place of a path. */
const alias = z
  .string()
  .regex(
    new RegExp(`^(?!tpl_)[a-z0-9][a-z0-9_-]{0,${limits.templateAliasCharsMax - 1}}$`),
    `must be 1-${limits.templateAliasCharsMax} of a-z, 0-9, _ and -, not tpl_...`,
  )

const mailbox = textField(limits.mailboxCharsMax).refine(
  (text) => text === '' || parseMailbox(text) !== null,
  'Invalid email format',
)
const body = textField(limits.templateBytesMax).refine(
  (text) => Buffer.byteLength(text) <= limits.templateBytesMax,
  `must not exceed ${limits.templateBytesMax} bytes`,
)

const content = {
  subject: textField(limits.subjectCharsMax).nullish(),
  from: mailbox.nullish(),
  reply_to: mailbox.nullish(),
  preview_text: textField(limits.subjectCharsMax).nullish(),
  html: body.nullish(),
  text: body.nullish(),
}

export const NewTemplate = z
  .object({ name: nameField, alias: alias.nullish(), ...content })
  .openapi('NewTemplate') satisfies z.ZodType<New>

export const TemplateChange = z
  .object({ name: nameField.optional(), alias: alias.nullish(), ...content })
  .refine((given) => Object.values(given).some((value) => value !== undefined), {
    message: 'The body has no key that can be changed',
  })
  .openapi('TemplateChange') satisfies z.ZodType<Change>

export const RenderTemplate = z
  .object({
    variables: jsonObjectField.optional(),
    email: writtenEmailField.optional().openapi({ description: 'Whom `contact` is to be' }),
  })
  .openapi('RenderTemplate')

export const RenderedTemplate = z
  .object({
    subject: z.string(),
    html: z.string().nullable(),
    text: z.string().nullable(),
    missing: z.array(z.string()).openapi({ description: 'Names without a value' }),
  })
  .openapi('RenderedTemplate')

export const toTemplateListItem = (row: TemplateListRow): TemplateListItem => ({
  id: row.id,
  name: row.name,
  alias: row.alias,
  subject: row.subject,
  from: row.from,
  reply_to: row.reply_to,
  preview_text: row.preview_text,
  status: row.published_version === null ? 'draft' : 'published',
  current_version: row.current_version,
  published_version: row.published_version,
  created: row.created_at.getTime(),
  updated: row.updated_at.getTime(),
})

export const toTemplate = (row: TemplateRow): Template => ({
  ...toTemplateListItem(row),
  html: row.html,
  text: row.text,
})
