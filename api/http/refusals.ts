// What HTTP makes of a command's refusal: for each code its status, its code on the wire and its text.
import { limits } from '../../rules/limits.ts'
import { isRefusal, type Refusal, type RefusalCode } from '../../rules/refusals.ts'
import { ApiError, badRequest, conflict, notFound } from './errors.ts'

const MEGABYTE = 1024 * 1024

type Answers = { [C in RefusalCode]: (refusal: Refusal<C>) => ApiError }

const answers: Answers = {
  alias_taken: ({ alias }) => conflict(`The alias ${alias} is taken`, 'alias_taken'),
  api_key_not_found: ({ id }) => notFound(`API key ${id} not found`),
  audience_not_found: ({ id }) => notFound(`Audience ${id} not found`),
  audience_contact_not_found: ({ email }) =>
    notFound(`Contact ${email} not found in this audience`),
  contact_not_found: () =>
    notFound('Contact not found. Send an event first to create the contact.', null),
  contact_properties_refused: ({ field, text }) => badRequest(`${field}: with these, ${text}`),
  contact_unsubscribed: () =>
    conflict('The contact has unsubscribed from this workflow', 'contact_unsubscribed'),
  domain_exists: ({ name }) => conflict(`Domain ${name} is already registered`, 'domain_exists'),
  domain_not_found: ({ name }) =>
    new ApiError(403, 'domain_not_found', `Domain ${name} is not a domain of this workspace`),
  domain_not_verified: ({ name }) =>
    new ApiError(403, 'domain_not_verified', `Domain ${name} is not verified`),
  email_template_not_found: ({ idOrAlias }) => notFound(`Template '${idOrAlias}' not found`, null),
  execution_not_found: () => notFound('Execution not found', null),
  execution_not_running: () => conflict('The execution has ended', 'execution_not_running'),
  html_too_large: ({ html_bytes }) => {
    const size = (html_bytes / MEGABYTE).toFixed(2)
    const max = limits.htmlBytesMax / MEGABYTE
    return badRequest(`html content size (${size}MB) exceeds maximum of ${max}MB`, null)
  },
  domain_id_not_found: ({ id }) => notFound(`Domain ${id} not found`),
  invalid_domain_name: () => badRequest('name must be a valid domain name', 'invalid_domain_name'),
  invalid_tracking_domain: ({ domain }) =>
    badRequest(
      `tracking_domain must be a name below the registrable domain of ${domain}`,
      'invalid_domain_name',
    ),
  invalid_design: ({ problems }) =>
    new ApiError(400, 'invalid_design', 'Workflow design is invalid', { extra: { problems } }),
  invalid_template: ({ text, at }) =>
    new ApiError(400, 'invalid_template', text, at ? { extra: { ...at } } : {}),
  not_suppressed: ({ email }) => notFound(`Address ${email} is not suppressed`),
  re_entry_refused: () =>
    conflict('The re-entry rule of the trigger keeps the contact out', 're_entry_refused'),
  reserved_event_name: ({ eventName }) =>
    badRequest(`event_name: ${eventName} is reserved`, 'reserved_event_name'),
  restricted_api_key: () =>
    new ApiError(403, 'restricted_api_key', 'This API key may not send from this domain'),
  subject_missing: () => badRequest('subject field is required', null),
  subject_too_long: () =>
    badRequest(`subject must not exceed ${limits.subjectCharsMax} characters`),
  template_empty: () => badRequest('The template has neither html nor text', 'template_empty'),
  template_in_use: ({ workflowId }) =>
    conflict(`Workflow ${workflowId} sends this template; pause it first`, 'template_in_use'),
  template_not_found: ({ idOrAlias }) => notFound(`Template '${idOrAlias}' not found`),
  template_not_published: ({ idOrAlias }) =>
    badRequest(`Template '${idOrAlias}' is not published`, 'template_not_published'),
  timestamp_ahead: () => badRequest('timestamp: must not be more than 24 hours ahead'),
  version_conflict: ({ currentVersion }) =>
    conflict(`The workflow is at version ${currentVersion}`, 'version_conflict'),
  workflow_not_active: () =>
    conflict('Only an active workflow can be started', 'workflow_not_active'),
  workflow_not_found: ({ id }) => notFound(`Workflow ${id} not found`),
  workflow_version_not_found: ({ id, version }) =>
    notFound(`Workflow ${id} has no version ${version}`),
}

/** A refusal as the error that a client sees. */
export function toApiError<C extends RefusalCode>(refusal: Refusal<C>): ApiError {
  const answer = answers[refusal.code as C] as (refusal: Refusal<C>) => ApiError
  return answer(refusal)
}

/** The value of a command's answer. @throws ApiError when it refused */
export function orThrow<T>(answer: T): Exclude<T, Refusal> {
  if (isRefusal(answer)) throw toApiError(answer as Refusal)
  return answer as Exclude<T, Refusal>
}
