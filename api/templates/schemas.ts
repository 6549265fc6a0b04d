// Schemas of templates.
import { z } from '@hono/zod-openapi'
import type { NewTemplate as New } from '../../commands/templates/create.ts'
import type { TemplateChange as Change } from '../../commands/templates/update.ts'
import type { TemplateListRow, TemplateRow } from '../../db/templates/reads.ts'
import { parseMailbox } from '../../rules/addresses.ts'
import { addressAdvice } from '../../rules/asciiDomains.ts'
import { limits } from '../../rules/limits.ts'
import {
  jsonObjectField,
  nameField,
  oneIsGiven,
  pageFields,
  textField,
  writtenEmailField,
} from '../http/fields.ts'

const head = {
  id: z.string(),
  name: z.string(),
  alias: z.string().nullable().openapi({ description: 'Stands wherever the id can stand' }),
  subject: z.string().nullable().openapi({ description: 'Liquid' }),
  from: z
    .string()
    .nullable()
    .openapi({ description: 'The sender when a workflow that names none sends it' }),
  reply_to: z
    .string()
    .nullable()
    .openapi({ description: 'Where answers go when the mail itself names nothing' }),
  preview_text: z
    .string()
    .nullable()
    .openapi({ description: 'Liquid; mail clients show it behind the subject' }),
  status: z
    .enum(['draft', 'published'])
    .openapi({ description: '`published` once a version was published' }),
  current_version: z.int().openapi({ description: 'From 1; the one that is shown' }),
  published_version: z
    .int()
    .nullable()
    .openapi({ description: 'The one that mail is made from; null: none yet' }),
  created: z.int().openapi({ description: 'Milliseconds since 1970 (UTC)' }),
  updated: z.int().openapi({ description: 'Milliseconds since 1970 (UTC)' }),
}

export const TemplateListItem = z.object(head).openapi('TemplateListItem')
export type TemplateListItem = z.infer<typeof TemplateListItem>

export const TemplateList = z
  .object({ templates: z.array(TemplateListItem), ...pageFields })
  .openapi('TemplateList')

export const Template = TemplateListItem.extend({
  html: z.string().nullable().openapi({ description: 'Liquid' }),
  text: z
    .string()
    .nullable()
    .openapi({ description: 'Liquid; null: mail gets a text that is made from the html' }),
}).openapi('Template', { description: 'The content is that of the current version.' })
export type Template = z.infer<typeof Template>

/** An alias never has the form of an id, because both can be the same parameter of a path. */
const alias = z
  .string()
  .regex(
    new RegExp(`^(?!tpl_)[a-z0-9][a-z0-9_-]{0,${limits.templateAliasCharsMax - 1}}$`),
    `must be 1-${limits.templateAliasCharsMax} of a-z 0-9 _ - that begin with a letter or digit, without tpl_ in front`,
  )

const mailbox = textField(limits.mailboxCharsMax).refine(
  (text) => text === '' || parseMailbox(text) !== null,
  {
    error: ({ input }) =>
      `must be one address such as hello@acme.com, or Acme <hello@acme.com>${addressAdvice(input)}`,
  },
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
  .refine(...oneIsGiven('name', 'alias', ...Object.keys(content)))
  .openapi('TemplateChange') satisfies z.ZodType<Change>

export const RenderTemplate = z
  .object({
    variables: jsonObjectField.optional().openapi({
      description: 'Values for the names of the template, as in `POST /v1/emails`',
    }),
    email: writtenEmailField.optional().openapi({
      description: 'The address of an automation contact, who is `contact` in the template',
    }),
  })
  .openapi('RenderTemplate')

export const RenderedTemplate = z
  .object({
    subject: z.string(),
    html: z.string().nullable().openapi({
      description: 'With `preview_text` in it, unseen; null when the template has none',
    }),
    text: z.string().nullable().openapi({ description: 'Null when the template has none' }),
    missing: z
      .array(z.string())
      .openapi({ description: 'Names that the template asks for and that have no value' }),
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
