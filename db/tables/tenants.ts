// Tables of what an operator and their customers configure: workspaces, keys, domains, templates, audiences.
import type { Generated } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { KeyPermission } from '../../rules/permissions.ts'
import type { DomainStatus } from '../../rules/states.ts'
import type { Defaulted, JsonColumn, JsonObject } from './columns.ts'

export interface WorkspacesTable {
  id: WorkspaceId
  name: string
  created_at: Date
}

export interface UsersTable {
  id: string
  workspace_id: WorkspaceId
  email: string
  first_name: string | null
  last_name: string | null
  created_at: Date
}

export interface ApiKeysTable {
  id: string
  workspace_id: WorkspaceId
  user_id: string
  name: string
  prefix: string
  /** SHA-256 of the whole token, 32 bytes. */
  token_hash: Buffer
  permission: KeyPermission
  domain_id: string | null
  expires_at: Date | null
  last_used_at: Date | null
  revoked_at: Date | null
  created_at: Date
}

/** Tokens of keys from before their rotation. */
export interface FormerTokensTable {
  /** SHA-256 of the whole token, 32 bytes. */
  token_hash: Buffer
  workspace_id: WorkspaceId
  key_id: string
  expires_at: Date
}

export interface DomainsTable {
  id: string
  workspace_id: WorkspaceId
  name: string
  status: DomainStatus
  last_checked_at: Date | null
  last_success_at: Date | null
  error_type: string | null
  soa_record: JsonColumn<JsonObject>
  is_warmed_up: Defaulted<boolean>
  warmed_up_at: Date | null
  open_tracking_enabled: Defaulted<boolean>
  click_tracking_enabled: Defaulted<boolean>
  /** The customer's host with a CNAME record to this service. */
  tracking_domain: Defaulted<string | null>
  /** What the last check found, by record. */
  record_states: Defaulted<JsonObject>
  /** When the checks of this round began; a round that finds nothing ends after 72 hours. */
  checking_since: Defaulted<Date | null>
  /** The first miss since the last success. */
  failing_since: Defaulted<Date | null>
  misses: Defaulted<number>
  deleted_at: Defaulted<Date | null>
  created_by: string
  created_at: Date
}

/** A DKIM key of a domain. It signs from `activated_at` on, and its DNS record must stay until `retired_at`. */
export interface DomainKeysTable {
  id: string
  domain_id: string
  workspace_id: WorkspaceId
  selector: string
  algorithm: 'rsa' | 'ed25519'
  /** base64, as in the DKIM record. */
  public_key: string
  /** PKCS#8, encrypted with SECRET_KEY. */
  private_key: Buffer
  created_at: Date
  activated_at: Date | null
  retired_at: Date | null
}

/** Places that a domain in its warm-up has reserved for a day (UTC). */
export interface DomainDaysTable {
  domain_id: string
  day: string
  reserved: number
}

export interface TemplatesTable {
  id: string
  workspace_id: WorkspaceId
  name: string
  alias: string | null
  current_version: number
  published_version: number | null
  created_at: Date
  updated_at: Date
}

export interface TemplateVersionsTable {
  template_id: string
  version: number
  workspace_id: WorkspaceId
  subject: string | null
  from: string | null
  reply_to: string | null
  preview_text: string | null
  html: string | null
  text: string | null
  created_at: Date
}

export interface AudiencesTable {
  id: string
  workspace_id: WorkspaceId
  name: string
  created_by: string
  contact_count: Defaulted<number>
  unsubscribers: Defaulted<number>
  created_at: Date
  updated_at: Date
  /** Since then it is gone for everybody. Its contacts go page by page, and its row with the last of them. */
  deleted_at: Defaulted<Date | null>
}

/** Changes of counts that are not in the row of the audience yet. */
export interface AudienceChangesTable {
  id: Generated<number>
  audience_id: string
  contacts: number
  unsubscribers: number
}

export interface AudienceContactsTable {
  id: string
  audience_id: string
  workspace_id: WorkspaceId
  email: string
  first_name: string | null
  last_name: string | null
  is_subscribed: Defaulted<boolean>
  properties: JsonColumn<JsonObject>
  created_at: Date
  updated_at: Date
  /** Whether opt_outs has that they are not subscribed; null: no, or they are. */
  leave_copied: Defaulted<boolean | null>
}
