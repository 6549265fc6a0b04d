// Tells an author where their Liquid fails.

import { parseTemplate } from '../../mail/content/template.ts'
import { type Refusal, refuse } from '../../rules/refusals.ts'

/** A refusal for the first of the Liquid parts that does not parse; undefined when all do. */
export function checkTemplateParts(
  parts: Record<string, string | null | undefined>,
): Refusal<'invalid_template'> | undefined {
  for (const [field, source] of Object.entries(parts)) {
    if (source === null || source === undefined) continue
    const parsed = parseTemplate(source)
    if (parsed.ok) continue
    const { message, line, column } = parsed
    return refuse('invalid_template', {
      text: `${field}: ${message} (line ${line}, column ${column})`,
      at: { field, line, column },
    })
  }
  return undefined
}

/** For a template that parses and cannot be rendered: it broke a limit, or used a filter wrongly. */
export const renderFailed = (text: string) => refuse('invalid_template', { text, at: null })
