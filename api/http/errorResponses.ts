// The error answers of an operation for the interface description: by status, with the codes that each may carry.
import { type RouteConfig, z } from '@hono/zod-openapi'
import { DesignProblem } from './designProblem.ts'
import { type ErrorCode, errorCodes } from './errorCodes.ts'
import type { ErrorShape } from './errors.ts'

type Responses = RouteConfig['responses']

/** What decides which errors an operation can answer. */
export interface ErrorFacts {
  errors: ErrorShape
  /** Its own; those that follow from its request are added. */
  codes: readonly ErrorCode[]
  /** Those of the added ones that it cannot answer. */
  withoutCodes: readonly ErrorCode[]
  /** Texts of the contract, which come without a code, by status. */
  texts: Readonly<Partial<Record<number, readonly string[]>>>
  failureText?: string | undefined
  /** Whether it takes an Idempotency-Key. */
  idempotent: boolean
  changesNothing: boolean
  hasBody: boolean
  hasQuery: boolean
  hasCursor: boolean
}

const ofKeys = [
  'invalid_authorization_header',
  'invalid_api_key',
  'restricted_api_key',
  'rate_limited',
] as const satisfies ErrorCode[]

const ofBodies = [
  'invalid_json',
  'invalid_request',
  'body_too_complex',
  'body_too_large',
  'body_too_slow',
  'unsupported_media_type',
] as const satisfies ErrorCode[]

const ofKeptAnswers = [
  'idempotency_in_progress',
  'idempotency_key_reused',
] as const satisfies ErrorCode[]

function codesOf(facts: ErrorFacts): ErrorCode[] {
  const codes: ErrorCode[] = [
    ...(facts.hasBody ? ofBodies : []),
    ...(facts.hasQuery ? (['invalid_request'] as const) : []),
    ...(facts.hasCursor ? (['invalid_cursor'] as const) : []),
    ...facts.codes,
    ...(facts.idempotent ? (['invalid_idempotency_key'] as const) : []),
    ...(facts.idempotent && !facts.changesNothing ? ofKeptAnswers : []),
    ...ofKeys,
    ...(facts.failureText === undefined ? (['internal_error'] as const) : []),
    'service_unavailable',
  ]
  return [...new Set(codes)].filter((code) => !facts.withoutCodes.includes(code))
}

/** The error answers by status. */
export function errorResponses(facts: ErrorFacts): Responses {
  const codes = codesOf(facts)
  const texts: Partial<Record<number, readonly string[]>> = {
    ...facts.texts,
    ...(facts.failureText === undefined ? {} : { 500: [facts.failureText] }),
  }
  const statuses = new Set([
    ...codes.map((code) => errorCodes[code].status),
    ...Object.keys(texts).map(Number),
  ])
  return Object.fromEntries(
    [...statuses]
      .sort((a, b) => a - b)
      .map((status) => {
        const own = codes.filter((code) => errorCodes[code].status === status)
        const bare = texts[status] ?? []
        const schema = bodySchema(facts, status, own, bare.length > 0)
        const description = describe(own, bare)
        return [status, { description, content: { 'application/json': { schema } } }]
      }),
  )
}

/** A line for each code and for each text that has none. */
function describe(codes: readonly ErrorCode[], texts: readonly string[]): string {
  return [
    ...codes.map((code) => `- \`${code}\`: ${errorCodes[code].help}`),
    ...texts.map((text) => `- without a code: “${text}”`),
  ].join('\n')
}

/** A 403 for a key has its text in `message` everywhere. */
function bodySchema(
  { errors, failureText }: ErrorFacts,
  status: number,
  codes: readonly ErrorCode[],
  hasBare: boolean,
) {
  const [first, ...others] = codes
  const code = first && z.enum([first, ...others])
  const has = (name: ErrorCode) => codes.includes(name)
  return z.object({
    [status === 403 ? 'message' : errors]: z.string(),
    ...(code ? { code: hasBare ? code.optional() : code } : {}),
    ...(status >= 500 && code ? { request_id: hasBare ? z.string().optional() : z.string() } : {}),
    ...(status === 500 && failureText ? { details: z.string().optional() } : {}),
    ...(has('invalid_design') ? { problems: z.array(DesignProblem).optional() } : {}),
    ...(has('batch_refused')
      ? {
          errors: z
            .array(z.object({ index: z.int(), message: z.string(), code: z.string() }))
            .optional(),
        }
      : {}),
    ...(has('invalid_template')
      ? {
          field: z.string().optional(),
          line: z.int().optional().openapi({ description: 'From 1' }),
          column: z.int().optional().openapi({ description: 'From 1' }),
        }
      : {}),
    ...(has('template_too_slow')
      ? {
          part: z.string().optional().openapi({ description: 'The part that was being rendered' }),
          ms: z.int().optional().openapi({ description: 'How long it was given' }),
        }
      : {}),
  })
}
