// Emails: send, list and get.

import { z } from '@hono/zod-openapi'
import { createEmailGroups } from '../../commands/emails/groups.ts'
import { findEmail, listEmailEvents, listEmails } from '../../db/emails/reads.ts'
import { isId } from '../../rules/ids.ts'
import { limits } from '../../rules/limits.ts'
import { mayCall } from '../../rules/permissions.ts'
import { shownText } from '../../rules/shown.ts'
import { idCursors } from '../http/cursor.ts'
import type { ApiDeps } from '../http/env.ts'
import { notFound } from '../http/errors.ts'
import { ExpandQuery } from '../http/fields.ts'
import { createRoutes, jsonBody, jsonRequest } from '../http/openapi.ts'
import { addUnchecked, defineOperation } from '../http/operation.ts'
import { readPage } from '../http/page.ts'
import { emailExamples } from './examples.ts'
import { answerInPieces } from './largeEmail.ts'
import { emailLargeFields } from './largeFields.ts'
import { asGiven, EmailsQuery, filterOf } from './listQuery.ts'
import { Email, EmailList, toEmail, toEmailListItem } from './schemas.ts'
import { sendEmail } from './send.ts'
import { sendCodes } from './sendCodes.ts'
import { SendEmail, SentEmail } from './sendSchemas.ts'

const tags = ['Emails']
const sendRoute = defineOperation({
  method: 'post',
  path: '/',
  permission: 'send',
  bound: 'sender',
  errors: 'message',
  bodyBytesMax: limits.emailRequestBytesMax,
  largeFields: emailLargeFields,
  tags,
  operationId: 'sendEmail',
  summary: 'Send an email',
  description:
    'Accepts one email for up to 50 recipients. A 200 means that it is committed: it is sent, or its failure is ' +
    'recorded, even if every process dies right after the answer. All recipients get the same message and see `to` ' +
    'and `cc`; to write to people one by one, make one request for each. A suppressed recipient is recorded as ' +
    '`bounced` and does not stop the others. Read the outcome with `GET /v1/emails/{id}`. Repeating a request that ' +
    'got no answer may send the mail twice, unless it has an `Idempotency-Key`. A key with the permission `sending_access` reads nobody: with it, a template ' +
    'or Liquid that reads `contact` or `properties` is a 403 `restricted_api_key`.',
  codes: sendCodes,
  texts: {
    400: [
      'from field is required',
      'to field is required',
      'subject field is required',
      'template_id cannot be used together with html',
      'html content size (<n>MB) exceeds maximum of 40MB',
      'Too many recipients: <n>. Maximum allowed is 50',
      'Invalid email format in from field',
    ],
    404: ["Template '<template_id>' not found"],
  },
  example: emailExamples.send,
  request: { body: jsonRequest(SendEmail) },
  responses: {
    200: jsonBody(SentEmail, 'The email is committed'),
  },
})

const listRoute = defineOperation({
  method: 'get',
  path: '/',
  permission: 'read_mail',
  bound: 'own',
  errors: 'message',
  tags,
  operationId: 'listEmails',
  summary: 'List sent emails',
  description:
    'The emails of the workspace, newest first, with the latest event of each recipient and without their bodies. ' +
    'Without a filter the cursor is the id of the last email of the page; with one, it holds for the same filter alone. ' +
    'Several filters find what fits all of them.',
  example: emailExamples.list,
  request: { query: EmailsQuery },
  responses: { 200: jsonBody(EmailList, 'Emails, newest first') },
})

const getRoute = defineOperation({
  method: 'get',
  path: '/{id}',
  permission: 'read_status',
  bound: 'own',
  errors: 'message',
  tags,
  operationId: 'getEmail',
  summary: 'Get an email',
  description:
    'One email with its bodies and with all that happened to each recipient. Right after it was accepted each ' +
    'recipient has the event `sent`; the others follow as they happen. An attempt that failed for now is no event: ' +
    '`GET /v1/emails/{id}/attempts` shows it. To a key with the permission `sending_access`, `html` and `text` read as `""`.',
  codes: ['not_found'],
  example: emailExamples.get,
  request: {
    params: z.object({ id: z.string().openapi({ description: 'The id of the email' }) }),
    query: ExpandQuery,
  },
  responses: { 200: jsonBody(Email, 'The email') },
})

export function emailRoutes(deps: ApiDeps) {
  const { db } = deps
  const sending = { ...deps, emailGroups: createEmailGroups(deps) }
  const app = createRoutes()

  // Not `openapi`, whose validator would answer before the contract's checks and in another order.
  addUnchecked(app, sendRoute, async (c) => {
    return c.json(await sendEmail(sending, c.var.key, await c.req.json()), 200)
  })

  app.openapi(listRoute, async (c) => {
    const query = c.req.valid('query')
    const { cursor, expand } = query
    const filter = filterOf(query)
    const scope = { list: 'emails', workspaceId: c.var.workspaceId }
    const page = await readPage({
      key: 'emails',
      cursors: filter
        ? deps.cursors.of<string>({ ...scope, filter: asGiven(filter) })
        : idCursors('email'),
      cursor,
      find: (page) => listEmails(db, c.var.reach, filter ? { ...page, filter } : page),
      positionOf: ({ id }) => id,
      toItem: (row) => toEmailListItem(row, expand === 'details'),
    })
    return c.json(page, 200)
  })

  app.openapi(getRoute, async (c) => {
    const { id } = c.req.valid('param')
    const row = isId('email', id) ? await findEmail(db, c.var.reach, id) : undefined
    if (!row) throw notFound(`Email ${shownText(id)} not found`)
    const events = await listEmailEvents(db, c.var.workspaceId, id)
    const expand = c.req.valid('query').expand === 'details'
    const mayReadContent = mayCall(c.var.key.permission, 'read_mail')
    const email = await toEmail(
      mayReadContent ? row : { ...row, html: '', text: '' },
      events,
      expand,
    )
    if (!mayReadContent || !row.large) return c.json(email, 200)
    return answerInPieces(deps, c, email, row.large)
  })

  return app
}
