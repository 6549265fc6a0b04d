// Refusals that say where Liquid is wrong.

import { findContactRead } from '../../mail/content/names.ts'
import { modeOf, parseTemplate, type RenderFailure } from '../../mail/content/template.ts'
import { type Refusal, refuse } from '../../rules/refusals.ts'

/** A refusal for the first Liquid part that does not parse; undefined if all parts parse. */
export function checkTemplateParts(
  parts: Record<string, string | null | undefined>,
): Refusal<'invalid_template'> | undefined {
  for (const [field, source] of Object.entries(parts)) {
    if (source === null || source === undefined) continue
    const parsed = parseTemplate(source, modeOf(field))
    if (parsed.ok) continue
    const { message, line, column } = parsed
    return refuse('invalid_template', {
      text: `${field}: ${message} (line ${line}, column ${column})`,
      at: { field, line, column },
    })
  }
  return undefined
}

/** A refusal for the first Liquid part that reads a contact; undefined if none does. */
export function checkContactReads(
  parts: Record<string, string | null>,
): Refusal<'contact_unreadable'> | undefined {
  for (const [field, source] of Object.entries(parts)) {
    const variable = source === null ? null : findContactRead(source, modeOf(field))
    if (variable !== null) return refuse('contact_unreadable', { field, variable })
  }
  return undefined
}

export type RenderRefusal = Refusal<'invalid_template' | 'template_too_slow' | 'renderer_busy'>

/** The refusal for a template that parses but was not rendered: it exceeds a limit, or uses a filter wrongly. */
export function renderFailed(failure: RenderFailure): RenderRefusal {
  switch (failure.kind) {
    case 'fault':
      return renderFault(failure.message)
    case 'too_slow':
      return refuse('template_too_slow', { part: failure.part, ms: failure.ms })
    case 'busy':
      return refuse('renderer_busy', {})
    default:
      return failure satisfies never
  }
}

/** The refusal for a template whose result cannot be sent. */
export const renderFault = (text: string) => refuse('invalid_template', { text, at: null })
