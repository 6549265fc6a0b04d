// The content of a template, as it is given and as it is stored.

import type { TemplateContent } from '../../db/templates/reads.ts'
import type { Refusal } from '../../rules/refusals.ts'
import { checkTemplateParts } from './faults.ts'

/** Content as it is given; null and an empty text count as missing. */
export interface GivenContent {
  subject?: string | null | undefined
  from?: string | null | undefined
  reply_to?: string | null | undefined
  preview_text?: string | null | undefined
  html?: string | null | undefined
  text?: string | null | undefined
}

/** Content as it is stored: an empty text counts as missing. */
export function contentOf(given: GivenContent): TemplateContent {
  return {
    subject: given.subject || null,
    from: given.from || null,
    reply_to: given.reply_to || null,
    preview_text: given.preview_text || null,
    html: given.html || null,
    text: given.text || null,
  }
}

/** A refusal for the first part of the content that is not valid Liquid; undefined if all parts parse. */
export function checkContent(content: TemplateContent): Refusal<'invalid_template'> | undefined {
  const { subject, html, text, preview_text } = content
  return checkTemplateParts({ subject, html, text, preview_text })
}
