// Emails: send, list and get (operations 1 and 2).
import { z } from '@hono/zod-openapi'
import { findEmail, listEmailEvents, listEmails } from '../../db/emails/reads.ts'
import { isId } from '../../rules/ids.ts'
import { limits } from '../../rules/limits.ts'
import { idCursors } from '../http/cursor.ts'
import type { ApiDeps } from '../http/env.ts'
import { invalidJson, notFound } from '../http/errors.ts'
import { ExpandQuery, PageQuery } from '../http/fields.ts'
import { createRoutes, errorResponses, jsonBody, jsonRequest } from '../http/openapi.ts'
import { addUnchecked, defineOperation } from '../http/operation.ts'
import { readPage } from '../http/page.ts'
import { Email, EmailList, toEmail, toEmailListItem } from './schemas.ts'
import { sendEmail } from './send.ts'
import { SendEmail, SentEmail } from './sendSchemas.ts'

const tags = ['Emails']

const sendRoute = defineOperation({
  method: 'post',
  path: '/',
  permission: 'send',
  errors: 'message',
  bodyBytesMax: limits.emailRequestBytesMax,
  tags,
  request: { body: jsonRequest(SendEmail) },
  responses: {
    200: jsonBody(SentEmail, 'The email is committed: it is sent, or its failure recorded'),
    ...errorResponses(400, 404, 413, 415),
  },
})

const listRoute = defineOperation({
  method: 'get',
  path: '/',
  permission: 'read_mail',
  errors: 'message',
  tags,
  request: { query: PageQuery.extend(ExpandQuery.shape) },
  responses: { 200: jsonBody(EmailList, 'Emails, newest first'), ...errorResponses(400) },
})

const getRoute = defineOperation({
  method: 'get',
  path: '/{id}',
  permission: 'read_mail',
  errors: 'message',
  tags,
  request: { params: z.object({ id: z.string() }), query: ExpandQuery },
  responses: { 200: jsonBody(Email, 'The email'), ...errorResponses(400, 404) },
})

export function emailRoutes(deps: ApiDeps) {
  const { db } = deps
  const app = createRoutes()

  // Not `openapi`: its validator would answer before the contract's own checks could, in another order.
  addUnchecked(app, sendRoute, async (c) => {
    return c.json(await sendEmail(deps, c.var.key, await readJson(c.req.raw)), 200)
  })

  app.openapi(listRoute, async (c) => {
    const { cursor, expand } = c.req.valid('query')
    const page = await readPage({
      key: 'emails',
      cursors: idCursors('email'),
      cursor,
      find: (page) => listEmails(db, c.var.workspaceId, page),
      positionOf: ({ id }) => id,
      toItem: (row) => toEmailListItem(row, expand === 'details'),
    })
    return c.json(page, 200)
  })

  app.openapi(getRoute, async (c) => {
    const { id } = c.req.valid('param')
    const row = isId('email', id) ? await findEmail(db, c.var.workspaceId, id) : undefined
    if (!row) throw notFound(`Email ${id} not found`)
    const events = await listEmailEvents(db, c.var.workspaceId, id)
    const expand = c.req.valid('query').expand === 'details'
    return c.json(await toEmail(row, events, expand), 200)
  })

  return app
}

/** Not `c.req.json()`: that keeps the text for the whole request, and it may be 128 MiB. */
async function readJson(request: Request): Promise<unknown> {
  const text = await request.text()
  try {
    return JSON.parse(text)
  } catch {
    throw invalidJson()
  }
}
