// Templates: list, create, get, change, delete, publish, duplicate, render. By id or alias.

import { z } from '@hono/zod-openapi'
import { findTemplateContact } from '../../commands/templates/contact.ts'
import { createTemplate } from '../../commands/templates/create.ts'
import { deleteTemplate } from '../../commands/templates/delete.ts'
import { duplicateTemplate } from '../../commands/templates/duplicate.ts'
import { renderFailed } from '../../commands/templates/faults.ts'
import { publishTemplate } from '../../commands/templates/publish.ts'
import { updateTemplate } from '../../commands/templates/update.ts'
import { findTemplate, listTemplates } from '../../db/templates/reads.ts'
import { renderEmail } from '../../mail/content/template.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { refuse } from '../../rules/refusals.ts'
import type { ApiDeps } from '../http/env.ts'
import { PageQuery } from '../http/fields.ts'
import { createRoutes, errorResponses, jsonBody, jsonRequest } from '../http/openapi.ts'
import { defineOperation } from '../http/operation.ts'
import { readPage } from '../http/page.ts'
import { orThrow } from '../http/refusals.ts'
import {
  NewTemplate,
  RenderedTemplate,
  RenderTemplate,
  Template,
  TemplateChange,
  TemplateList,
  toTemplate,
  toTemplateListItem,
} from './schemas.ts'

const tags = ['Templates']
const params = z.object({ id: z.string().openapi({ description: 'Id or alias' }) })
const one = jsonBody(Template, 'The template')

const listRoute = defineOperation({
  method: 'get',
  path: '/',
  permission: 'read',
  errors: 'message',
  tags,
  request: { query: PageQuery },
  responses: {
    200: jsonBody(TemplateList, 'Templates without html and text, newest first'),
    ...errorResponses(400),
  },
})

const postRoute = defineOperation({
  method: 'post',
  path: '/',
  permission: 'manage',
  errors: 'message',
  tags,
  request: { body: jsonRequest(NewTemplate) },
  responses: { 201: one, ...errorResponses(400, 409, 413, 415) },
})

const getRoute = defineOperation({
  method: 'get',
  path: '/{id}',
  permission: 'read',
  errors: 'message',
  tags,
  request: { params },
  responses: { 200: one, ...errorResponses(404) },
})

const patchRoute = defineOperation({
  method: 'patch',
  path: '/{id}',
  permission: 'manage',
  errors: 'message',
  tags,
  request: { params, body: jsonRequest(TemplateChange) },
  responses: { 200: one, ...errorResponses(400, 404, 409, 413, 415) },
})

const deleteRoute = defineOperation({
  method: 'delete',
  path: '/{id}',
  permission: 'manage',
  errors: 'message',
  tags,
  request: { params },
  responses: { 204: { description: 'Gone with its versions' }, ...errorResponses(404, 409) },
})

const publishRoute = defineOperation({
  method: 'post',
  path: '/{id}/publish',
  permission: 'manage',
  errors: 'message',
  tags,
  request: { params },
  responses: { 200: one, ...errorResponses(400, 404) },
})

const duplicateRoute = defineOperation({
  method: 'post',
  path: '/{id}/duplicate',
  permission: 'manage',
  errors: 'message',
  tags,
  request: { params },
  responses: { 201: one, ...errorResponses(404) },
})

const renderRoute = defineOperation({
  method: 'post',
  path: '/{id}/render',
  permission: 'manage',
  errors: 'message',
  tags,
  request: { params, body: jsonRequest(RenderTemplate) },
  responses: {
    200: jsonBody(RenderedTemplate, 'The current version with these values'),
    ...errorResponses(400, 404, 413, 415),
  },
})

export function templateRoutes(deps: ApiDeps) {
  const { db, cursors } = deps
  const app = createRoutes()

  const find = async (workspaceId: WorkspaceId, idOrAlias: string) => {
    const row = await findTemplate(db, workspaceId, idOrAlias)
    return orThrow(row ?? refuse('template_not_found', { idOrAlias }))
  }

  app.openapi(listRoute, async (c) => {
    const { workspaceId } = c.var
    const page = await readPage({
      key: 'templates',
      cursors: cursors.of<string>({ list: 'templates', workspaceId }),
      cursor: c.req.valid('query').cursor,
      find: (page) => listTemplates(db, workspaceId, page),
      positionOf: ({ id }) => id,
      toItem: toTemplateListItem,
    })
    return c.json(page, 200)
  })

  app.openapi(postRoute, async (c) => {
    const { workspaceId } = c.var
    const id = orThrow(await createTemplate(deps, workspaceId, c.req.valid('json')))
    return c.json(toTemplate(await find(workspaceId, id)), 201)
  })

  app.openapi(getRoute, async (c) =>
    c.json(toTemplate(await find(c.var.workspaceId, c.req.valid('param').id)), 200),
  )

  app.openapi(patchRoute, async (c) => {
    const { workspaceId } = c.var
    const input = { idOrAlias: c.req.valid('param').id, change: c.req.valid('json') }
    const id = orThrow(await updateTemplate(deps, workspaceId, input))
    return c.json(toTemplate(await find(workspaceId, id)), 200)
  })

  app.openapi(deleteRoute, async (c) => {
    const { id: idOrAlias } = c.req.valid('param')
    orThrow(await deleteTemplate(deps, c.var.workspaceId, { idOrAlias }))
    return c.body(null, 204)
  })

  app.openapi(publishRoute, async (c) => {
    const { workspaceId } = c.var
    const { id: idOrAlias } = c.req.valid('param')
    const id = orThrow(await publishTemplate(deps, workspaceId, { idOrAlias }))
    return c.json(toTemplate(await find(workspaceId, id)), 200)
  })

  app.openapi(duplicateRoute, async (c) => {
    const { workspaceId } = c.var
    const { id: idOrAlias } = c.req.valid('param')
    const id = orThrow(await duplicateTemplate(deps, workspaceId, { idOrAlias }))
    return c.json(toTemplate(await find(workspaceId, id)), 201)
  })

  app.openapi(renderRoute, async (c) => {
    const { workspaceId } = c.var
    const { variables, email } = c.req.valid('json')
    const row = await find(workspaceId, c.req.valid('param').id)
    const contact = email === undefined ? null : await findTemplateContact(db, workspaceId, email)
    const rendered = renderEmail(
      { ...row, subject: row.subject ?? '' },
      {
        ...(contact ? { contact, properties: contact.properties } : {}),
        ...(variables ? { vars: variables } : {}),
      },
    )
    const { subject, html, text, missing } = orThrow(
      rendered.ok ? rendered : renderFailed(rendered.message),
    )
    return c.json({ subject, html, text, missing }, 200)
  })

  return app
}
