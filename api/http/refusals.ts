// The HTTP answer for each refusal of a command: its status, code and text.

import { domainAdvice } from '../../rules/asciiDomains.ts'
import { reservedEventPrefixes } from '../../rules/eventNames.ts'
import { limits, MEBIBYTE } from '../../rules/limits.ts'
import { isRefusal, type Refusal, type RefusalCode } from '../../rules/refusals.ts'
import { shown, shownText } from '../../rules/shown.ts'
import { ApiError, badRequest, conflict, notFound } from './errors.ts'
import { serviceUnavailable } from './unavailable.ts'

type Answers = { [C in RefusalCode]: (refusal: Refusal<C>) => ApiError }

const answers: Answers = {
  alias_taken: ({ alias }) =>
    conflict(`alias: another template has ${shown(alias)} already`, 'alias_taken'),
  api_key_ends_before: ({ given, now }) =>
    badRequest(`expires_at must be in the future, after ${now}, not ${given}`),
  api_key_expired: ({ id }) =>
    conflict(`API key ${shownText(id)} has expired: make another one`, 'api_key_expired'),
  api_key_gone: () =>
    new ApiError(403, 'invalid_api_key', 'The API key is unknown, revoked or expired'),
  api_key_not_found: ({ id }) => notFound(`API key ${shownText(id)} not found`),
  api_key_outlives: ({ end }) =>
    new ApiError(
      403,
      'restricted_api_key',
      `This API key ends at ${end}, and gives no token that works longer`,
    ),
  api_key_stronger: ({ permission, asked }) =>
    new ApiError(
      403,
      'restricted_api_key',
      `This API key has the permission ${permission}, and gives no token that has ${asked}`,
    ),
  audience_not_found: ({ id }) => notFound(`Audience ${shownText(id)} not found`),
  // No operation changes segments yet: the codes of these come with the first one.
  segment_condition_invalid: ({ problems }) =>
    badRequest('The condition of the segment is invalid', 'invalid_request', { problems }),
  segment_cycle: ({ by }) =>
    badRequest(
      `condition: the segment names itself${by.length > 0 ? ` by way of ${by.join(', ')}` : ''}`,
    ),
  segment_in_use: ({ by, id }) =>
    new ApiError(409, null, `The ${by} ${shownText(id)} uses this segment`),
  segment_not_found: ({ id }) => notFound(`Segment ${shownText(id)} not found`),
  segment_too_wide: ({ most }) =>
    badRequest(`condition: a segment must not read more than ${most} others, by way of others too`),
  secret_not_found: ({ name }) => notFound(`Secret ${shownText(name)} not found`),
  too_many_secrets: () =>
    badRequest(
      `name: this workspace has ${limits.secretsPerWorkspaceMax} secrets already; delete one that no design reads`,
    ),
  too_many_webhooks: () =>
    conflict(
      `This workspace has ${limits.webhooksMax} webhooks already; delete one first`,
      'too_many_webhooks',
    ),
  audience_contact_not_found: ({ email }) =>
    notFound(`Contact ${shownText(email)} not found in this audience`),
  contact_not_found: () =>
    notFound('Contact not found. Send an event first to create the contact.', null),
  contact_properties_refused: ({ field, text }) =>
    badRequest(`${field}: merged into those of the contact, they ${text}`),
  contact_unreadable: ({ field, variable }) =>
    new ApiError(
      403,
      'restricted_api_key',
      `${field}: this API key may not read contacts, and the template reads ${shownText(variable)}`,
    ),
  contact_unsubscribed: () =>
    conflict('The contact has unsubscribed from this workflow', 'contact_unsubscribed'),
  batch_rendered_too_large: ({ most_bytes }) =>
    badRequest(
      `The emails before it have rendered ${most_bytes / MEBIBYTE} MiB, as much as one batch may: send it in another batch`,
      'text_too_large',
    ),
  batch_templates_too_large: ({ most_bytes }) =>
    badRequest(
      `The templates of the emails before it have ${most_bytes / MEBIBYTE} MiB, as much as one batch may: send it in another batch`,
      'text_too_large',
    ),
  email_not_found: ({ id }) => notFound(`Email ${shownText(id)} not found`),
  email_not_scheduled: ({ id }) =>
    conflict(
      `Email ${shownText(id)} does not wait for a time: it is sent already, or cancelled`,
      'email_not_scheduled',
    ),
  daily_limit: ({ limit, ofKey, wanted, retry_after_s }) =>
    new ApiError(
      429,
      'daily_limit',
      `This ${ofKey ? 'API key' : 'workspace'} may send ${limit} emails a day (UTC), and has${wanted === 1 ? '; try again tomorrow' : ` fewer than ${wanted} left; try again tomorrow, or with fewer`}`,
      { headers: { 'Retry-After': String(retry_after_s) } },
    ),
  domain_exists: ({ name }) =>
    conflict(
      `name: domain ${shownText(name)} is registered in this workspace already`,
      'domain_exists',
    ),
  domain_not_found: ({ name }) =>
    new ApiError(
      403,
      'domain_not_found',
      `from: ${shownText(name)} is not a domain of this workspace`,
    ),
  domain_not_of_key: ({ name }) =>
    new ApiError(
      403,
      'domain_not_found',
      `from: this API key may not send from ${shownText(name)}`,
    ),
  domain_not_verified: ({ name }) =>
    new ApiError(
      403,
      'domain_not_verified',
      `from: the DNS records of ${shownText(name)} were not found`,
    ),
  email_template_not_found: ({ idOrAlias }) => notFound(`Template '${idOrAlias}' not found`, null),
  event_id_reused: ({ eventId }) =>
    conflict(
      `event_id: ${shown(eventId)} is that of an event with another event_name or email`,
      'event_id_reused',
    ),
  execution_not_found: () => notFound('Execution not found', null),
  execution_not_running: ({ status }) =>
    conflict(`The execution has ended: its status is ${status}`, 'execution_not_running'),
  html_too_large: ({ html_bytes }) => {
    const size = (html_bytes / MEBIBYTE).toFixed(2)
    const max = limits.htmlBytesMax / MEBIBYTE
    return badRequest(`html content size (${size}MB) exceeds maximum of ${max}MB`, null)
  },
  domain_id_not_found: ({ id }) => notFound(`Domain ${shownText(id)} not found`),
  invalid_domain_name: ({ name }) =>
    badRequest(
      `name must be a domain name such as mail.example.com${domainAdvice(name)}, not ${shown(name)}`,
      'invalid_domain_name',
    ),
  invalid_tracking_domain: ({ domain, host }) =>
    badRequest(
      `tracking_domain must be a name below the registrable domain of ${domain}, not ${shown(host)}`,
      'invalid_domain_name',
    ),
  invalid_design: ({ problems }) =>
    badRequest('Workflow design is invalid', 'invalid_design', { problems }),
  invalid_template: ({ text, at }) => badRequest(text, 'invalid_template', at ? { ...at } : {}),
  job_not_found: ({ id }) => notFound(`Job ${shownText(id)} not found`),
  replay_in_progress: ({ jobId }) =>
    conflict(`The job ${jobId} replays this webhook, and is not over`, 'replay_in_progress'),
  job_not_running: ({ status, move }) =>
    conflict(`The job is ${status}, so it cannot ${move}`, 'job_not_running'),
  not_suppressed: ({ email }) => notFound(`Address ${shownText(email)} is not suppressed`),
  re_entry_refused: ({ mode, nodeId }) =>
    conflict(
      mode === null
        ? `the contact has entered the workflow ${limits.entriesPerHourMax} times within an hour`
        : `re_entry ${mode} of the trigger ${nodeId} keeps the contact out`,
      're_entry_refused',
    ),
  opted_out: ({ email, source }) =>
    conflict(
      `${shownText(email)} has unsubscribed from this audience by their own act (${source}), which no call takes back`,
      'opted_out',
    ),
  renderer_busy: () => serviceUnavailable('rendering'),
  reserved_event_name: ({ eventName }) =>
    badRequest(
      `event_name must not begin with ${reservedEventPrefixes.join(' ')}, as ${shown(eventName)} does`,
      'reserved_event_name',
    ),
  subject_missing: () => badRequest('subject field is required', null),
  subject_too_long: ({ chars }) =>
    badRequest(`subject must not exceed ${limits.subjectCharsMax} characters, has ${chars}`),
  template_empty: () =>
    badRequest('html or text is required before a template is published', 'template_empty'),
  template_lacks: ({ field }) =>
    badRequest(`The template has no ${field}: give it one before it is sent as a test`),
  template_not_of_key: ({ workflowId, name }) =>
    new ApiError(
      403,
      'restricted_api_key',
      `This API key may not send from ${shownText(name)}, from which the workflow ${workflowId} sends this template`,
    ),
  template_in_use: ({ workflowId }) =>
    conflict(`The active workflow ${workflowId} sends this template`, 'template_in_use'),
  template_too_slow: ({ part, ms }) =>
    badRequest(
      `${part}: rendering took over ${ms / 1000} s of processor time, and was given up`,
      'template_too_slow',
      { part, ms },
    ),
  template_not_found: ({ idOrAlias }) => notFound(`Template '${shownText(idOrAlias)}' not found`),
  template_not_published: ({ idOrAlias }) =>
    badRequest(
      `template_id: template ${shown(idOrAlias)} is not published`,
      'template_not_published',
    ),
  timestamp_ahead: ({ timestamp, latest }) =>
    badRequest(`timestamp must be at most 24 hours ahead, which is ${latest}, not ${timestamp}`),
  version_conflict: ({ expected, currentVersion }) =>
    conflict(
      `expected_version is ${expected}, but the workflow is at version ${currentVersion}`,
      'version_conflict',
    ),
  webhook_delivery_not_found: ({ id }) => notFound(`Delivery ${shownText(id)} not found`),
  webhook_event_unknown: ({ event }) =>
    badRequest(
      `events must name types of events, groups as email.* or *, not ${shown(event)}`,
      'invalid_event_type',
    ),
  webhook_not_found: ({ id }) => notFound(`Webhook ${shownText(id)} not found`),
  webhook_url_refused: ({ url, allowPrivate }) =>
    badRequest(
      allowPrivate
        ? `url must be http or https, without a user or a password, not ${shown(url)}`
        : `url must be https on port 443 or 8443, without a user or a password, not ${shown(url)}`,
      'invalid_url',
    ),
  workflow_not_active: ({ status }) =>
    conflict(`The workflow must be active to be started, and is ${status}`, 'workflow_not_active'),
  workflow_not_found: ({ id }) => notFound(`Workflow ${shownText(id)} not found`),
  workflow_version_not_found: ({ id, version }) =>
    notFound(`Workflow ${shownText(id)} has no version ${shownText(version)}`),
}

/** Makes the error for a refusal. */
export function toApiError<C extends RefusalCode>(refusal: Refusal<C>): ApiError {
  const answer = answers[refusal.code as C] as (refusal: Refusal<C>) => ApiError
  return answer(refusal)
}

/** Returns the value of a command. @throws ApiError if it refused */
export function orThrow<T>(answer: T): Exclude<T, Refusal> {
  if (isRefusal(answer)) throw toApiError(answer as Refusal)
  return answer as Exclude<T, Refusal>
}
