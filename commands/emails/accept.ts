// Accepts an email: checks it, renders it where it is Liquid, and commits it with its deliveries.

import {
  checkHtmlSize,
  readBody,
  type SendEmailBody,
  subjectMissing,
} from '../../api/emails/parseBody.ts'
import { readDetails, type SendEmailDetails } from '../../api/emails/parseDetails.ts'
import type { ApiDeps, RequestKey } from '../../api/http/env.ts'
import { ApiError, badRequest, notFound } from '../../api/http/errors.ts'
import { insertEmail, type NewEmail } from '../../db/emails/insert.ts'
import { findSendFacts } from '../../db/emails/sendFacts.ts'
import { findPublishedTemplate, type PublishedTemplate } from '../../db/templates/reads.ts'
import { renderEmail } from '../../mail/content/template.ts'
import { newOpaqueToken } from '../../mail/tracking/tokens.ts'
import { addressDomain } from '../../rules/addresses.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { JsonObject } from '../../rules/json.ts'
import { isStorableText } from '../../rules/jsonFault.ts'
import { limits } from '../../rules/limits.ts'
import { expiry_ms } from '../../rules/mail/retry.ts'
import { maySendFrom } from '../../rules/states.ts'
import { recordAutomationEvent } from '../events/record.ts'
import { findTemplateContact } from '../templates/contact.ts'
import { checkTemplateParts, renderFailed } from '../templates/faults.ts'

/** How long an email is tried (delivery: transactional mail). */

type Deps = Pick<ApiDeps, 'db' | 'newId' | 'now' | 'wake' | 'config'>

/**
 * Accepts the body of POST /v1/emails for the key's workspace; when it returns, the email is committed.
 * @throws ApiError with the contract's texts, in its order of checks; then ours
 */
export async function sendEmail(
  deps: Deps,
  key: RequestKey,
  given: unknown,
): Promise<{ id: string; status: 'queued' }> {
  const body = readBody(given)
  const workspaceId = key.workspace_id
  const template = await readTemplate(deps, workspaceId, body)
  const details = readDetails(body)
  const domainName = addressDomain(body.sender.address)
  const contactKeys = details.recipients.map((address) => address.toLowerCase())
  const facts = await findSendFacts(deps.db, workspaceId, domainName, contactKeys)
  const { domain } = facts
  if (!domain) {
    const text = `Domain ${domainName} is not a domain of this workspace`
    throw new ApiError(403, 'domain_not_found', text)
  }
  if (key.domain_id !== null && key.domain_id !== domain.id) {
    throw new ApiError(403, 'restricted_api_key', 'This API key may not send from this domain')
  }
  if (!maySendFrom(domain.status) && !deps.config.allowUnverifiedDomains) {
    throw new ApiError(403, 'domain_not_verified', `Domain ${domainName} is not verified`)
  }
  const content = await renderContent(deps, workspaceId, body, details, template)
  const now = deps.now()
  const email: NewEmail = {
    row: {
      id: deps.newId('email'),
      workspace_id: workspaceId,
      type: 'transactional',
      category: 'transactional',
      from: body.from,
      to: body.to,
      cc: body.cc,
      bcc: body.bcc,
      reply_to: replyTo(details, template),
      ...content,
      template_id: template?.templateId ?? null,
      domain_id: domain.id,
      headers: details.headers,
      tags: details.tags,
      metadata: details.metadata,
      message_id: `${newOpaqueToken()}@${domainName}`,
      workflow_id: null,
      execution_id: null,
      node_id: null,
      unsubscribe_token: null,
      track_opens: details.tracking.opens ?? domain.open_tracking_enabled,
      track_clicks: details.tracking.clicks ?? domain.click_tracking_enabled,
      tracking_host: domain.tracking_host,
      created_at: now,
    },
    recipients: details.recipients,
    attachments: details.attachments,
    dueAt: now,
    expiresAt: new Date(now.getTime() + expiry_ms.transactional),
  }
  await commit(deps, email, facts.contactEmails)
  return { id: email.row.id, status: 'queued' }
}

async function readTemplate(
  { db }: Deps,
  workspaceId: WorkspaceId,
  { templateId, subject }: SendEmailBody,
): Promise<PublishedTemplate | null> {
  if (templateId === undefined) return null
  const found = isStorableText(templateId)
    ? await findPublishedTemplate(db, workspaceId, templateId)
    : undefined
  if (!found) throw notFound(`Template '${templateId}' not found`, null)
  if (found.status === 'draft') {
    throw badRequest(`Template '${templateId}' is not published`, 'template_not_published')
  }
  if (subject === undefined && !found.subject) throw subjectMissing()
  return found
}

function replyTo(details: SendEmailDetails, template: PublishedTemplate | null): string[] {
  if (details.replyTo.length > 0) return details.replyTo
  return template?.reply_to ? [template.reply_to] : []
}

/** Subject, html and text as they are sent: literal, unless a template or variables are given. */
async function renderContent(
  deps: Deps,
  workspaceId: WorkspaceId,
  body: SendEmailBody,
  { variables, recipients }: SendEmailDetails,
  template: PublishedTemplate | null,
): Promise<{ subject: string; html: string | null; text: string | null }> {
  const { html = null, text = null, subject = '' } = body
  if (!template && variables === undefined) return { subject, html, text }
  const parts = {
    subject: body.subject ?? template?.subject ?? '',
    html: template ? template.html : html,
    text: body.text ?? template?.text ?? null,
    preview_text: template?.preview_text ?? null,
  }
  checkTemplateParts(parts)
  const [only] = recipients
  const contact =
    only !== undefined && recipients.length === 1
      ? await findTemplateContact(deps.db, workspaceId, only)
      : null
  const rendered = renderEmail(parts, {
    ...(contact ? { contact, properties: contact.properties as JsonObject } : {}),
    vars: variables ?? {},
  })
  if (!rendered.ok) throw renderFailed(rendered.message)
  // A filter (url_decode) can make what no request may hold.
  for (const part of [rendered.subject, rendered.html, rendered.text]) {
    if (part !== null && !isStorableText(part))
      throw renderFailed('the result holds a NUL character')
  }
  if (rendered.html !== null) checkHtmlSize(rendered.html)
  if (rendered.subject.length > limits.subjectCharsMax) {
    throw badRequest(`subject must not exceed ${limits.subjectCharsMax} characters`)
  }
  return { subject: rendered.subject, html: rendered.html, text: rendered.text }
}

/** One statement for most mail; a transaction where automation contacts hear of it. */
async function commit(deps: Deps, email: NewEmail, contactEmails: string[]): Promise<void> {
  const { row } = email
  if (contactEmails.length === 0) {
    await insertEmail(deps.db, email)
    deps.wake('dripline_deliveries')
    return
  }
  const wroteOutbox = await deps.db.transaction().execute(async (trx) => {
    await insertEmail(trx, email)
    let wrote = false
    for (const contactEmail of contactEmails) {
      const recorded = await recordAutomationEvent(
        trx,
        { newId: deps.newId, now: row.created_at },
        {
          workspaceId: row.workspace_id,
          eventId: null,
          eventName: 'email.sent',
          email: contactEmail,
          properties: { email_id: row.id, subject: row.subject, recipient: contactEmail },
          at: row.created_at,
          contactProperties: null,
          createContact: false,
        },
      )
      wrote ||= recorded?.wroteOutbox ?? false
    }
    return wrote
  })
  deps.wake('dripline_deliveries')
  if (wroteOutbox) deps.wake('dripline_outbox')
}
