// The suppression list: addresses that this workspace no longer writes to.
import { z } from '@hono/zod-openapi'
import { suppressAddress } from '../../commands/suppressions/create.ts'
import { unsuppressAddress } from '../../commands/suppressions/delete.ts'
import { listSuppressions, type SuppressionPosition } from '../../db/suppressions/reads.ts'
import { normalizeContactEmail } from '../../rules/addresses.ts'
import type { ApiDeps } from '../http/env.ts'
import { badRequest } from '../http/errors.ts'
import { PageQuery } from '../http/fields.ts'
import { createRoutes, errorResponses, jsonBody, jsonRequest } from '../http/openapi.ts'
import { defineOperation } from '../http/operation.ts'
import { readPage } from '../http/page.ts'
import { orThrow } from '../http/refusals.ts'
import { NewSuppression, Suppression, SuppressionList, toSuppression } from './schemas.ts'

const tags = ['Suppressions']

const listRoute = defineOperation({
  method: 'get',
  path: '/',
  permission: 'read',
  errors: 'message',
  tags,
  request: { query: PageQuery },
  responses: {
    200: jsonBody(SuppressionList, 'Those that hold now, newest first'),
    ...errorResponses(400),
  },
})

const postRoute = defineOperation({
  method: 'post',
  path: '/',
  permission: 'manage',
  errors: 'message',
  tags,
  request: { body: jsonRequest(NewSuppression) },
  responses: {
    200: jsonBody(Suppression, 'The address was suppressed already'),
    201: jsonBody(Suppression, 'The address is suppressed from now on'),
    ...errorResponses(400, 413, 415),
  },
})

const deleteRoute = defineOperation({
  method: 'delete',
  path: '/{email}',
  permission: 'manage',
  errors: 'message',
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
    const page = await readPage({
      key: 'suppressions',
      cursors: cursors.of<SuppressionPosition>({ list: 'suppressions', workspaceId }),
      cursor: c.req.valid('query').cursor,
      find: (page) => listSuppressions(db, workspaceId, { ...page, now: now() }),
      positionOf: ({ created_at, email }) => ({ created_ms: created_at.getTime(), email }),
      toItem: toSuppression,
    })
    return c.json(page, 200)
  })

  app.openapi(postRoute, async (c) => {
    const email = emailOf(c.req.valid('json').email)
    const { row, created } = await suppressAddress(deps, c.var.workspaceId, { email })
    return c.json(toSuppression(row), created ? 201 : 200)
  })

  app.openapi(deleteRoute, async (c) => {
    const email = emailOf(c.req.valid('param').email)
    orThrow(await unsuppressAddress(deps, c.var.workspaceId, { email }))
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
