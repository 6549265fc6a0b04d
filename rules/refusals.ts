// Why a command refuses: a closed union. Each asker gives a refusal its own form (HTTP, SMTP, a job's line).
import type { Problem } from './design/problem.ts'

/** No facts besides the code. */
type NoFacts = Record<never, never>

/** What each code tells besides itself. */
interface RefusalFacts {
  alias_taken: { alias: string }
  api_key_not_found: { id: string }
  audience_not_found: { id: string }
  /** The audience does not hold the address. */
  audience_contact_not_found: { email: string }
  /** The contact of an address that is none yet. */
  contact_not_found: NoFacts
  /** With what is to be merged into them, a contact's properties grow too large or too deep. */
  contact_properties_refused: { field: 'properties' | 'contact_properties'; text: string }
  /** They have left the workflow. */
  contact_unsubscribed: NoFacts
  domain_exists: { name: string }
  /** By its name, where mail is to be sent from it. */
  domain_not_found: { name: string }
  domain_not_verified: { name: string }
  /** The template that an email is to be made from. */
  email_template_not_found: { idOrAlias: string }
  execution_not_found: NoFacts
  /** It has ended, and not by a cancellation. */
  execution_not_running: NoFacts
  /** As the request gives it. */
  html_too_large: { html_bytes: number }
  /** By its id, where a domain itself is asked for. */
  domain_id_not_found: { id: string }
  /** No name that somebody can register. */
  invalid_domain_name: NoFacts
  /** No host below the registrable domain of this one. */
  invalid_tracking_domain: { domain: string }
  invalid_design: { problems: readonly Problem[] }
  /** A part of a template that does not parse, and where (from 1); `at` null: it parses, and cannot be rendered. */
  invalid_template: { text: string; at: { field: string; line: number; column: number } | null }
  not_suppressed: { email: string }
  re_entry_refused: NoFacts
  reserved_event_name: { eventName: string }
  /** The key may not send from this domain. */
  restricted_api_key: NoFacts
  /** Neither the email nor its template has one. */
  subject_missing: NoFacts
  subject_too_long: NoFacts
  template_empty: NoFacts
  template_in_use: { workflowId: string }
  template_not_found: { idOrAlias: string }
  template_not_published: { idOrAlias: string }
  /** A moment that lies too far ahead. */
  timestamp_ahead: NoFacts
  version_conflict: { currentVersion: number }
  workflow_not_active: NoFacts
  workflow_not_found: { id: string }
  workflow_version_not_found: { id: string; version: string }
}

export type RefusalCode = keyof RefusalFacts

declare const refused: unique symbol

/** A command's answer when it did nothing. Made by `refuse` alone. */
export type Refusal<C extends RefusalCode = RefusalCode> = {
  [K in C]: { readonly [refused]: true; readonly code: K } & Readonly<RefusalFacts[K]>
}[C]

const made = new WeakSet<object>()

/** A refusal: `refuse('alias_taken', { alias })`. */
export function refuse<C extends RefusalCode>(code: C, facts: RefusalFacts[C]): Refusal<C> {
  const refusal = Object.freeze({ ...facts, code }) as unknown as Refusal<C>
  made.add(refusal)
  return refusal
}

/** Whether a command's answer is a refusal; what is left otherwise is its value. */
export function isRefusal<T>(answer: T): answer is Extract<T, Refusal> {
  return typeof answer === 'object' && answer !== null && made.has(answer)
}
