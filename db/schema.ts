// The tables for Kysely, and the row types of queries.
import type { Insertable, Selectable } from 'kysely'
import type {
  AutomationEventsTable,
  ContactsTable,
  EventWaitsTable,
  ExecutionSegmentsTable,
  ExecutionStepsTable,
  ExecutionsTable,
  OutboxTable,
  SchedulesTable,
  SpentEventIdsTable,
  SuspectsTable,
  TemporalNamespacesTable,
  WorkflowsTable,
  WorkflowTriggersTable,
  WorkflowTriggerVersionsTable,
  WorkflowUnsubscribesTable,
  WorkflowVersionsTable,
} from './tables/automation.ts'
import type { HttpCallsTable, SecretsTable } from './tables/calls.ts'
import type { JobFailuresTable, JobsTable } from './tables/jobs.ts'
import type { EmailDaysTable, RateLimitsTable } from './tables/limits.ts'
import type {
  AddressKeysTable,
  DeliveriesTable,
  DeliveryAttemptsTable,
  DeliveryClaimsTable,
  EmailAttachmentsTable,
  EmailEventsTable,
  EmailLinksTable,
  EmailSourcesTable,
  EmailsTable,
  EmailTagsTable,
  ErasedSuppressionsTable,
  HeaderNamesTable,
  LanesTable,
  LiveErasuresTable,
  OptOutsTable,
  RecipientDomainsTable,
  SoftBouncesTable,
  SubmittedMessageIdsTable,
  SuppressionsTable,
} from './tables/mail.ts'
import type { IdempotencyKeysTable } from './tables/requests.ts'
import type { RetentionPartsTable } from './tables/retention.ts'
import type { SegmentFillsTable, SegmentMembersTable, SegmentsTable } from './tables/segments.ts'
import type {
  EmailFirstsTable,
  EmailStatChangesTable,
  EmailStatHistoryTable,
  EmailStatsTable,
} from './tables/stats.ts'
import type {
  ApiKeysTable,
  AudienceChangesTable,
  AudienceContactsTable,
  AudiencesTable,
  DomainDaysTable,
  DomainKeysTable,
  DomainsTable,
  FormerTokensTable,
  TemplatesTable,
  TemplateVersionsTable,
  UsersTable,
  WorkspacesTable,
} from './tables/tenants.ts'
import type {
  ComplaintsTable,
  WebhookDeliveriesTable,
  WebhookEventsTable,
  WebhookSecretsTable,
  WebhooksTable,
} from './tables/webhooks.ts'

export type { JsonObject } from './tables/columns.ts'
export type { EmailStatus } from './tables/mail.ts'

export interface Database {
  workspaces: WorkspacesTable
  idempotency_keys: IdempotencyKeysTable
  users: UsersTable
  api_keys: ApiKeysTable
  former_tokens: FormerTokensTable
  rate_limits: RateLimitsTable
  email_days: EmailDaysTable
  domains: DomainsTable
  domain_keys: DomainKeysTable
  domain_days: DomainDaysTable
  templates: TemplatesTable
  template_versions: TemplateVersionsTable
  audiences: AudiencesTable
  audience_contacts: AudienceContactsTable
  emails: EmailsTable
  email_attachments: EmailAttachmentsTable
  email_links: EmailLinksTable
  email_tags: EmailTagsTable
  email_sources: EmailSourcesTable
  submitted_message_ids: SubmittedMessageIdsTable
  header_names: HeaderNamesTable
  deliveries: DeliveriesTable
  delivery_claims: DeliveryClaimsTable
  lanes: LanesTable
  audience_changes: AudienceChangesTable
  recipient_domains: RecipientDomainsTable
  delivery_attempts: DeliveryAttemptsTable
  email_events: EmailEventsTable
  suppressions: SuppressionsTable
  erased_suppressions: ErasedSuppressionsTable
  live_erasures: LiveErasuresTable
  soft_bounces: SoftBouncesTable
  opt_outs: OptOutsTable
  address_keys: AddressKeysTable
  contacts: ContactsTable
  automation_events: AutomationEventsTable
  spent_event_ids: SpentEventIdsTable
  workflows: WorkflowsTable
  workflow_versions: WorkflowVersionsTable
  workflow_triggers: WorkflowTriggersTable
  workflow_trigger_versions: WorkflowTriggerVersionsTable
  schedules: SchedulesTable
  segments: SegmentsTable
  segment_members: SegmentMembersTable
  segment_fills: SegmentFillsTable
  executions: ExecutionsTable
  execution_segments: ExecutionSegmentsTable
  execution_steps: ExecutionStepsTable
  event_waits: EventWaitsTable
  http_calls: HttpCallsTable
  secrets: SecretsTable
  outbox: OutboxTable
  suspects: SuspectsTable
  temporal_namespaces: TemporalNamespacesTable
  workflow_unsubscribes: WorkflowUnsubscribesTable
  jobs: JobsTable
  job_failures: JobFailuresTable
  complaints: ComplaintsTable
  webhooks: WebhooksTable
  webhook_secrets: WebhookSecretsTable
  webhook_events: WebhookEventsTable
  webhook_deliveries: WebhookDeliveriesTable
  email_stats: EmailStatsTable
  email_stat_changes: EmailStatChangesTable
  email_firsts: EmailFirstsTable
  email_stat_history: EmailStatHistoryTable
  retention_parts: RetentionPartsTable
}

export type Row<T extends keyof Database> = Selectable<Database[T]>
export type NewRow<T extends keyof Database> = Insertable<Database[T]>
