// Every `code` that an error can carry, with its status and what a caller does about it: a closed list.
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import { limits, MEBIBYTE } from '../../rules/limits.ts'
import { bodyRules } from './bodies/rules.ts'

const number = (value: number) => value.toLocaleString('en-US')
const seconds = (ms: number) => `${ms / 1000} seconds`

interface CodeFacts {
  status: ContentfulStatusCode
  /** What it means and what to do: its line in docs/errors.md and in the interface description. */
  help: string
}

const codes = {
  alias_taken: {
    status: 409,
    help: 'Another template of the workspace has this alias. Choose another alias, or change that template.',
  },
  api_key_expired: {
    status: 409,
    help: 'The key has come to its end, and a new token would end with it. Make another key with `POST /v1/api-keys`.',
  },
  attachments_too_large: {
    status: 400,
    help: `The attachments of one email are over ${limits.attachmentsBytesMax / MEBIBYTE} MiB together, decoded. Send fewer, or link to the files.`,
  },
  batch_refused: {
    status: 400,
    help: 'Something is wrong with an item of a batch, and so nothing was done. `errors` names each such item with its place, text and code. Mend or leave out those, or send `x-batch-validation: permissive`.',
  },
  body_too_complex: {
    status: 400,
    help: `The body has more than ${number(limits.bodyMarksMax)} of the characters \`{ } [ ] , :\` outside of texts, or more than ${limits.bodyDepthMax} levels. Send less at once, or flatten it.`,
  },
  body_too_large: {
    status: 413,
    help: `The body is over ${limits.requestBytesMax / MEBIBYTE} MiB; where an email is sent, it is over ${limits.emailRequestBytesMax / MEBIBYTE} MiB, or over ${limits.emailRestBytesMax / MEBIBYTE} MiB without \`html\`, \`text\` and the contents of \`attachments\`. Send it in several requests.`,
  },
  body_too_slow: {
    status: 408,
    help: `The body came at less than ${number(bodyRules.bytesPerSecondMin)} bytes a second after ${seconds(bodyRules.grace_ms)}, or at less than ${number(bodyRules.contendedBytesPerSecondMin)} while other bodies waited for memory that it held, or stopped for ${seconds(bodyRules.silent_ms)}. The text says which. Send it again over a better connection, or send less at once.`,
  },
  contact_unsubscribed: {
    status: 409,
    help: 'The contact has unsubscribed from this workflow. It cannot be started for this contact; leave them out.',
  },
  content_required: {
    status: 400,
    help: 'The email has nothing to send. Give it `html`, `text` or a `template_id`.',
  },
  daily_limit: {
    status: 429,
    help: 'The workspace or the key has fewer emails left today (UTC), of those that the operator allows, than the request has. `Retry-After` says when tomorrow begins; a smaller batch may pass.',
  },
  domain_exists: {
    status: 409,
    help: 'The workspace has registered this domain already. Read it with `GET /v1/domains`.',
  },
  domain_not_found: {
    status: 403,
    help: 'The domain of `from` is not a domain of this workspace, or not the one that the key is for. Register it with `POST /v1/domains`, or use another key.',
  },
  domain_not_verified: {
    status: 403,
    help: 'The DNS records of the domain were not found. Publish its `dns_records`, then call `POST /v1/domains/{id}/verify`.',
  },
  email_required: {
    status: 400,
    help: 'The path has no address where one belongs. Put it there, percent-encoded once.',
  },
  email_not_scheduled: {
    status: 409,
    help: 'The email does not wait for a time: it was never scheduled, its time has come, or it is cancelled. What was sent cannot be taken back.',
  },
  event_id_reused: {
    status: 409,
    help: 'An event with this `event_id` was recorded before, with another `event_name` or `email`. Nothing was stored. Give each event an id of its own.',
  },
  execution_not_running: {
    status: 409,
    help: 'The execution has ended, so it can no longer be cancelled. There is nothing to do.',
  },
  idempotency_in_progress: {
    status: 409,
    help: 'A request with this `Idempotency-Key` is being done at this moment. Send it again a little later, with the same key.',
  },
  idempotency_key_reused: {
    status: 409,
    help: 'A request with this `Idempotency-Key` and another body succeeded within the last 24 hours. Nothing was done. Use a new key for each request.',
  },
  internal_error: {
    status: 500,
    help: 'Something failed in the service. Try again; if it stays, give the operator the `request_id`, which its log has too.',
  },
  invalid_address: {
    status: 400,
    help: 'A field of the email holds something that is not an address. Write `ada@example.com` or `Ada <ada@example.com>`, in ASCII: `ada@xn--mnchen-3ya.de` for ada@münchen.de.',
  },
  invalid_api_key: {
    status: 403,
    help: 'The key is unknown, revoked or expired. Make one with `npm run key:create`.',
  },
  invalid_authorization_header: {
    status: 403,
    help: 'Send the key as `Authorization: Bearer <key>`.',
  },
  invalid_cursor: {
    status: 400,
    help: 'The cursor is not one that this list gave, or it was given with another filter. Begin without a cursor.',
  },
  invalid_design: {
    status: 400,
    help: 'The design has problems, and an active workflow must have none. With a key for one domain, a draft must send from that domain too. `problems` lists all of them, each with a code of its own.',
  },
  invalid_domain_name: {
    status: 400,
    help: 'The name is not one that can be registered. Write a domain name such as `mail.example.com`, without `https://` or a final dot, in ASCII (`xn--mnchen-3ya.de` for münchen.de), and no suffix such as `co.uk` below which others register theirs.',
  },
  invalid_email: {
    status: 400,
    help: 'The address in the path is not one. Write it whole, percent-encoded once: `ada%40example.com`.',
  },
  invalid_event_type: {
    status: 400,
    help: 'An entry of `events` is no type of event. Write a type as `email.delivered`, a group as `email.*`, or `*`.',
  },
  invalid_header: {
    status: 400,
    help: 'A name or value in `headers` cannot stand in a mail. The text names the header and what is wrong with it.',
  },
  invalid_idempotency_key: {
    status: 400,
    help: `The \`Idempotency-Key\` is empty, has over ${limits.idempotencyKeyCharsMax} characters, or others than visible ASCII. A UUID is a good one.`,
  },
  invalid_json: {
    status: 400,
    help: 'The body is empty, not valid JSON or not UTF-8. Send one JSON object with `Content-Type: application/json`.',
  },
  invalid_request: {
    status: 400,
    help: 'A field is missing, or has a value that is not allowed. The text names the field, what came and what is allowed.',
  },
  invalid_template: {
    status: 400,
    help: 'The Liquid of a template does not parse, or cannot be rendered. `field`, `line` and `column` say where it does not parse.',
  },
  invalid_url: {
    status: 400,
    help: 'The `url` of the webhook is not one that events are sent to. Use https on port 443 or 8443, without a user or a password.',
  },
  job_not_running: {
    status: 409,
    help: 'The job is in a state from which this does not lead on: it is over, or paused already, or not paused; an erasure cannot be cancelled. Read it with `GET /v1/jobs/{id}`.',
  },
  method_not_allowed: {
    status: 405,
    help: 'The path exists, but not with this method. `Allow` lists the methods that it has.',
  },
  not_found: {
    status: 404,
    help: 'There is no such thing in this workspace, or no such path. Check the id, the path, and whose key it is.',
  },
  opted_out: {
    status: 409,
    help: 'They unsubscribed themselves, by a link, a mail or a complaint. Leave `is_subscribed` out, or as false.',
  },
  rate_limited: {
    status: 429,
    help: 'The workspace or the key makes more requests than the operator allows. Wait as many seconds as `Retry-After` says; nothing was done.',
  },
  re_entry_refused: {
    status: 409,
    help: 'The `re_entry` of the trigger keeps this contact out, for now or for ever, or they have entered the workflow 100 times within an hour. Wait, or change the rule in the design.',
  },
  replay_in_progress: {
    status: 409,
    help: 'A replay of this webhook is not over yet. Wait for the end of its job, which the message names, or cancel it.',
  },
  reserved_event_name: {
    status: 400,
    help: 'Names that begin with `email.`, `contact.`, `audience.`, `workflow.` or `execution.` belong to the service. Choose another name.',
  },
  reserved_header: {
    status: 400,
    help: 'The service or mail servers write this header. Leave it out of `headers`.',
  },
  restricted_api_key: {
    status: 403,
    help: 'The key is valid, but its permission or its domain does not allow this. Use a key that does.',
  },
  service_unavailable: {
    status: 503,
    help: 'Postgres or Temporal does not answer, or is busy with what this request needs, or the service renders too many templates or reads too many large bodies at once, or your earlier answers were not read: read them first. The text says which. Wait as many seconds as `Retry-After` says, and try again if the request may be repeated.',
  },
  template_empty: {
    status: 400,
    help: 'The template has neither html nor text. Give it one before it is published.',
  },
  template_in_use: {
    status: 409,
    help: 'An active workflow sends this template. Pause that workflow, or change its design, first.',
  },
  template_not_published: {
    status: 400,
    help: 'Mail is made from the published version, and this template has none. Publish it first.',
  },
  template_too_slow: {
    status: 400,
    help: `Rendering a part of the mail took over ${limits.renderAgainMs / 1000} s of processor time, in two tries. \`part\` names it, \`ms\` says how long it was given. Loop over less, or prepare the values before they are sent.`,
  },
  text_too_large: {
    status: 400,
    help: `The \`text\` of an email is over ${limits.htmlBytesMax / MEBIBYTE} MiB. Send a shorter one. Of an email of a batch also: what the emails before it have rendered, or their templates, take 16 MiB. Send it in another batch.`,
  },
  too_many_buckets: {
    status: 400,
    help: `An answer of statistics has at most ${number(limits.statTimesMax)} hours or days, and ${number(limits.statBucketsMax)} buckets of all groups together. Ask for less time, or for \`interval=day\`.`,
  },
  too_many_webhooks: {
    status: 409,
    help: 'The workspace has as many webhooks as one may have. Delete one that is not needed.',
  },
  unsupported_media_type: {
    status: 415,
    help: 'Send the body with `Content-Type: application/json`, and not compressed: `Content-Encoding` must be absent.',
  },
  version_conflict: {
    status: 409,
    help: 'Somebody changed the workflow since you read it. Read it again, apply your change, and send the new version.',
  },
  workflow_not_active: {
    status: 409,
    help: 'Only an active workflow can be started. Set its `status` to `active` with `PATCH /v1/workflows/{id}`.',
  },
} as const satisfies Record<string, CodeFacts>

export type ErrorCode = keyof typeof codes

export const errorCodes: Readonly<Record<ErrorCode, CodeFacts>> = codes

/** The codes in order. */
export const errorCodeNames = Object.keys(codes) as ErrorCode[]
