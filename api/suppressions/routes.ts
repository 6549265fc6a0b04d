// The suppression list: addresses that this workspace no longer writes to.
import { createRoute, z } from '@hono/zod-openapi'
import { suppress, unsuppress } from '../../commands/suppressions/change.ts'
import { listSuppressions, type SuppressionPosition } from '../../db/suppressions/reads.ts'
import { normalizeContactEmail } from '../../rules/addresses.ts'
import { limits } from '../../rules/limits.ts'
import { cutPage } from '../http/cursor.ts'
import type { ApiDeps } from '../http/env.ts'
import { badRequest, notFound } from '../http/errors.ts'
import { PageQuery } from '../http/fields.ts'
import { createRoutes, errorResponses, jsonBody, jsonRequest } from '../http/openapi.ts'
import { NewSuppression, Suppression, SuppressionList, toSuppression } from './schemas.ts'

const tags = ['Suppressions']

const listRoute = createRoute({
  method: 'get',
  path: '/',
  tags,
  request: { query: PageQuery },
  responses: {
    200: jsonBody(SuppressionList, 'Those that hold now, newest first'),
    ...errorResponses(400),
  },
})

const postRoute = createRoute({
  method: 'post',
  path: '/',
  tags,
  request: { body: jsonRequest(NewSuppression) },
  responses: {
    200: jsonBody(Suppression, 'The address was suppressed already'),
    201: jsonBody(Suppression, 'The address is suppressed from now on'),
    ...errorResponses(400, 413, 415),
  },
})

const deleteRoute = createRoute({
  method: 'delete',
  path: '/{email}',
  tags,
  request: { params: z.object({ email: z.string() }) },
  responses: {
    204: { description: 'The address may be written to again' },
    ...errorResponses(400, 404),
  },
})

export function suppressionRoutes(deps: ApiDeps) {
  const { db, cursors, now } = deps
  const app = createRoutes()

  app.openapi(listRoute, async (c) => {
    const { workspaceId } = c.var
    const scope = { list: 'suppressions', workspaceId }
    const after = cursors.open<SuppressionPosition>(scope, c.req.valid('query').cursor)
    const page = { after, limit: limits.pageSize + 1, now: now() }
    const { rows, more } = cutPage(await listSuppressions(db, workspaceId, page), limits.pageSize)
    const last = rows.at(-1)
    const position = last && { created_ms: last.created_at.getTime(), email: last.email }
    const cursor = more && position ? cursors.seal(scope, position) : null
    return c.json({ suppressions: rows.map(toSuppression), count: rows.length, cursor }, 200)
  })

  app.openapi(postRoute, async (c) => {
    const email = emailOf(c.req.valid('json').email)
    const { row, created } = await suppress(deps, c.var.workspaceId, email)
    return c.json(toSuppression(row), created ? 201 : 200)
  })

  app.openapi(deleteRoute, async (c) => {
    const email = emailOf(c.req.valid('param').email)
    const found = await unsuppress(deps, c.var.workspaceId, email)
    if (!found) throw notFound(`Address ${email} is not suppressed`)
    return c.body(null, 204)
  })

  return app
}

function emailOf(given: string): string {
  if (given.trim() === '') throw badRequest('Email is required', 'email_required')
  const email = normalizeContactEmail(given)
  if (email === null) throw badRequest('The address is not valid', 'invalid_email')
  return email
}
