// Templates: list, create, get, change, delete, publish, duplicate, render. By id or alias.
// Long because it describes eight operations.

import { z } from '@hono/zod-openapi'
import { findTemplateContact } from '../../commands/templates/contact.ts'
import { createTemplate } from '../../commands/templates/create.ts'
import { deleteTemplate } from '../../commands/templates/delete.ts'
import { duplicateTemplate } from '../../commands/templates/duplicate.ts'
import { renderFailed } from '../../commands/templates/faults.ts'
import { publishTemplate } from '../../commands/templates/publish.ts'
import { updateTemplate } from '../../commands/templates/update.ts'
import { findTemplate, listTemplates } from '../../db/templates/reads.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { refuse } from '../../rules/refusals.ts'
import type { ApiDeps } from '../http/env.ts'
import { PageQuery } from '../http/fields.ts'
import { createRoutes, jsonBody, jsonRequest } from '../http/openapi.ts'
import { defineOperation } from '../http/operation.ts'
import { readPage } from '../http/page.ts'
import { orThrow } from '../http/refusals.ts'
import { templateExamples } from './examples.ts'
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
  bound: 'same',
  errors: 'message',
  tags,
  operationId: 'listTemplates',
  summary: 'List templates',
  description:
    'All templates, newest first, without html and text: get one of them for its content.',
  example: templateExamples.list,
  request: { query: PageQuery },
  responses: {
    200: jsonBody(TemplateList, 'Templates without html and text, newest first'),
  },
})

const postRoute = defineOperation({
  method: 'post',
  path: '/',
  permission: 'manage',
  bound: 'sender',
  errors: 'message',
  tags,
  operationId: 'createTemplate',
  summary: 'Create a template',
  description:
    'Makes a draft, version 1. Nothing can be sent with it before it is published. The parts are ' +
    '[Liquid](https://shopify.github.io/liquid/), which is checked here: a mistake is a 400 with its line and column. ' +
    'With an `alias` the template has a name of your choice wherever its id can stand.',
  codes: ['alias_taken', 'invalid_template', 'domain_not_found'],
  example: templateExamples.create,
  request: { body: jsonRequest(NewTemplate) },
  responses: { 201: one },
})

const getRoute = defineOperation({
  method: 'get',
  path: '/{id}',
  permission: 'read',
  bound: 'same',
  errors: 'message',
  tags,
  operationId: 'getTemplate',
  summary: 'Get a template',
  description: 'One template with the content of its current version, published or not.',
  codes: ['not_found'],
  example: templateExamples.get,
  request: { params },
  responses: { 200: one },
})

const patchRoute = defineOperation({
  method: 'patch',
  path: '/{id}',
  permission: 'manage',
  bound: 'sender',
  errors: 'message',
  tags,
  operationId: 'updateTemplate',
  summary: 'Change a template',
  description:
    'Changes what is given and leaves the rest. Changed content becomes a new version; mail is made from the published ' +
    'one until you publish again. A change of `name` or `alias` alone makes no version and holds at once.',
  codes: ['not_found', 'alias_taken', 'invalid_template', 'domain_not_found'],
  example: templateExamples.change,
  request: { params, body: jsonRequest(TemplateChange) },
  responses: { 200: one },
})

const deleteRoute = defineOperation({
  method: 'delete',
  path: '/{id}',
  permission: 'manage',
  bound: 'sender',
  errors: 'message',
  tags,
  operationId: 'deleteTemplate',
  summary: 'Delete a template',
  description:
    'Deletes the template with its versions. Mail that was made from it keeps its content. While an active workflow ' +
    'sends it, it is refused.',
  codes: ['not_found', 'template_in_use', 'domain_not_found'],
  example: templateExamples.remove,
  request: { params },
  responses: { 204: { description: 'Gone with its versions' } },
})

const publishRoute = defineOperation({
  method: 'post',
  path: '/{id}/publish',
  permission: 'manage',
  bound: 'sender',
  errors: 'message',
  tags,
  operationId: 'publishTemplate',
  summary: 'Publish a template',
  description:
    'Mail is made from the current version from now on. Publishing the same version again changes nothing.',
  codes: ['not_found', 'template_empty', 'domain_not_found'],
  example: templateExamples.publish,
  request: { params },
  responses: { 200: one },
})

const duplicateRoute = defineOperation({
  method: 'post',
  path: '/{id}/duplicate',
  permission: 'manage',
  bound: 'sender',
  errors: 'message',
  tags,
  operationId: 'duplicateTemplate',
  summary: 'Duplicate a template',
  description:
    'Copies the content of the current version into a new draft, named as the template with “(copy)” behind it. The ' +
    'copy has no alias.',
  codes: ['not_found', 'domain_not_found'],
  example: templateExamples.duplicate,
  request: { params },
  responses: { 201: one },
})

const renderRoute = defineOperation({
  method: 'post',
  path: '/{id}/render',
  permission: 'render',
  changesNothing: true,
  bound: 'same',
  errors: 'message',
  tags,
  operationId: 'renderTemplate',
  summary: 'Render a template',
  description:
    'Shows what a mail would look like with these values; nothing is sent or stored. It is the current version that is ' +
    'rendered, so a draft can be tried before it is published. `missing` lists the names that have no value: in a mail ' +
    'they are empty.',
  codes: ['not_found', 'invalid_template', 'template_too_slow'],
  example: templateExamples.render,
  request: { params, body: jsonRequest(RenderTemplate) },
  responses: {
    200: jsonBody(RenderedTemplate, 'The current version with these values'),
  },
})

export function templateRoutes(deps: ApiDeps) {
  const { db, cursors, renderer } = deps
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
    const id = orThrow(await createTemplate(deps, c.var.reach, c.req.valid('json')))
    return c.json(toTemplate(await find(c.var.workspaceId, id)), 201)
  })

  app.openapi(getRoute, async (c) =>
    c.json(toTemplate(await find(c.var.workspaceId, c.req.valid('param').id)), 200),
  )

  app.openapi(patchRoute, async (c) => {
    const input = { idOrAlias: c.req.valid('param').id, change: c.req.valid('json') }
    const id = orThrow(await updateTemplate(deps, c.var.reach, input))
    return c.json(toTemplate(await find(c.var.workspaceId, id)), 200)
  })

  app.openapi(deleteRoute, async (c) => {
    const { id: idOrAlias } = c.req.valid('param')
    orThrow(await deleteTemplate(deps, c.var.reach, { idOrAlias }))
    return c.body(null, 204)
  })

  app.openapi(publishRoute, async (c) => {
    const input = { idOrAlias: c.req.valid('param').id }
    const id = orThrow(await publishTemplate(deps, c.var.reach, input))
    return c.json(toTemplate(await find(c.var.workspaceId, id)), 200)
  })

  app.openapi(duplicateRoute, async (c) => {
    const input = { idOrAlias: c.req.valid('param').id }
    const id = orThrow(await duplicateTemplate(deps, c.var.reach, input))
    return c.json(toTemplate(await find(c.var.workspaceId, id)), 201)
  })

  app.openapi(renderRoute, async (c) => {
    const { workspaceId } = c.var
    const { variables, email } = c.req.valid('json')
    const row = await find(workspaceId, c.req.valid('param').id)
    const contact = email === undefined ? null : await findTemplateContact(db, workspaceId, email)
    const rendered = await renderer.render(
      c.var.workspaceId,
      { ...row, subject: row.subject ?? '' },
      {
        ...(contact ? { contact, properties: contact.properties } : {}),
        ...(variables ? { vars: variables } : {}),
      },
    )
    const { subject, html, text, missing } = orThrow(
      rendered.ok ? rendered : renderFailed(rendered),
    )
    return c.json({ subject, html, text, missing }, 200)
  })

  return app
}
