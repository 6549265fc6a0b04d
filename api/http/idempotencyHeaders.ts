// The headers of idempotency in the interface description.
import { limits } from '../../rules/limits.ts'

/** The part of an operation that headers stand in. */
interface Described {
  parameters?: readonly object[] | undefined
  responses: Readonly<Record<string, object>>
}

const parameter = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    'A name of your own for this request, such as a UUID. Repeated with the same body within 24 hours, it gets the first ' +
    'answer again, and nothing is done twice.',
  schema: {
    type: 'string',
    minLength: 1,
    maxLength: limits.idempotencyKeyCharsMax,
    pattern: '^[!-~]+$',
  },
} as const

const replayed = {
  'Idempotent-Replayed': {
    description:
      '`true`: the request was done before, and this is its first answer, with null for secrets',
    schema: { type: 'string', enum: ['true'] },
  },
} as const

/** An operation with the header that it takes, and the one that its answers may have. */
export function withIdempotencyKey<R extends Described>(described: R): R {
  const responses = Object.entries(described.responses).map(([status, response]) => [
    status,
    status.startsWith('2') ? { ...response, headers: replayed } : response,
  ])
  return {
    ...described,
    parameters: [...(described.parameters ?? []), parameter],
    responses: Object.fromEntries(responses),
  }
}
