// Sends the current version of a template, published or not, to whoever wants to see it in their own mail program.

import { findTemplate } from '../../db/templates/reads.ts'
import { parseMailbox } from '../../rules/addresses.ts'
import type { JsonObject } from '../../rules/json.ts'
import type { Reach } from '../../rules/reach.ts'
import { type Refusal, refuse } from '../../rules/refusals.ts'
import { type AcceptDeps, type AcceptRefusal, acceptEmail } from '../emails/accept.ts'

/** Before the subject, so that nobody takes it for the real mail. */
const PREFIX = '[test]'

interface SendTestInput {
  idOrAlias: string
  /** As recipients see them. */
  to: string[]
  variables: JsonObject | undefined
  /** The key that asks. */
  keyId: string
}

/** Accepts one mail from the template's `from` to these recipients, as any other mail. @returns its id */
export async function sendTemplateTest(
  deps: AcceptDeps,
  reach: Reach,
  { idOrAlias, to, variables, keyId }: SendTestInput,
): Promise<{ id: string } | AcceptRefusal | Refusal<'template_not_found' | 'template_lacks'>> {
  const found = await findTemplate(deps.db, reach.workspaceId, idOrAlias)
  if (!found) return refuse('template_not_found', { idOrAlias })
  const sender = found.from ? parseMailbox(found.from) : null
  if (!found.from || !sender) return refuse('template_lacks', { field: 'from' })
  if (!found.html && !found.text) return refuse('template_lacks', { field: 'html or text' })
  const addresses = to.flatMap((text) => parseMailbox(text)?.address ?? [])
  return acceptEmail(deps, reach, {
    from: found.from,
    to,
    cc: [],
    bcc: [],
    replyTo: [],
    sender,
    recipients: [...new Set(addresses)],
    template: { ...found, subject: `${PREFIX} ${found.subject ?? ''}`.trimEnd() },
    variables,
    headers: {},
    tags: {},
    metadata: {},
    attachments: [],
    tracking: {},
    scheduledAt: null,
    keyId,
    mayReadContacts: true,
  })
}
