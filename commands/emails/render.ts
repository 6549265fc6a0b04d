// Renders subject, html and text of an email. Without a template or variables they are taken literally.

import type { PublishedTemplate } from '../../db/templates/published.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { JsonObject } from '../../rules/json.ts'
import { isStorableText } from '../../rules/jsonFault.ts'
import { limits } from '../../rules/limits.ts'
import { type Refusal, refuse } from '../../rules/refusals.ts'
import type { CommandDeps } from '../deps.ts'
import { findTemplateContact } from '../templates/contact.ts'
import {
  checkContactReads,
  checkTemplateParts,
  type RenderRefusal,
  renderFailed,
  renderFault,
} from '../templates/faults.ts'

/** More than the longest template has, whose characters are of four bytes at most: enough for its refusal. */
const LIQUID_BYTES_MAX = 4 * (limits.templateBytesMax + 1)

export interface ContentSource {
  subject?: string | undefined
  /** A large one as its UTF-8. */
  html?: string | Buffer | undefined
  text?: string | Buffer | undefined
  template: PublishedTemplate | null
  /** If given, the parts are Liquid. */
  variables?: JsonObject | undefined
  /** Bare addresses. A single recipient is the `contact` of the template. */
  recipients: string[]
  /** False: Liquid that reads a contact is refused, and there is no `contact`. */
  mayReadContacts: boolean
}

export interface EmailContent {
  subject: string
  /** A large one, which was not rendered, as its UTF-8. */
  html: string | Buffer | null
  text: string | Buffer | null
}

/**
 * Without a template and without variables the parts are taken literally. Otherwise they are rendered as Liquid,
 * with a single recipient as `contact`.
 * @param source its own `subject` and `text` take precedence over the template's
 * @returns the parts; html and text are null if there is none
 */
export async function renderContent(
  { db, renderer }: Pick<CommandDeps, 'db' | 'renderer'>,
  workspaceId: WorkspaceId,
  source: ContentSource,
): Promise<EmailContent | RenderRefusal | Refusal<'subject_too_long' | 'contact_unreadable'>> {
  const { template, variables, recipients } = source
  const literal = literalContent(source)
  if (literal) return literal
  const { html = null } = source
  const parts = {
    subject: source.subject ?? template?.subject ?? '',
    html: template ? template.html : liquidOf(html),
    text: liquidOf(source.text ?? template?.text ?? null),
    preview_text: template?.preview_text ?? null,
  }
  const fault = checkTemplateParts(parts)
  if (fault) return fault
  const forbidden = source.mayReadContacts ? undefined : checkContactReads(parts)
  if (forbidden) return forbidden
  const [only] = recipients
  const contact =
    source.mayReadContacts && only !== undefined && recipients.length === 1
      ? await findTemplateContact(db, workspaceId, only)
      : null
  const rendered = await renderer.render(workspaceId, parts, {
    ...(contact ? { contact, properties: contact.properties } : {}),
    vars: variables ?? {},
  })
  return rendered.ok ? checkRendered(rendered) : renderFailed(rendered)
}

/** The parts of an email that are taken literally; null: they are rendered. */
export function literalContent(
  source: Pick<ContentSource, 'template' | 'variables' | 'subject' | 'html' | 'text'>,
): EmailContent | null {
  const { subject = '', html = null, text = null } = source
  return source.template || source.variables !== undefined ? null : { subject, html, text }
}

/** Liquid is read as a string. */
function liquidOf(part: string | Buffer | null): string | null {
  if (part === null || typeof part === 'string') return part
  return part.toString('utf8', 0, LIQUID_BYTES_MAX)
}

function checkRendered({
  subject,
  html,
  text,
}: {
  subject: string
  html: string | null
  text: string | null
}) {
  // A filter that cuts text (split) can leave half of a surrogate pair, which Postgres cannot store.
  if ([subject, html, text].some((part) => part !== null && !isStorableText(part))) {
    return renderFault('the result holds a NUL character')
  }
  if (subject.length > limits.subjectCharsMax) {
    return refuse('subject_too_long', { chars: subject.length })
  }
  return { subject, html, text }
}
