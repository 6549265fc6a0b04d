// Tells an author where his Liquid fails.

import { ApiError } from '../../api/http/errors.ts'
import { parseTemplate } from '../../mail/content/template.ts'

/**
 * @throws ApiError 400 `invalid_template` with `field`, `line` and `column` (both from 1) for the first part that
 * does not parse
 */
export function checkTemplateParts(parts: Record<string, string | null | undefined>): void {
  for (const [field, source] of Object.entries(parts)) {
    if (source === null || source === undefined) continue
    const parsed = parseTemplate(source)
    if (parsed.ok) continue
    const { message, line, column } = parsed
    const text = `${field}: ${message} (line ${line}, column ${column})`
    throw new ApiError(400, 'invalid_template', text, { extra: { field, line, column } })
  }
}

/** A template that parses and cannot be rendered: it broke a limit, or used a filter wrongly. */
export const renderFailed = (message: string) => new ApiError(400, 'invalid_template', message)
