// What a client is told of the first fault that a schema finds: the field, what came, and what is allowed.
import { z } from '@hono/zod-openapi'
import { expect, test } from 'vitest'
import { issueText } from '../../../api/http/issueText.ts'

const body = z.object({
  name: z.string().min(1).max(5),
  status: z.enum(['draft', 'active', 'paused']).optional(),
  count: z.int().min(1).max(9).optional(),
  to: z.union([z.string(), z.array(z.string())]).optional(),
  kind: z.discriminatedUnion('kind', [z.object({ kind: z.literal('event') })]).optional(),
  contacts: z
    .array(z.object({ email: z.string() }))
    .min(1)
    .max(2)
    .optional(),
  tags: z.record(z.string(), z.string()).optional(),
  on: z.boolean().optional(),
  alias: z
    .string()
    .regex(/^[a-z]+$/, 'must be a-z')
    .optional(),
  token: z
    .string()
    .regex(/^[a-z]+$/, 'must be a-z')
    .optional(),
  text: z
    .string()
    .refine((text) => !text.includes('\0'), 'must not hold a NUL character')
    .optional(),
})

const rows: [given: unknown, text: string][] = [
  [[], 'The body must be an object, not an array'],
  [null, 'The body must be an object, not null'],
  [{}, 'name is required'],
  [{ name: 5 }, 'name must be a string, not a number'],
  [{ name: null }, 'name must be a string, not null'],
  [{ name: '' }, 'name must not be empty'],
  [{ name: 'abcdef' }, 'name must not exceed 5 characters, has 6'],
  [
    { name: 'a', status: 'actve' },
    'status must be one of draft, active, paused, not "actve"; did you mean active?',
  ],
  [{ name: 'a', status: 1 }, 'status must be one of draft, active, paused, not 1'],
  [{ name: 'a', count: 1.5 }, 'count must be a whole number, not 1.5'],
  [{ name: 'a', count: '1' }, 'count must be a number, not a string'],
  [{ name: 'a', count: 0 }, 'count must be at least 1, not 0'],
  [{ name: 'a', count: 10 }, 'count must be at most 9, not 10'],
  [{ name: 'a', count: Number.POSITIVE_INFINITY }, 'count must be a number, not Infinity'],
  [{ name: 'a', to: 5 }, 'to must be a string or an array, not a number'],
  [{ name: 'a', to: ['x', 5] }, 'to[1] must be a string, not a number'],
  [
    { name: 'a', kind: { kind: 'evnt' } },
    'kind.kind must be one of event, not "evnt"; did you mean event?',
  ],
  [{ name: 'a', contacts: [] }, 'contacts must not be empty'],
  [{ name: 'a', contacts: [{}] }, 'contacts[0].email is required'],
  [
    { name: 'a', contacts: Array(3).fill({ email: '' }) },
    'contacts must not exceed 2 items, has 3',
  ],
  [
    { name: 'a', contacts: [{ email: '' }, { email: [] }] },
    'contacts[1].email must be a string, not an array',
  ],
  [{ name: 'a', tags: { 'a\nb': 1 } }, 'tags.a\\u000ab must be a string, not a number'],
  [{ name: 'a', on: 'yes' }, 'on must be true or false, not a string'],
  [{ name: 'a', alias: 'A"\u202e' }, 'alias must be a-z, not "A\\"\\u202e"'],
  [{ name: 'a', alias: 'X'.repeat(500) }, `alias must be a-z, not "${'X'.repeat(60)}…"`],
  [{ name: 'a', token: 'S3CRET' }, 'token must be a-z'],
  [{ name: 'a', text: '\0' }, 'text must not hold a NUL character'],
]

test.each(rows)('%j', (given, text) => {
  const { error } = body.safeParse(given)
  if (!error) throw new Error('the schema takes it')
  expect(issueText(error, given)).toBe(text)
})

test('a rule of the whole body is a sentence of its own', () => {
  const change = body
    .partial()
    .refine(() => false, 'The body must have at least one of name, status')
  const { error } = change.safeParse({})
  expect(error && issueText(error, {})).toBe('The body must have at least one of name, status')
})
