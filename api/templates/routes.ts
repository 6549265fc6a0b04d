// Templates: list, create, get, change, delete, publish, duplicate, render. By id or alias.

import { createRoute, z } from '@hono/zod-openapi'
import {
  changeTemplate,
  copyOf,
  createTemplate,
  publishTemplate,
  removeTemplate,
} from '../../commands/templates/change.ts'
import { findTemplateContact } from '../../commands/templates/contact.ts'
import { renderFailed } from '../../commands/templates/faults.ts'
import { findTemplate, listTemplates } from '../../db/templates/reads.ts'
import { renderEmail } from '../../mail/content/template.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { isStorableText } from '../../rules/jsonFault.ts'
import { limits } from '../../rules/limits.ts'
import type { ApiDeps } from '../http/env.ts'
import { notFound } from '../http/errors.ts'
import { PageQuery } from '../http/fields.ts'
import { createRoutes, errorResponses, jsonBody, jsonRequest } from '../http/openapi.ts'
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

const listRoute = createRoute({
  method: 'get',
  path: '/',
  tags,
  request: { query: PageQuery },
  responses: {
    200: jsonBody(TemplateList, 'Templates without html and text, newest first'),
    ...errorResponses(400),
  },
})

const postRoute = createRoute({
  method: 'post',
  path: '/',
  tags,
  request: { body: jsonRequest(NewTemplate) },
  responses: { 201: one, ...errorResponses(400, 409, 413, 415) },
})

const getRoute = createRoute({
  method: 'get',
  path: '/{id}',
  tags,
  request: { params },
  responses: { 200: one, ...errorResponses(404) },
})

const patchRoute = createRoute({
  method: 'patch',
  path: '/{id}',
  tags,
  request: { params, body: jsonRequest(TemplateChange) },
  responses: { 200: one, ...errorResponses(400, 404, 409, 413, 415) },
})

const deleteRoute = createRoute({
  method: 'delete',
  path: '/{id}',
  tags,
  request: { params },
  responses: { 204: { description: 'Gone with its versions' }, ...errorResponses(404, 409) },
})

const publishRoute = createRoute({
  method: 'post',
  path: '/{id}/publish',
  tags,
  request: { params },
  responses: { 200: one, ...errorResponses(400, 404) },
})

const duplicateRoute = createRoute({
  method: 'post',
  path: '/{id}/duplicate',
  tags,
  request: { params },
  responses: { 201: one, ...errorResponses(404) },
})

const renderRoute = createRoute({
  method: 'post',
  path: '/{id}/render',
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
    const row = isStorableText(idOrAlias)
      ? await findTemplate(db, workspaceId, idOrAlias)
      : undefined
    if (!row) throw templateNotFound(idOrAlias)
    return row
  }

  app.openapi(listRoute, async (c) => {
    const { workspaceId } = c.var
    const scope = { list: 'templates', workspaceId }
    const after = cursors.open<string>(scope, c.req.valid('query').cursor)
    const found = await listTemplates(db, workspaceId, { after, limit: limits.pageSize + 1 })
    const { rows, cursor } = cursors.page(scope, found, ({ id }) => id)
    return c.json({ templates: rows.map(toTemplateListItem), count: rows.length, cursor }, 200)
  })

  app.openapi(postRoute, async (c) => {
    const id = await createTemplate(deps, c.var.workspaceId, c.req.valid('json'))
    return c.json(toTemplate(await find(c.var.workspaceId, id)), 201)
  })

  app.openapi(getRoute, async (c) =>
    c.json(toTemplate(await find(c.var.workspaceId, c.req.valid('param').id)), 200),
  )

  app.openapi(patchRoute, async (c) => {
    const ref = refOf(c.var.workspaceId, c.req.valid('param').id)
    const id = await changeTemplate(deps, ref, c.req.valid('json'))
    if (id === undefined) throw templateNotFound(ref.idOrAlias)
    return c.json(toTemplate(await find(ref.workspaceId, id)), 200)
  })

  app.openapi(deleteRoute, async (c) => {
    const ref = refOf(c.var.workspaceId, c.req.valid('param').id)
    if (!(await removeTemplate(deps, ref))) throw templateNotFound(ref.idOrAlias)
    return c.body(null, 204)
  })

  app.openapi(publishRoute, async (c) => {
    const ref = refOf(c.var.workspaceId, c.req.valid('param').id)
    const id = await publishTemplate(deps, ref)
    if (id === undefined) throw templateNotFound(ref.idOrAlias)
    return c.json(toTemplate(await find(ref.workspaceId, id)), 200)
  })

  app.openapi(duplicateRoute, async (c) => {
    const { workspaceId } = c.var
    const row = await find(workspaceId, c.req.valid('param').id)
    const id = await createTemplate(deps, workspaceId, copyOf(row, limits.nameCharsMax))
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
    if (!rendered.ok) throw renderFailed(rendered.message)
    const { subject, html, text, missing } = rendered
    return c.json({ subject, html, text, missing }, 200)
  })

  return app
}

const templateNotFound = (idOrAlias: string) => notFound(`Template '${idOrAlias}' not found`)

/** @throws ApiError 404 for what cannot be a name, before any query */
function refOf(workspaceId: WorkspaceId, idOrAlias: string) {
  if (!isStorableText(idOrAlias)) throw templateNotFound(idOrAlias)
  return { workspaceId, idOrAlias }
}
