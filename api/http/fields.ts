// Schemas of fields that several resources share. Every accepted text can be stored.
import { z } from '@hono/zod-openapi'
import { normalizeContactEmail } from '../../rules/addresses.ts'
import { addressAdvice } from '../../rules/asciiDomains.ts'
import { isJsonObject, type JsonObject } from '../../rules/json.ts'
import { findJsonFault, isStorableText } from '../../rules/jsonFault.ts'
import { limits } from '../../rules/limits.ts'
import type { ApiDeps } from './env.ts'

const UNSTORABLE = 'must not hold a NUL character or half of a surrogate pair'
const noEmail = (given: unknown) =>
  `must be an address such as ada@example.com${addressAdvice(given)}`

/**
 * The last moment of the year 9999, ms since 1970: the last that every reader of a timestamp can write. Ids, by which rows of a period are
 * found, hold no time far beyond.
 */
export const TIME_MAX_MS = 253_402_300_799_999

/** Text of at most `charsMax` UTF-16 units, possibly empty. */
export const textField = (charsMax: number) =>
  z.string().max(charsMax).refine(isStorableText, UNSTORABLE)

/** A name: 1-255 characters, not blank. */
export const nameField = textField(limits.nameCharsMax)
  .min(1)
  .refine((text) => text.trim() !== '', 'must not be blank')

/** An address that may become a contact, as it was written. */
export const writtenEmailField = z
  .string()
  .refine((text) => normalizeContactEmail(text) !== null, { error: ({ input }) => noEmail(input) })

/** Like `writtenEmailField`; the result is in lower case. */
export const contactEmailField = z
  .string()
  .transform((text, context) => {
    const email = normalizeContactEmail(text)
    if (email !== null) return email
    context.addIssue({ code: 'custom', message: noEmail(text) })
    return z.NEVER
  })
  .openapi({ type: 'string', example: 'ada@example.com' })

/** A JSON object of at most `limits.propertiesBytesMax` bytes, unchanged: zod's records would drop a key named `__proto__`. */
export const jsonObjectField = z
  .custom<JsonObject>(isJsonObject, 'must be an object')
  .superRefine((value, context) => {
    const fault = findJsonFault(value, limits.propertiesBytesMax)
    if (fault) context.addIssue({ code: 'custom', message: fault.message })
  })
  .openapi({ type: 'object', additionalProperties: true })

/** The rule that at least one key of a body must be given. */
export function oneIsGiven(...keys: string[]) {
  return [
    (body: object) => keys.some((key) => (body as Record<string, unknown>)[key] !== undefined),
    { message: `The body must have at least one of ${keys.join(', ')}` },
  ] as const
}

/** The query of every list. */
export const PageQuery = z.object({
  cursor: z.string().optional().openapi({
    description: 'The `cursor` of the page before, as it came. Leave it out for the first page.',
  }),
})

/** The fields of every page besides its items. */
export const pageFields = {
  count: z.int().openapi({ description: 'The number of items on this page' }),
  cursor: z
    .string()
    .nullable()
    .openapi({ description: 'For the next page, as `?cursor=…`; null on the last page' }),
}

/** `?expand=details` adds fields beyond those of the contract. */
export const ExpandQuery = z.object({
  expand: z.enum(['details']).optional().openapi({
    description: '`details` adds the fields that are absent otherwise.',
  }),
})

export const CreatedBy = z
  .object({
    email: z.string(),
    first_name: z.string().nullable(),
    last_name: z.string().nullable(),
    profile_picture: z.string().openapi({ description: 'The address of an SVG picture' }),
  })
  .openapi('CreatedBy')
export type CreatedBy = z.infer<typeof CreatedBy>

export interface CreatedByRow {
  created_by: string
  user_email: string
  user_first_name: string | null
  user_last_name: string | null
}

/** The user behind a row, with the address of their picture. */
export const toCreatedBy = (row: CreatedByRow, config: ApiDeps['config']): CreatedBy => ({
  email: row.user_email,
  first_name: row.user_first_name,
  last_name: row.user_last_name,
  profile_picture: `${config.publicUrl}/avatars/${row.created_by}.svg`,
})
