// Reads the body of POST /v1/emails and accepts the email. The order of the checks: those of the contract on the
// body, the template, further checks of the body, then sender and rendering.

import { type RequestKey, reachOf } from '../../commands/api-keys/keyCache.ts'
import { type AcceptEmail, acceptEmail } from '../../commands/emails/accept.ts'
import type { EmailGroups } from '../../commands/emails/groups.ts'
import { emailTemplates, type FindEmailTemplate } from '../../commands/emails/template.ts'
import { mayCall } from '../../rules/permissions.ts'
import { LargeText } from '../http/bodies/largeText.ts'
import type { ApiDeps } from '../http/env.ts'
import { orThrow } from '../http/refusals.ts'
import { readBody, type SendEmailBody } from './parseBody.ts'
import { readDetails } from './parseDetails.ts'

type SendDeps = Pick<
  ApiDeps,
  'db' | 'newId' | 'now' | 'wake' | 'config' | 'renderer' | 'addressMac' | 'daily'
>
type SendingKey = Pick<RequestKey, 'id' | 'workspace_id' | 'domain_id' | 'permission'>

/**
 * Accepts an email for the workspace of the key. When it returns, the email is committed.
 * @param given the parsed JSON
 * @throws ApiError
 */
export async function sendEmail(
  deps: SendDeps & { emailGroups: EmailGroups },
  key: SendingKey,
  given: unknown,
): Promise<{ id: string; status: 'queued' | 'scheduled' }> {
  const findTemplate = emailTemplates(deps.db, key.workspace_id)
  const input = await readEmail({ ...deps, findTemplate }, key, given)
  return orThrow(await acceptEmail(deps, reachOf(key), input))
}

/**
 * Checks all of an email but its sender. At once without a template: the promises of a hundred emails cost as much as their checks.
 * @param given the parsed JSON
 * @throws ApiError
 */
export function readEmail(
  deps: Pick<SendDeps, 'now'> & { findTemplate: FindEmailTemplate },
  key: SendingKey,
  given: unknown,
): AcceptEmail | Promise<AcceptEmail> {
  const body = readBody(given)
  const { templateId: idOrAlias, subject } = body
  if (idOrAlias === undefined) return withDetails(deps, key, body, null)
  return deps
    .findTemplate({ idOrAlias, hasSubject: subject !== undefined })
    .then((found) => withDetails(deps, key, body, orThrow(found)))
}

function withDetails(
  { now }: Pick<SendDeps, 'now'>,
  key: SendingKey,
  body: SendEmailBody,
  template: AcceptEmail['template'],
): AcceptEmail {
  const details = readDetails(body, now())
  return {
    from: body.from,
    to: body.to,
    cc: body.cc,
    bcc: body.bcc,
    replyTo: details.replyTo,
    sender: body.sender,
    recipients: details.recipients,
    subject: body.subject,
    html: storedOf(body.html),
    text: storedOf(body.text),
    template,
    variables: details.variables,
    headers: details.headers,
    tags: details.tags,
    metadata: details.metadata,
    attachments: details.attachments,
    tracking: details.tracking,
    scheduledAt: details.scheduledAt,
    keyId: key.id,
    mayReadContacts: mayCall(key.permission, 'read'),
  }
}

/** As it goes to the database: a large text as its UTF-8, which was never made a string. */
const storedOf = (text: string | LargeText | undefined): string | Buffer | undefined =>
  text instanceof LargeText ? text.bytes : text
