// The error codes of an email, whether it comes alone or in a batch.
import type { ErrorCode } from '../http/errorCodes.ts'

export const sendCodes = [
  'content_required',
  'template_not_published',
  'invalid_address',
  'text_too_large',
  'attachments_too_large',
  'invalid_header',
  'reserved_header',
  'invalid_template',
  'template_too_slow',
  'domain_not_found',
  'domain_not_verified',
  'daily_limit',
] as const satisfies ErrorCode[]
