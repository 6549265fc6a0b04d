// The filters of the list of emails, as a query says them.
import { z } from '@hono/zod-openapi'
import type { EmailFilter } from '../../db/emails/reads.ts'
import { type IdKind, isId } from '../../rules/ids.ts'
import { isStorableText } from '../../rules/jsonFault.ts'
import { limits } from '../../rules/limits.ts'
import { exampleIds } from '../http/exampleIds.ts'
import { ExpandQuery, PageQuery, TIME_MAX_MS, writtenEmailField } from '../http/fields.ts'
import { emailStatuses } from './eventSchemas.ts'

/** A time of a query, in ms. */
export const timeField = z
  .string()
  .refine(
    (text) => /^\d{1,15}$/.test(text) && Number(text) <= TIME_MAX_MS,
    `must be a whole number of milliseconds since 1970 (UTC), at most ${TIME_MAX_MS}`,
  )
  .transform(Number)

const idField = (kind: IdKind, example: string) =>
  z.string().refine((text) => isId(kind, text), `must be an id such as ${example}`)

/** A key and a value of 255 characters each, with a colon between them. */
const TAG_CHARS_MAX = 2 * limits.nameCharsMax + 1

const tagField = z
  .string()
  .refine(
    (text) => text.includes(':') && text.length <= TAG_CHARS_MAX && isStorableText(text),
    `must be a tag as key:value, of at most ${TAG_CHARS_MAX} characters`,
  )

export const EmailsQuery = PageQuery.extend(ExpandQuery.shape).extend({
  status: z.enum(emailStatuses).optional().openapi({
    description:
      'That a recipient has had, whatever came after it: `delivered` finds what was opened since, too',
  }),
  to: writtenEmailField.optional().openapi({
    description: 'The bare address of a recipient: of to, cc or bcc, in any letter case',
  }),
  from: writtenEmailField
    .optional()
    .openapi({ description: 'The bare address of the sender, in any letter case' }),
  domain_id: idField('domain', exampleIds.domain)
    .optional()
    .openapi({ description: 'The domain of `from`' }),
  tag: tagField.optional().openapi({ description: 'One of the tags of the email, as `key:value`' }),
  type: z.enum(['transactional', 'broadcast']).optional(),
  workflow_id: idField('workflow', exampleIds.workflow)
    .optional()
    .openapi({ description: 'The workflow that sent it' }),
  since: timeField.optional().openapi({
    type: 'integer',
    description: 'Accepted at this time or later, in milliseconds since 1970 (UTC)',
  }),
  until: timeField.optional().openapi({
    type: 'integer',
    description: 'Accepted before this time, in milliseconds since 1970 (UTC)',
  }),
})

/** @returns undefined without a filter */
export function filterOf(query: z.output<typeof EmailsQuery>): EmailFilter | undefined {
  const { cursor: _, expand: __, domain_id: domainId, workflow_id: workflowId, ...others } = query
  const filter = { ...others, domainId, workflowId }
  return Object.values(filter).some((value) => value !== undefined) ? filter : undefined
}

/** The filter as a cursor is bound to it. */
export const asGiven = (filter: EmailFilter): Record<string, string> =>
  Object.fromEntries(
    Object.entries(filter)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]): [string, string] => [name, String(value)])
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  )
