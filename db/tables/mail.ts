// Tables of mail: emails, the delivery ledger, what happened to each recipient, suppressions.

import type { Generated } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { DeliveryState } from '../../rules/states.ts'
import type { Defaulted, JsonColumn, JsonObject } from './columns.ts'

export interface EmailsTable {
  id: string
  workspace_id: WorkspaceId
  type: 'transactional' | 'broadcast'
  /** transactional or marketing: what an `unknown` outcome may do, and whether List-Unsubscribe is set. */
  category: 'transactional' | 'marketing'
  from: string
  to: string[]
  cc: string[]
  bcc: string[]
  reply_to: string[]
  subject: string
  html: string | null
  /** null: made from the html when it is read or composed. */
  text: string | null
  template_id: string | null
  domain_id: string
  headers: JsonColumn<Record<string, string>>
  tags: JsonColumn<Record<string, string>>
  metadata: JsonColumn<JsonObject>
  /** RFC 5322 Message-ID without the angle brackets. */
  message_id: string
  workflow_id: string | null
  execution_id: string | null
  node_id: string | null
  /** 128-bit opaque text; set when the mail can be unsubscribed from. */
  unsubscribe_token: string | null
  track_opens: Defaulted<boolean>
  track_clicks: Defaulted<boolean>
  /** Host of its pixel and links, the domain's tracking_domain when it was accepted; null: the public URL. */
  tracking_host: string | null
  created_at: Date
}

export interface EmailAttachmentsTable {
  email_id: string
  position: number
  filename: string
  content_type: string | null
  content_id: string | null
  content: Buffer
}

/** The targets of an email's tracked links, in the order of the html: a link's token names its place. */
export interface EmailLinksTable {
  email_id: string
  urls: string[]
}

export interface DeliveriesTable {
  id: Generated<number>
  email_id: string
  workspace_id: WorkspaceId
  recipient: string
  /** 0-63, hash of the recipient's domain. */
  shard: number
  state: DeliveryState
  attempt: Defaulted<number>
  next_at: Date
  lease_token: string | null
  lease_until: Date | null
  expires_at: Date
  /** Times that an `unknown` outcome was sent again. */
  resent: Defaulted<number>
  last_response: string | null
  /** The sending domain. */
  domain_id: string
  /** Day (UTC) of the place that it has in its domain's warm-up, `YYYY-MM-DD`; null: it has none. */
  slot_day: string | null
  created_at: Date
  settled_at: Date | null
}

export type EmailStatus = 'sent' | 'delivered' | 'opened' | 'clicked' | 'bounced'

export interface EmailEventsTable {
  id: Generated<number>
  email_id: string
  workspace_id: WorkspaceId
  recipient: string
  status: EmailStatus
  at: Date
  /** The fields that the status adds: smtp_response, type, subtype, link, ip, ... */
  data: JsonColumn<JsonObject>
  /** Why an open or click counts as a machine's, which is shown to nobody; null: a person's. */
  machine: string | null
}

/** One attempt at one delivery, with what was said. */
export interface DeliveryAttemptsTable {
  delivery_id: number
  attempt: number
  started_at: Date
  ended_at: Date
  /** Kind of the outcome: delivered, rejected, failed, ambiguous, ... */
  outcome: string
  phase: string | null
  /** SMTP reply code. */
  code: number | null
  response: string | null
  /** Name of the mail server. */
  host: string | null
  /** Its `ip:port`. */
  address: string | null
  /** TLS version, null in the clear. */
  tls: string | null
  /** As `rules/mail/conversation.ts` writes it. */
  conversation: Defaulted<string>
}

/** Days (UTC) on which mail to an address failed for good in a way that may pass. */
export interface SoftBouncesTable {
  workspace_id: WorkspaceId
  email: string
  day: string
  /** The email that was delivered after it, so that it counts no more; a report may take that back. */
  cleared_by: string | null
}

export interface SuppressionsTable {
  workspace_id: WorkspaceId
  email: string
  reason: 'bounce' | 'complaint' | 'manual'
  source_id: string | null
  created_at: Date
  expires_at: Date | null
}
