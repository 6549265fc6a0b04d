// The utm parameters of a mail: renders their Liquid, and adds them to its links.
import type { TemplateScope } from '../../mail/content/template.ts'
import { failureText } from '../../mail/content/template.ts'
import { type UtmValues, withUtm } from '../../mail/content/utm.ts'
import { ownUrlRule } from '../../mail/tracking/ownUrls.ts'
import type { MailContent } from '../../rules/interpreterTypes.ts'
import { utmNames } from '../../rules/nodes/utm.ts'
import type { SegmentTexts } from './texts.ts'

/** @returns the rendered values; a text that says why there are none; null when some are to be rendered first */
export function renderUtm(
  texts: SegmentTexts,
  utm: MailContent['utm'],
  scope: TemplateScope,
): UtmValues | string | null {
  const values: Record<string, string> = {}
  let isWhole = true
  // A stored design does not keep the order of its keys.
  for (const name of utmNames) {
    const source = utm?.[name] ?? ''
    if (!source.includes('{')) {
      values[name] = source
      continue
    }
    const text = texts.take({ subject: source, html: null, text: null }, scope)
    if (!text) isWhole = false
    else if (text.rendered.ok) values[name] = text.rendered.subject
    else return `utm.${name}: ${failureText(text.rendered).replace(/^subject: /, '')}`
  }
  return isWhole ? values : null
}

/** The html with the parameters in its links, but in those by which somebody unsubscribes. */
export function tagLinks(
  html: string | null,
  values: UtmValues,
  at: { publicUrl: string; trackingHost: string | null },
): string | null {
  if (html === null) return null
  return withUtm(html, values, ownUrlRule(at))
}
