// What a mail of a node says: its texts, rendered, with the links that its readers may follow.
import { toTemplateContact } from '../../commands/templates/contact.ts'
import type { SegmentRow } from '../../db/executions/segments.ts'
import type { PublishedTemplate } from '../../db/templates/published.ts'
import { failureText } from '../../mail/content/template.ts'
import { withoutToken } from '../../mail/tracking/tokens.ts'
import type { MailContent, SegmentFacts } from '../../rules/interpreterTypes.ts'
import type { JsonObject } from '../../rules/json.ts'
import { toStorableText } from '../../rules/jsonFault.ts'
import { isToTeam } from '../../rules/nodes/teamAddresses.ts'
import type { ActivityDeps } from '../deps.ts'
import type { SegmentTexts } from './texts.ts'
import { renderUtm, tagLinks } from './utm.ts'

interface RenderedContent {
  subject: string
  html: string | null
  text: string | null
}

/** What Liquid reads. */
export const scopeOf = (
  { workflow_id, version }: SegmentRow,
  { contact, event, waitEvents, steps }: SegmentFacts,
  vars: JsonObject,
) => ({
  contact: toTemplateContact(contact.email, contact.properties),
  properties: contact.properties,
  event,
  wait_events: waitEvents,
  steps,
  vars,
  workflow: { id: workflow_id, version },
})

/** What a mail says, or a text that says why it cannot; null when it has to be rendered first. */
export function renderMail(
  { config }: Pick<ActivityDeps, 'config'>,
  { execution, texts }: { execution: SegmentRow; texts: SegmentTexts },
  mail: {
    data: MailContent
    template: PublishedTemplate | null
    facts: SegmentFacts
    domain: { tracking_host: string | null }
  },
): { content: RenderedContent; unsubscribeToken: string | null } | string | null {
  const { data, template, facts, domain } = mail
  const scope = scopeOf(execution, facts, data.variables ?? {})
  const utm = renderUtm(texts, data.utm, scope)
  const text = texts.take(
    {
      subject: data.subject ?? template?.subject ?? '',
      html: data.html ?? template?.html ?? null,
      text: data.text ?? template?.text ?? null,
      preview_text: data.preview_text ?? template?.preview_text ?? null,
    },
    scope,
  )
  if (typeof utm === 'string') return `template: ${utm}`
  if (!text || !utm) return null
  const { rendered, token } = text
  if (!rendered.ok) return `template: ${failureText(rendered)}`
  const at = { publicUrl: config.publicUrl, trackingHost: domain.tracking_host }
  const content = toStorableContent({ ...rendered, html: tagLinks(rendered.html, utm, at) })
  if (!isToTeam(data)) return { content, unsubscribeToken: token }
  return { content: withoutToken(content, token), unsubscribeToken: null }
}

/** A filter such as `split` can leave half a surrogate pair, which jsonb refuses: the subject goes into `email.sent`. */
function toStorableContent({ subject, html, text }: RenderedContent): RenderedContent {
  return {
    subject: toStorableText(subject),
    html: html === null ? null : toStorableText(html),
    text: text === null ? null : toStorableText(text),
  }
}
