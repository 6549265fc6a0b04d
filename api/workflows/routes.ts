// Workflows: list, create, get, change, archive, validate, duplicate (operations 9 and 10, and what feeds them).

import { createRoute, z } from '@hono/zod-openapi'
import { findDesignProblems } from '../../commands/workflows/checkDesign.ts'
import {
  archiveWorkflow,
  changeWorkflow,
  copyName,
  createWorkflow,
} from '../../commands/workflows/save.ts'
import { findWorkflow, listWorkflows } from '../../db/workflows/reads.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { isId } from '../../rules/ids.ts'
import type { JsonObject } from '../../rules/json.ts'
import { limits } from '../../rules/limits.ts'
import type { ApiDeps } from '../http/env.ts'
import { notFound } from '../http/errors.ts'
import { createRoutes, errorResponses, jsonBody, jsonRequest } from '../http/openapi.ts'
import {
  DesignChecked,
  DesignToCheck,
  NewWorkflow,
  toWorkflow,
  toWorkflowListItem,
  toWorkflowUpdated,
  Workflow,
  WorkflowChange,
  WorkflowList,
  WorkflowsQuery,
  WorkflowUpdated,
} from './schemas.ts'

const tags = ['Workflows']
const params = z.object({ id: z.string() })
const one = jsonBody(Workflow, 'The workflow with its design')

const listRoute = createRoute({
  method: 'get',
  path: '/',
  tags,
  request: { query: WorkflowsQuery },
  responses: { 200: jsonBody(WorkflowList, 'Workflows, newest first'), ...errorResponses(400) },
})

const postRoute = createRoute({
  method: 'post',
  path: '/',
  tags,
  request: { body: jsonRequest(NewWorkflow) },
  responses: { 201: one, ...errorResponses(400, 413, 415) },
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
  request: { params, body: jsonRequest(WorkflowChange) },
  responses: {
    200: jsonBody(WorkflowUpdated, 'Changed; a changed design is a new version'),
    ...errorResponses(400, 404, 409, 413, 415),
  },
})

const deleteRoute = createRoute({
  method: 'delete',
  path: '/{id}',
  tags,
  request: { params },
  responses: {
    204: { description: 'Archived: it triggers no more; its executions go on' },
    ...errorResponses(404),
  },
})

const validateRoute = createRoute({
  method: 'post',
  path: '/{id}/validate',
  tags,
  request: { params, body: jsonRequest(DesignToCheck) },
  responses: {
    200: jsonBody(DesignChecked, 'Every problem that keeps the design from being active'),
    ...errorResponses(400, 404, 413, 415),
  },
})

const duplicateRoute = createRoute({
  method: 'post',
  path: '/{id}/duplicate',
  tags,
  request: { params },
  responses: { 201: jsonBody(Workflow, 'The copy, a draft'), ...errorResponses(404) },
})

const workflowNotFound = (id: string) => notFound(`Workflow ${id} not found`)

export function workflowRoutes(deps: ApiDeps) {
  const { db, cursors } = deps
  const app = createRoutes()

  const find = async (workspaceId: WorkspaceId, id: string) => {
    const row = isId('workflow', id) ? await findWorkflow(db, workspaceId, id) : undefined
    if (!row) throw workflowNotFound(id)
    return row
  }

  app.openapi(listRoute, async (c) => {
    const { workspaceId } = c.var
    const { cursor: given, status = null } = c.req.valid('query')
    const scope = { list: 'workflows', workspaceId, filter: { status } }
    const after = cursors.open<string>(scope, given)
    const page = { status, after, limit: limits.pageSize + 1 }
    const found = await listWorkflows(db, workspaceId, page)
    const { rows, cursor } = cursors.page(scope, found, ({ id }) => id)
    return c.json({ workflows: rows.map(toWorkflowListItem), count: rows.length, cursor }, 200)
  })

  app.openapi(postRoute, async (c) => {
    const created = await createWorkflow(deps, c.var.key, c.req.valid('json'))
    return c.json(toWorkflow(created), 201)
  })

  app.openapi(getRoute, async (c) => {
    const row = await find(c.var.workspaceId, c.req.valid('param').id)
    return c.json(toWorkflow(row), 200)
  })

  app.openapi(patchRoute, async (c) => {
    const { id } = c.req.valid('param')
    const change = c.req.valid('json')
    const changed = isId('workflow', id) && (await changeWorkflow(deps, c.var.key, id, change))
    if (!changed) throw workflowNotFound(id)
    return c.json(toWorkflowUpdated(changed), 200)
  })

  app.openapi(deleteRoute, async (c) => {
    const { id } = c.req.valid('param')
    const known = isId('workflow', id) && (await archiveWorkflow(deps, c.var.workspaceId, id))
    if (!known) throw workflowNotFound(id)
    return c.body(null, 204)
  })

  app.openapi(validateRoute, async (c) => {
    const { workspaceId } = c.var
    const row = await find(workspaceId, c.req.valid('param').id)
    const design = c.req.valid('json').design ?? row.design
    const problems = await findDesignProblems(deps, workspaceId, design)
    return c.json({ valid: problems.length === 0, problems }, 200)
  })

  app.openapi(duplicateRoute, async (c) => {
    const row = await find(c.var.workspaceId, c.req.valid('param').id)
    const copy = { name: copyName(row.name), design: row.design as JsonObject }
    return c.json(toWorkflow(await createWorkflow(deps, c.var.key, copy)), 201)
  })

  return app
}
