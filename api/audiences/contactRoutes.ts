// Contacts of an audience: list (operation 5), add, change, remove, in batches too.

import { createRoute, z } from '@hono/zod-openapi'
import {
  removeAudienceContact,
  updateAudienceContact,
  upsertAudienceContacts,
} from '../../commands/audiences/contacts.ts'
import { listAudienceContacts } from '../../db/audiences/contactReads.ts'
import { findAudience } from '../../db/audiences/reads.ts'
import { normalizeContactEmail } from '../../rules/addresses.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { isId } from '../../rules/ids.ts'
import { limits } from '../../rules/limits.ts'
import { cutPage } from '../http/cursor.ts'
import type { ApiDeps } from '../http/env.ts'
import { badRequest, invalidCursor, notFound } from '../http/errors.ts'
import { ExpandQuery, PageQuery } from '../http/fields.ts'
import { createRoutes, errorResponses, issueText, jsonBody, jsonRequest } from '../http/openapi.ts'
import {
  AudienceContact,
  AudienceContactBatch,
  AudienceContactBatchResult,
  AudienceContactChange,
  AudienceContactList,
  NewAudienceContact,
  toAudienceContact,
} from './contactSchemas.ts'
import { audienceNotFound } from './routes.ts'

const tags = ['Audience contacts']
const params = z.object({ audienceId: z.string() })
const contactParams = params.extend({ email: z.string() })
const PATH = '/{audienceId}/contacts'

const listRoute = createRoute({
  method: 'get',
  path: PATH,
  tags,
  request: { params, query: PageQuery.extend(ExpandQuery.shape) },
  responses: {
    200: jsonBody(AudienceContactList, 'Contacts by address'),
    ...errorResponses(400, 404),
  },
})

const postRoute = createRoute({
  method: 'post',
  path: PATH,
  tags,
  request: { params, body: jsonRequest(NewAudienceContact) },
  responses: {
    200: jsonBody(AudienceContact, 'The contact was known and is changed'),
    201: jsonBody(AudienceContact, 'The contact is new'),
    ...errorResponses(400, 404, 413, 415),
  },
})

const batchRoute = createRoute({
  method: 'post',
  path: `${PATH}/batch`,
  tags,
  request: { params, body: jsonRequest(AudienceContactBatch) },
  responses: {
    200: jsonBody(
      AudienceContactBatchResult,
      'What became of each; the faulty ones change nothing',
    ),
    ...errorResponses(400, 404, 413, 415),
  },
})

const patchRoute = createRoute({
  method: 'patch',
  path: `${PATH}/{email}`,
  tags,
  request: { params: contactParams, body: jsonRequest(AudienceContactChange) },
  responses: {
    200: jsonBody(AudienceContact, 'The contact'),
    ...errorResponses(400, 404, 413, 415),
  },
})

const deleteRoute = createRoute({
  method: 'delete',
  path: `${PATH}/{email}`,
  tags,
  request: { params: contactParams },
  responses: { 204: { description: 'The contact left' }, ...errorResponses(400, 404) },
})

export function audienceContactRoutes(deps: ApiDeps) {
  const { db } = deps
  const app = createRoutes()

  app.openapi(listRoute, async (c) => {
    const { audienceId } = c.req.valid('param')
    const { cursor: given, expand } = c.req.valid('query')
    // No address has a space: it was a plus sign that the client left as it is.
    const after = given === undefined ? null : normalizeContactEmail(given.replaceAll(' ', '+'))
    if (given !== undefined && after === null) throw invalidCursor()
    const { workspaceId } = c.var
    const known = isId('audience', audienceId) && (await findAudience(db, workspaceId, audienceId))
    if (!known) throw audienceNotFound(audienceId)
    const page = { after, limit: limits.pageSize + 1 }
    const found = await listAudienceContacts(db, workspaceId, audienceId, page)
    const { rows, more } = cutPage(found, limits.pageSize)
    const contacts = rows.map((row) => toAudienceContact(row, expand === 'details'))
    const cursor = more ? (rows.at(-1)?.email ?? null) : null
    return c.json({ contacts, count: rows.length, cursor }, 200)
  })

  app.openapi(postRoute, async (c) => {
    const ref = refOf(c.var.workspaceId, c.req.valid('param').audienceId)
    const results = await upsertAudienceContacts(deps, ref, [c.req.valid('json')])
    const result = results?.[0]
    if (!result) throw audienceNotFound(ref.audienceId)
    return c.json(toAudienceContact(result.row, false), result.created ? 201 : 200)
  })

  app.openapi(batchRoute, async (c) => {
    const ref = refOf(c.var.workspaceId, c.req.valid('param').audienceId)
    const valid: NewAudienceContact[] = []
    const errors: { index: number; message: string; code: string }[] = []
    for (const [index, item] of c.req.valid('json').contacts.entries()) {
      const parsed = NewAudienceContact.safeParse(item)
      if (parsed.success) valid.push(parsed.data)
      else errors.push({ index, message: issueText(parsed.error), code: 'invalid_request' })
    }
    const results = await upsertAudienceContacts(deps, ref, valid)
    if (!results) throw audienceNotFound(ref.audienceId)
    const contacts = results.map(({ row, created }) => ({ email: row.email, created }))
    return c.json({ contacts, errors }, 200)
  })

  app.openapi(patchRoute, async (c) => {
    const { audienceId, email: given } = c.req.valid('param')
    const ref = refOf(c.var.workspaceId, audienceId)
    const email = emailOf(given)
    const row = await updateAudienceContact(deps, ref, email, c.req.valid('json'))
    if (row === undefined) throw audienceNotFound(audienceId)
    if (row === null) throw contactNotFound(email)
    return c.json(toAudienceContact(row, false), 200)
  })

  app.openapi(deleteRoute, async (c) => {
    const { audienceId, email: given } = c.req.valid('param')
    const ref = refOf(c.var.workspaceId, audienceId)
    const email = emailOf(given)
    const removed = await removeAudienceContact(deps, ref, email)
    if (removed === undefined) throw audienceNotFound(audienceId)
    if (!removed) throw contactNotFound(email)
    return c.body(null, 204)
  })

  return app
}

const contactNotFound = (email: string) => notFound(`Contact ${email} not found in this audience`)

/** @throws ApiError 404 for what cannot be an audience, before any query */
function refOf(workspaceId: WorkspaceId, audienceId: string) {
  if (!isId('audience', audienceId)) throw audienceNotFound(audienceId)
  return { workspaceId, audienceId }
}

function emailOf(given: string): string {
  if (given.trim() === '') throw badRequest('Email is required', 'email_required')
  const email = normalizeContactEmail(given)
  if (email === null) throw badRequest('Invalid email format', 'invalid_email')
  return email
}
