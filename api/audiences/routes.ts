// Audiences: list and get, create, rename, delete.

import { z } from '@hono/zod-openapi'
import { createAudience } from '../../commands/audiences/create.ts'
import { deleteAudience } from '../../commands/audiences/delete.ts'
import { renameAudience } from '../../commands/audiences/rename.ts'
import { findAudience, listAudiences } from '../../db/audiences/reads.ts'
import { isId, type WorkspaceId } from '../../rules/ids.ts'
import { limits } from '../../rules/limits.ts'
import { refuse } from '../../rules/refusals.ts'
import { idCursors } from '../http/cursor.ts'
import type { ApiDeps } from '../http/env.ts'
import { PageQuery } from '../http/fields.ts'
import { createRoutes, jsonBody, jsonRequest } from '../http/openapi.ts'
import { defineOperation } from '../http/operation.ts'
import { readPage } from '../http/page.ts'
import { orThrow } from '../http/refusals.ts'
import { audienceExamples } from './examples.ts'
import { Audience, AudienceBody, AudienceList, toAudience } from './schemas.ts'

const tags = ['Audiences']
const params = z.object({ id: z.string().openapi({ description: 'The id of the audience' }) })

const listRoute = defineOperation({
  method: 'get',
  path: '/',
  permission: 'read',
  bound: 'same',
  errors: 'message',
  tags,
  operationId: 'listAudiences',
  summary: 'List audiences',
  description: `All audiences of the workspace, newest first, ${limits.audiencesPageSize} on a page.`,
  example: audienceExamples.list,
  request: { query: PageQuery },
  responses: { 200: jsonBody(AudienceList, 'Audiences, newest first') },
})

const postRoute = defineOperation({
  method: 'post',
  path: '/',
  permission: 'manage',
  bound: 'same',
  errors: 'message',
  tags,
  operationId: 'createAudience',
  summary: 'Create an audience',
  description:
    'Creates an audience without contacts. `created_by` is the user of the key that asks.',
  example: audienceExamples.create,
  request: { body: jsonRequest(AudienceBody) },
  responses: { 201: jsonBody(Audience, 'The audience') },
})

const getRoute = defineOperation({
  method: 'get',
  path: '/{id}',
  permission: 'read',
  bound: 'same',
  errors: 'message',
  tags,
  operationId: 'getAudience',
  summary: 'Get an audience',
  description:
    'The audience with the number of its contacts. `GET /v1/audiences/{audienceId}/contacts` lists them.',
  codes: ['not_found'],
  example: audienceExamples.get,
  request: { params },
  responses: { 200: jsonBody(Audience, 'The audience') },
})

const patchRoute = defineOperation({
  method: 'patch',
  path: '/{id}',
  permission: 'manage',
  bound: 'same',
  errors: 'message',
  tags,
  operationId: 'updateAudience',
  summary: 'Rename an audience',
  description: 'Changes the name. Workflows name an audience by its id, so nothing else changes.',
  codes: ['not_found'],
  example: audienceExamples.rename,
  request: { params, body: jsonRequest(AudienceBody) },
  responses: { 200: jsonBody(Audience, 'The audience') },
})

const deleteRoute = defineOperation({
  method: 'delete',
  path: '/{id}',
  permission: 'manage',
  bound: 'same',
  errors: 'message',
  tags,
  operationId: 'deleteAudience',
  summary: 'Delete an audience',
  description:
    'Deletes the audience and its contacts, for good. Automation contacts with the same addresses stay, and no ' +
    '`audience.left` is recorded for them. Conditions of workflows that ask about it find nobody in it.',
  codes: ['not_found'],
  example: audienceExamples.remove,
  request: { params },
  responses: { 204: { description: 'Gone with its contacts' } },
})

export function audienceRoutes(deps: ApiDeps) {
  const { db, config } = deps
  const app = createRoutes()

  const read = async (workspaceId: WorkspaceId, id: string) => {
    const row = isId('audience', id) ? await findAudience(db, workspaceId, id) : undefined
    return toAudience(orThrow(row ?? refuse('audience_not_found', { id })), config)
  }

  app.openapi(listRoute, async (c) => {
    const page = await readPage({
      key: 'audiences',
      cursors: idCursors('audience'),
      cursor: c.req.valid('query').cursor,
      size: limits.audiencesPageSize,
      find: (page) => listAudiences(db, c.var.workspaceId, page),
      positionOf: ({ id }) => id,
      toItem: (row) => toAudience(row, config),
    })
    return c.json(page, 200)
  })

  app.openapi(postRoute, async (c) => {
    const { workspaceId, key } = c.var
    const input = { name: c.req.valid('json').name, createdBy: key.user_id }
    return c.json(await read(workspaceId, await createAudience(deps, workspaceId, input)), 201)
  })

  app.openapi(getRoute, async (c) =>
    c.json(await read(c.var.workspaceId, c.req.valid('param').id), 200),
  )

  app.openapi(patchRoute, async (c) => {
    const { workspaceId } = c.var
    const { id } = c.req.valid('param')
    const { name } = c.req.valid('json')
    orThrow(await renameAudience(deps, workspaceId, { id, name }))
    return c.json(await read(workspaceId, id), 200)
  })

  app.openapi(deleteRoute, async (c) => {
    orThrow(await deleteAudience(deps, c.var.workspaceId, c.req.valid('param')))
    return c.body(null, 204)
  })

  return app
}
