// The mail of a segment: loads what it is made from beforehand, then composes each send as data.

import type { Db } from '../../db/connect.ts'
import { listSendingDomains } from '../../db/domains/sending.ts'
import type { NewEmail } from '../../db/emails/insert.ts'
import type { SegmentRow } from '../../db/executions/segments.ts'
import { listPublishedTemplates } from '../../db/templates/published.ts'
import type { ActivityDeps } from '../../delivery/deps.ts'
import { renderEmail } from '../../mail/content/template.ts'
import { newOpaqueToken } from '../../mail/tracking/tokens.ts'
import { parseMailbox } from '../../rules/addresses.ts'
import type { Design, SendEmailData } from '../../rules/design/types.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { SegmentFacts, SendOutcome } from '../../rules/interpreterTypes.ts'
import type { JsonObject } from '../../rules/json.ts'
import { expiry_ms } from '../../rules/mail/retry.ts'

type Sources = Awaited<ReturnType<typeof loadMailSources>>

/** Templates and domains that the design's mail needs; read before the transaction, since they lock nothing. */
export async function loadMailSources(db: Db, workspaceId: WorkspaceId, design: Design) {
  const sends = design.nodes.filter((node) => node.type === 'send_email')
  const names = sends.flatMap((node) => node.data.template_id ?? [])
  const templates = await listPublishedTemplates(db, workspaceId, [...new Set(names)])
  const froms = [
    design.settings?.default_from,
    ...sends.map((node) => node.data.from),
    ...[...templates.values()].map((template) => template.from),
  ]
  const domainNames = froms.flatMap((from) => (from ? (domainOf(from) ?? []) : []))
  const domains = await listSendingDomains(db, workspaceId, [...new Set(domainNames)])
  return { templates, domains }
}

function domainOf(from: string): string | null {
  const address = parseMailbox(from)?.address
  return address ? address.slice(address.lastIndexOf('@') + 1) : null
}

export interface SegmentMailContext {
  execution: SegmentRow
  design: Design
  sources: Sources
  state: { unsubscribed: boolean; suppressed: boolean }
  now: Date
}

/** A `sendEmail` tool for the interpreter and the mails it has planned, to be written in the segment's transaction. */
export function createSegmentMail(
  deps: Pick<ActivityDeps, 'newId' | 'config'>,
  context: SegmentMailContext,
) {
  const planned: NewEmail[] = []

  const sendEmail = (nodeId: string, data: SendEmailData, facts: SegmentFacts): SendOutcome => {
    if (context.state.unsubscribed) return { kind: 'skipped', why: 'unsubscribed' }
    if (context.state.suppressed) return { kind: 'skipped', why: 'suppressed' }
    const email = composeEmail(deps, context, nodeId, data, facts)
    if (typeof email === 'string') return { kind: 'failed', why: email }
    planned.push(email)
    return { kind: 'sent' }
  }

  return { sendEmail, planned }
}

/** The email to write, or why there is none. */
function composeEmail(
  { newId, config }: Pick<ActivityDeps, 'newId' | 'config'>,
  { execution, design, sources, now }: SegmentMailContext,
  nodeId: string,
  data: SendEmailData,
  facts: SegmentFacts,
): NewEmail | string {
  const template = data.template_id === undefined ? null : sources.templates.get(data.template_id)
  if (template === undefined) return `template ${data.template_id} is not published`
  const from = data.from || template?.from || design.settings?.default_from
  const domainName = from ? domainOf(from) : null
  const domain = domainName ? sources.domains.get(domainName) : undefined
  if (!from || !domain)
    return `no domain of this workspace for ${from ? 'the from address' : 'want of a from address'}`
  if (!domain.verified && !config.allowUnverifiedDomains)
    return `domain ${domainName} is not verified`

  const unsubscribeToken = newOpaqueToken()
  const rendered = renderEmail(
    {
      subject: data.subject ?? template?.subject ?? '',
      html: data.html ?? template?.html ?? null,
      text: data.text ?? template?.text ?? null,
      preview_text: template?.preview_text ?? null,
    },
    {
      contact: contactScope(facts),
      properties: facts.contact.properties,
      event: facts.event,
      wait_events: facts.waitEvents,
      vars: data.variables ?? {},
      workflow: { id: execution.workflow_id, version: execution.version },
      unsubscribe_url: `${config.publicUrl}/u/${unsubscribeToken}`,
    },
  )
  if (!rendered.ok) return `template: ${rendered.message}`
  const replyTo = data.reply_to ?? template?.reply_to
  return {
    row: {
      id: newId('email'),
      workspace_id: execution.workspace_id,
      type: 'transactional',
      category: data.category ?? 'marketing',
      from,
      to: [facts.contact.email],
      cc: [],
      bcc: [],
      reply_to: replyTo ? [replyTo] : [],
      subject: rendered.subject,
      html: rendered.html,
      text: rendered.text,
      template_id: template?.id ?? null,
      domain_id: domain.id,
      headers: {},
      tags: {},
      metadata: {},
      message_id: `${newOpaqueToken()}@${domainName}`,
      workflow_id: execution.workflow_id,
      execution_id: execution.id,
      node_id: nodeId,
      unsubscribe_token: unsubscribeToken,
      track_opens: domain.open_tracking_enabled,
      track_clicks: domain.click_tracking_enabled,
      tracking_host: domain.tracking_host,
      created_at: now,
    },
    recipients: [facts.contact.email],
    attachments: [],
    dueAt: now,
    expiresAt: new Date(now.getTime() + expiry_ms.transactional),
  }
}

function contactScope(facts: SegmentFacts): JsonObject {
  const { email, properties } = facts.contact
  return {
    email,
    first_name: properties['first_name'] ?? null,
    last_name: properties['last_name'] ?? null,
    properties,
  }
}
