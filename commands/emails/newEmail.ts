// Makes the row of an accepted email, with its recipients and times.

import type { SendingDomain } from '../../db/domains/sending.ts'
import type { NewEmail } from '../../db/emails/insert.ts'
import { newOpaqueToken } from '../../mail/tracking/tokens.ts'
import type { JsonObject } from '../../rules/json.ts'
import { messageIdOf } from '../../rules/mail/messageIds.ts'
import { expiry_ms } from '../../rules/mail/retry.ts'
import { scheduledFor } from '../../rules/mail/scheduledAt.ts'
import { isTestAddress } from '../../rules/mail/testAddresses.ts'
import type { CommandDeps } from '../deps.ts'

/** 66 bits beside those of the id; the header stays on one line for most domains. */
const SALT_CHARS = 11

export interface Attachment {
  filename: string
  content: Buffer
  content_type: string | null
  /** For `cid:` links of the html. */
  content_id: string | null
}

export interface EmailParts {
  category: 'transactional' | 'marketing'
  /** As recipients see them: addresses with display names. */
  from: string
  to: string[]
  cc?: string[]
  bcc?: string[]
  replyTo: string[]
  /** A large html or text as its UTF-8. */
  content: { subject: string; html: string | Buffer | null; text: string | Buffer | null }
  templateId: string | null
  domain: SendingDomain
  /** The sending domain's name. */
  domainName: string
  headers?: Record<string, string>
  tags?: Record<string, string>
  metadata?: JsonObject
  /** Overrides the settings of the domain. */
  tracking?: { opens?: boolean; clicks?: boolean }
  /** The execution that sends the email; null if none does. */
  sentBy: { workflowId: string; executionId: string; nodeId: string } | null
  unsubscribeToken: string | null
  /** The time that is asked for, in ms; absent or null: none is, it is sent at once. */
  scheduledAt?: number | null
  /** Bare addresses, each once. */
  recipients: string[]
  /** Those of them who are of the team, beside or instead of the contact of `sentBy`. */
  team?: string[]
  attachments?: Attachment[]
  /** That of a message that came whole, without angle brackets; absent: one is made. */
  messageId?: string | undefined
}

/** Addresses as they are stored, without spaces around them: mail is found by its address, to list it or to erase somebody. */
const trimmed = (addresses: readonly string[] = []): string[] => addresses.map((one) => one.trim())

/** Makes an email that is due at its time, or at once. Every category is tried for as long as transactional mail (24 hours), from when it is due. */
export function newEmail(
  {
    newId,
    now,
    config,
  }: Pick<CommandDeps, 'newId' | 'now'> & {
    config: Pick<CommandDeps['config'], 'simulatorDomain'>
  },
  parts: EmailParts,
): NewEmail {
  const { content, domain, sentBy, tracking = {} } = parts
  const at = now()
  const scheduledAt = scheduledFor(parts.scheduledAt ?? null, at)
  const dueAt = scheduledAt ?? at
  const id = newId('email')
  const salt = newOpaqueToken().slice(0, SALT_CHARS)
  return {
    row: {
      id,
      type: 'transactional',
      category: parts.category,
      from: parts.from.trim(),
      to: trimmed(parts.to),
      cc: trimmed(parts.cc),
      bcc: trimmed(parts.bcc),
      reply_to: trimmed(parts.replyTo),
      subject: content.subject,
      html: content.html,
      text: content.text,
      template_id: parts.templateId,
      domain_id: domain.id,
      headers: parts.headers ?? {},
      tags: parts.tags ?? {},
      metadata: parts.metadata ?? {},
      message_id: parts.messageId ?? messageIdOf(id, salt, parts.domainName),
      workflow_id: sentBy?.workflowId ?? null,
      execution_id: sentBy?.executionId ?? null,
      node_id: sentBy?.nodeId ?? null,
      unsubscribe_token: parts.unsubscribeToken,
      track_opens: tracking.opens ?? domain.open_tracking_enabled,
      track_clicks: tracking.clicks ?? domain.click_tracking_enabled,
      tracking_host: domain.tracking_host,
      scheduled_at: scheduledAt,
      created_at: at,
    },
    recipients: parts.recipients,
    team: parts.team ?? [],
    // Decided here, once: a worker whose setting differs must not send what was accepted as a test.
    simulated: parts.recipients.filter((one) => isTestAddress(one, config.simulatorDomain)),
    attachments: parts.attachments ?? [],
    dueAt,
    expiresAt: new Date(dueAt.getTime() + expiry_ms.transactional),
  }
}
