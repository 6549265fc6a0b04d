// What is wrong with single items of a batch.
import { z } from '@hono/zod-openapi'
import type { ErrorCode } from './errorCodes.ts'
import type { ApiError } from './errors.ts'

export interface ItemError {
  index: number
  message: string
  code: ErrorCode
}

/** The schema of a batch's `errors`. @param codes those that an item may have */
export const itemErrors = (codes: readonly [ErrorCode, ...ErrorCode[]]) =>
  z
    .array(
      z.object({
        index: z.int().openapi({ description: 'Its place in the request, from 0' }),
        message: z.string(),
        code: z.enum(codes),
      }),
    )
    .openapi({ description: 'Those that were not taken' })

/** A text of the contract, which has no code alone, has one here. */
export const itemError = (index: number, { message, code }: ApiError): ItemError => ({
  index,
  message,
  code: code ?? 'invalid_request',
})
