// All reasons why a command can refuse, as a closed union. Each caller gives a refusal its own form (HTTP answer,
// SMTP reply, line of a job).
import type { Problem } from './design/problem.ts'
import type { JobMove, JobStatus } from './jobs.ts'
import type { KeyPermission } from './permissions.ts'
import type { ExecutionStatus, WorkflowStatus } from './states.ts'

/** A code without further facts. */
type NoFacts = Record<never, never>

/** The facts of each code. */
interface RefusalFacts {
  alias_taken: { alias: string }
  /** The end that is asked for has come already; both in ms. */
  api_key_ends_before: { given: number; now: number }
  /** The key that is rotated has expired. */
  api_key_expired: { id: string }
  /** The key that asks was revoked, replaced or has ended since it was looked up. */
  api_key_gone: NoFacts
  api_key_not_found: { id: string }
  /** The key would live longer than the caller's, which ends then, in ms. */
  api_key_outlives: { end: number }
  /** The key would have a permission that allows more than the caller's. */
  api_key_stronger: { permission: KeyPermission; asked: KeyPermission }
  audience_not_found: { id: string }
  /** The audience has no contact with this address. */
  audience_contact_not_found: { email: string }
  /** The address is not an automation contact. */
  contact_not_found: NoFacts
  /** An email of a batch, after others that have rendered as much as a batch may. */
  batch_rendered_too_large: { most_bytes: number }
  /** An email of a batch, after others whose templates have as many bytes as those of a batch may. */
  batch_templates_too_large: { most_bytes: number }
  /** After the merge the contact's properties would be too large or too deep. */
  contact_properties_refused: { field: 'properties' | 'contact_properties'; text: string }
  /** The template reads a contact, which the caller may not; the variable as the template writes it. */
  contact_unreadable: { field: string; variable: string }
  /** The contact has unsubscribed from the workflow. */
  contact_unsubscribed: NoFacts
  /** The day has fewer emails left than are wanted, of the workspace or of the key that asks. */
  daily_limit: { limit: number; ofKey: boolean; wanted: number; retry_after_s: number }
  domain_exists: { name: string }
  /** No domain of that name to send from. */
  domain_not_found: { name: string }
  /** The caller is bound to another domain and may not send from this one, whether it exists or not. */
  domain_not_of_key: { name: string }
  domain_not_verified: { name: string }
  email_not_found: { id: string }
  /** It is not scheduled, or its time has come, or it is cancelled. */
  email_not_scheduled: { id: string }
  /** The template of an email. */
  email_template_not_found: { idOrAlias: string }
  /** An event with that event_id was recorded, with another name or address. */
  event_id_reused: { eventId: string }
  execution_not_found: NoFacts
  /** The execution has ended, and not by a cancellation. */
  execution_not_running: { status: ExecutionStatus }
  /** The html of a request. */
  html_too_large: { html_bytes: number }
  /** No domain with that id. */
  domain_id_not_found: { id: string }
  /** Not a name that somebody can register. */
  invalid_domain_name: { name: string }
  /** Not a host below the registrable domain of this domain. */
  invalid_tracking_domain: { domain: string; host: string }
  invalid_design: { problems: readonly Problem[] }
  /**
   * A part of a template does not parse; line and column count from 1. `at` null: it parses but cannot be
   * rendered.
   */
  invalid_template: { text: string; at: { field: string; line: number; column: number } | null }
  job_not_found: { id: string }
  /** The job is in no state from which it may be moved so. */
  job_not_running: { status: JobStatus; move: JobMove }
  not_suppressed: { email: string }
  /** Another replay of the webhook is not over: the id of its job. */
  replay_in_progress: { jobId: string }
  /** They have left the audience, or everything, by an act of their own; `source` is which. */
  opted_out: { email: string; source: string }
  /** Too much is being rendered at this moment. */
  renderer_busy: NoFacts
  /** By the rule of this trigger; `mode` null: the contact has entered the workflow too often within an hour. */
  re_entry_refused: { nodeId: string; mode: string | null }
  reserved_event_name: { eventName: string }
  /** What is wrong with the condition of a segment. */
  segment_condition_invalid: { problems: readonly Problem[] }
  /** The segment names itself, by way of these others, which may be none. */
  segment_cycle: { by: readonly string[] }
  /** A segment or a workflow names the segment: the id of one. */
  segment_in_use: { by: 'segment' | 'workflow'; id: string }
  segment_not_found: { id: string }
  /** With those that it names, and these name, it reads more segments than this. */
  segment_too_wide: { most: number }
  secret_not_found: { name: string }
  /** Neither the email nor its template has a subject. */
  subject_missing: NoFacts
  subject_too_long: { chars: number }
  template_empty: NoFacts
  template_in_use: { workflowId: string }
  /** What a template needs to be sent as a test. */
  template_lacks: { field: 'from' | 'html or text' }
  /** The caller is bound to one domain, and a workflow that uses the template sends from this other one. */
  template_not_of_key: { workflowId: string; name: string }
  /** Rendering that part (subject, html, text or preview_text) took longer than this, twice. */
  template_too_slow: { part: string; ms: number }
  template_not_found: { idOrAlias: string }
  template_not_published: { idOrAlias: string }
  /** The timestamp is too far in the future; both in ms. */
  timestamp_ahead: { timestamp: number; latest: number }
  too_many_secrets: NoFacts
  too_many_webhooks: NoFacts
  /** Not a type of event, nor a group of them. */
  webhook_event_unknown: { event: string }
  webhook_not_found: { id: string }
  webhook_delivery_not_found: { id: string }
  /** Not a URL that a webhook may have. */
  webhook_url_refused: { url: string; allowPrivate: boolean }
  version_conflict: { expected: number; currentVersion: number }
  workflow_not_active: { status: WorkflowStatus }
  workflow_not_found: { id: string }
  workflow_version_not_found: { id: string; version: string }
}

export type RefusalCode = keyof RefusalFacts

declare const refused: unique symbol

/** The result of a command that did nothing. Only `refuse` makes one. */
export type Refusal<C extends RefusalCode = RefusalCode> = {
  [K in C]: { readonly [refused]: true; readonly code: K } & Readonly<RefusalFacts[K]>
}[C]

const made = new WeakSet<object>()

/** Makes a refusal: `refuse('alias_taken', { alias })`. */
export function refuse<C extends RefusalCode>(code: C, facts: RefusalFacts[C]): Refusal<C> {
  const refusal = Object.freeze({ ...facts, code }) as unknown as Refusal<C>
  made.add(refusal)
  return refusal
}

/** Whether the result of a command is a refusal; otherwise it is the command's value. */
export function isRefusal<T>(answer: T): answer is Extract<T, Refusal> {
  return typeof answer === 'object' && answer !== null && made.has(answer)
}
