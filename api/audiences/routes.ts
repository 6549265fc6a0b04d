// Audiences: list and get (operations 3 and 4), create, rename, delete.

import { createRoute, z } from '@hono/zod-openapi'
import { findAudience, listAudiences } from '../../db/audiences/reads.ts'
import { deleteAudience, insertAudience, updateAudienceName } from '../../db/audiences/writes.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { isId } from '../../rules/ids.ts'
import { limits } from '../../rules/limits.ts'
import { cutPage, idCursor } from '../http/cursor.ts'
import type { ApiDeps } from '../http/env.ts'
import { notFound } from '../http/errors.ts'
import { PageQuery } from '../http/fields.ts'
import { createRoutes, errorResponses, jsonBody, jsonRequest } from '../http/openapi.ts'
import { Audience, AudienceBody, AudienceList, toAudience } from './schemas.ts'

const tags = ['Audiences']
const params = z.object({ id: z.string() })

const listRoute = createRoute({
  method: 'get',
  path: '/',
  tags,
  request: { query: PageQuery },
  responses: { 200: jsonBody(AudienceList, 'Audiences, newest first'), ...errorResponses(400) },
})

const postRoute = createRoute({
  method: 'post',
  path: '/',
  tags,
  request: { body: jsonRequest(AudienceBody) },
  responses: { 201: jsonBody(Audience, 'The audience'), ...errorResponses(400, 413, 415) },
})

const getRoute = createRoute({
  method: 'get',
  path: '/{id}',
  tags,
  request: { params },
  responses: { 200: jsonBody(Audience, 'The audience'), ...errorResponses(404) },
})

const patchRoute = createRoute({
  method: 'patch',
  path: '/{id}',
  tags,
  request: { params, body: jsonRequest(AudienceBody) },
  responses: { 200: jsonBody(Audience, 'The audience'), ...errorResponses(400, 404, 413, 415) },
})

const deleteRoute = createRoute({
  method: 'delete',
  path: '/{id}',
  tags,
  request: { params },
  responses: { 204: { description: 'Gone with its contacts' }, ...errorResponses(404) },
})

export const audienceNotFound = (id: string) => notFound(`Audience ${id} not found`)

export function audienceRoutes({ db, config, now, newId }: ApiDeps) {
  const app = createRoutes()

  const read = async (workspaceId: WorkspaceId, id: string) => {
    const row = isId('audience', id) ? await findAudience(db, workspaceId, id) : undefined
    if (!row) throw audienceNotFound(id)
    return toAudience(row, config)
  }

  app.openapi(listRoute, async (c) => {
    const after = idCursor('audience', c.req.valid('query').cursor)
    const size = limits.audiencesPageSize
    const found = await listAudiences(db, c.var.workspaceId, { after, limit: size + 1 })
    const { rows, more } = cutPage(found, size)
    const cursor = more ? (rows.at(-1)?.id ?? null) : null
    const audiences = rows.map((row) => toAudience(row, config))
    return c.json({ audiences, count: rows.length, cursor }, 200)
  })

  app.openapi(postRoute, async (c) => {
    const id = newId('audience')
    const at = now()
    await insertAudience(db, {
      id,
      workspace_id: c.var.workspaceId,
      name: c.req.valid('json').name,
      created_by: c.var.key.user_id,
      created_at: at,
      updated_at: at,
    })
    return c.json(await read(c.var.workspaceId, id), 201)
  })

  app.openapi(getRoute, async (c) =>
    c.json(await read(c.var.workspaceId, c.req.valid('param').id), 200),
  )

  app.openapi(patchRoute, async (c) => {
    const { id } = c.req.valid('param')
    const { name } = c.req.valid('json')
    const { workspaceId } = c.var
    const known =
      isId('audience', id) && (await updateAudienceName(db, workspaceId, id, name, now()))
    if (!known) throw audienceNotFound(id)
    return c.json(await read(workspaceId, id), 200)
  })

  app.openapi(deleteRoute, async (c) => {
    const { id } = c.req.valid('param')
    const known = isId('audience', id) && (await deleteAudience(db, c.var.workspaceId, id))
    if (!known) throw audienceNotFound(id)
    return c.body(null, 204)
  })

  return app
}
