// Tables of mail: emails, deliveries and their attempts, email events, suppressions.
// Long because it lists every column of these tables.

import type { Generated } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { DeliveryState } from '../../rules/states.ts'
import type { Defaulted, JsonColumn, JsonObject } from './columns.ts'

export interface EmailsTable {
  id: string
  workspace_id: WorkspaceId
  type: 'transactional' | 'broadcast'
  /** Decides whether an `unknown` outcome is sent once more, and whether List-Unsubscribe is set. */
  category: 'transactional' | 'marketing'
  from: string
  to: string[]
  cc: string[]
  bcc: string[]
  reply_to: string[]
  subject: string
  html: string | null
  /** null: made from the html when the email is read or composed. */
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
  /** 128-bit opaque text; null if the email has no unsubscribe link. */
  unsubscribe_token: string | null
  track_opens: Defaulted<boolean>
  track_clicks: Defaulted<boolean>
  /**
   * Host of its pixel and links: the domain's tracking_domain when the email was accepted; null: the host of the
   * public URL.
   */
  tracking_host: string | null
  /** When it is or was due; null: at once. Of mail whose time has come by a change, that moment. */
  scheduled_at: Defaulted<Date | null>
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

/** A mail that came as a whole message, by SMTP: it is sent as it was written. In slices of a mebibyte, without its signature. */
export interface EmailSourcesTable {
  email_id: string
  position: number
  content: Buffer
}

/** The Message-ID of a submitted mail that its client has given it, by its hash (`hashtextextended`). */
export interface SubmittedMessageIdsTable {
  hash: string
  workspace_id: WorkspaceId
  email_id: string
}

/**
 * Addresses by which mail is found that names somebody: recipients of a submitted header who are not in its envelope, and those of `reply_to`
 * behind the first; by their hash (`hashtextextended`, with the seed 0 and 1).
 */
export interface HeaderNamesTable {
  workspace_id: WorkspaceId
  hash: string
  email_id: string
}

/** The targets of an email's tracked links, in the order of the html. The token of a link has its index here. */
export interface EmailLinksTable {
  email_id: string
  urls: string[]
}

export interface DeliveriesTable {
  id: Generated<number>
  email_id: string
  workspace_id: WorkspaceId
  recipient: string
  /** 0-63, hash of the destination. */
  shard: number
  state: DeliveryState
  attempt: Defaulted<number>
  next_at: Date
  lease_token: string | null
  lease_until: Date | null
  expires_at: Date
  /** How often it was sent again after an `unknown` outcome. */
  resent: Defaulted<number>
  last_response: string | null
  /** The sending domain. */
  domain_id: string
  /** Day (UTC) of its place in the domain's warm-up, `YYYY-MM-DD`; null: it has no place. */
  slot_day: string | null
  created_at: Date
  settled_at: Date | null
  /** Whether an opt-out stops it; null: written by the release before, and not filled in yet. */
  marketing: Defaulted<boolean | null>
  /** HMAC of the recipient, as in opt_outs; null unless it is marketing mail, like `workflow_id` and `execution_id`. */
  address_hmac: Defaulted<Buffer | null>
  /** The HMAC of the recipient's own address where `address_hmac` is not that; null: it is, or a release before wrote the row. */
  own_hmac: Defaulted<Buffer | null>
  workflow_id: Defaulted<string | null>
  execution_id: Defaulted<string | null>
  /** The lease of the last claim: Postgres refuses a claim that does not write it. */
  fence: Defaulted<string | null>
  /** The place of its class in mailClasses. */
  class: Defaulted<number>
  /** What is one receiver for connections and pace: a domain, a provider, or the addresses of mail servers. */
  destination: Defaulted<string>
  /** False: it becomes due later. */
  ready: Defaulted<boolean>
  /** It goes to somebody of the team, and not to the contact of its execution: no contact hears what becomes of it. */
  to_team: Defaulted<boolean>
  /** It waits for the time for which it is scheduled: it may be moved or cancelled, and no claim sees it. */
  scheduled: Defaulted<boolean>
  /** For when it was scheduled, from which its life counts; null: from its acceptance. */
  due_at: Defaulted<Date | null>
  /** The provider of the recipient, as it was known when the mail was accepted, for statistics; null: none that we know. */
  provider: Defaulted<string | null>
  /** It is to a test address, for which the lane answers; null: written by the release before, so the lane decides. */
  simulated: Defaulted<boolean | null>
  /** The lease of the last claim that knew `simulated`: others pass over what is. */
  simulated_fence: Defaulted<string | null>
}

/** What one claim has taken, for whoever takes over from a worker that died. */
export interface DeliveryClaimsTable {
  id: Generated<number>
  /** The lease. What has another one by now, or none, is not under way by this claim any more. */
  token: string
  from_shard: number
  /** The last one is excluded. */
  to_shard: number
  ids: number[]
  /** None of their leases ends before. */
  until: Date
}

/** What direct delivery has learned about the domain of a recipient. */
export interface RecipientDomainsTable {
  domain: string
  /** The provider or the addresses of its mail servers; null: not found yet. */
  destination: string | null
  /** The shard of the destination. */
  shard: number | null
  /** The destination, if it is a provider. */
  provider: Defaulted<string | null>
  /** Since when the DNS says that the domain does not exist; null: it exists. */
  nx_since: Date | null
  looked_up_at: Date
}

/** What somebody left. The address is there as its HMAC alone, so the row may outlive every other trace of them. */
export interface OptOutsTable {
  id: string
  workspace_id: WorkspaceId
  scope: 'workflow' | 'audience' | 'broadcasts' | 'workspace'
  /** The id of a workflow or an audience; '' for the other scopes. */
  target_id: string
  address_hmac: Buffer
  /** `api`: a call of the customer's. All others are acts of the person. */
  source: 'link' | 'one_click' | 'mail' | 'complaint' | 'api'
  /** The email whose link a GET followed, which a scanner may have made; null: it is certain. */
  unconfirmed_email_id: string | null
  created_at: Date
}

/** One row: the key of the HMACs, encrypted. */
export interface AddressKeysTable {
  id: number
  key: Buffer
  created_at: Date
}

/** Who owns a delivery lane. A row stays when its lane has no owner any more. */
export interface LanesTable {
  /** Number of the lane, from 0. */
  lane: number
  /** The count of lanes for which it was taken. */
  lanes: number
  /** Its shards: from `shard_from`, below `shard_to`. */
  shard_from: number
  shard_to: number
  /** The process, for operators: `pid@host`. */
  owner: string
  /** Grows each time that any lane gets an owner. Only the owner with this epoch may claim; 0: nobody. */
  epoch: number
  /** Owners since this epoch may still mark what they have claimed. */
  marks_from: number
  /** Whether its owner lets it go: who takes it lets this one finish what it has claimed. */
  offered: boolean
  /** Until then its owner counts as alive; it moves this on every two seconds. */
  until: Date
}

/** The tags of emails as `key:value`, written by a trigger. */
export interface EmailTagsTable {
  workspace_id: WorkspaceId
  tag: string
  email_id: string
}

export type EmailStatus = 'scheduled' | 'sent' | 'delivered' | 'opened' | 'clicked' | 'bounced'

export interface EmailEventsTable {
  id: Generated<number>
  email_id: string
  workspace_id: WorkspaceId
  recipient: string
  status: EmailStatus
  at: Date
  /** The fields that the status adds: smtp_response, type, subtype, link, ip, ... */
  data: JsonColumn<JsonObject>
  /** Why an open or click counts as made by a machine; such events are not shown. null: a person made it. */
  machine: string | null
}

/** One attempt of a delivery, with the SMTP conversation. */
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
  /** `ip:port` of the mail server. */
  address: string | null
  /** TLS version; null without TLS. */
  tls: string | null
  /** As `rules/mail/conversation.ts` writes it. */
  conversation: Defaulted<string>
}

/** Days (UTC) on which a delivery to an address ended with a transient bounce. */
export interface SoftBouncesTable {
  workspace_id: WorkspaceId
  email: string
  day: string
  /**
   * The email whose later delivery cleared this day, so that it no longer counts. A bounce report for that email
   * makes it count again.
   */
  cleared_by: string | null
}

/** Erasures that are not over: mail up to that delivery is not sent to the address any more. */
export interface LiveErasuresTable {
  workspace_id: WorkspaceId
  address_hmac: Buffer
  delivery_id: number
}

/** Suppressions of people who were erased: the address is there as its HMAC alone, as in opt_outs. */
export interface ErasedSuppressionsTable {
  workspace_id: WorkspaceId
  address_hmac: Buffer
  reason: 'bounce' | 'complaint' | 'manual'
  source_id: string | null
  created_at: Date
  expires_at: Date | null
}

export interface SuppressionsTable {
  workspace_id: WorkspaceId
  email: string
  reason: 'bounce' | 'complaint' | 'manual'
  source_id: string | null
  created_at: Date
  expires_at: Date | null
}
