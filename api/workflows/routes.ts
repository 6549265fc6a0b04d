// Workflows: list, create, get, change, archive, validate, duplicate (operations 9 and 10, and what feeds them).

import { z } from '@hono/zod-openapi'
import { archiveWorkflow } from '../../commands/workflows/archive.ts'
import { findDesignProblems } from '../../commands/workflows/checkDesign.ts'
import { createWorkflow } from '../../commands/workflows/create.ts'
import { duplicateWorkflow } from '../../commands/workflows/duplicate.ts'
import { updateWorkflow } from '../../commands/workflows/update.ts'
import { findWorkflow, listWorkflows } from '../../db/workflows/reads.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { isId } from '../../rules/ids.ts'
import { refuse } from '../../rules/refusals.ts'
import type { ApiDeps } from '../http/env.ts'
import { createRoutes, errorResponses, jsonBody, jsonRequest } from '../http/openapi.ts'
import { defineOperation } from '../http/operation.ts'
import { readPage } from '../http/page.ts'
import { orThrow } from '../http/refusals.ts'
import { describeDesign } from './designSchema.ts'
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

const listRoute = defineOperation({
  method: 'get',
  path: '/',
  permission: 'read',
  errors: 'error',
  tags,
  request: { query: WorkflowsQuery },
  responses: { 200: jsonBody(WorkflowList, 'Workflows, newest first'), ...errorResponses(400) },
})

const postRoute = defineOperation({
  method: 'post',
  path: '/',
  permission: 'manage',
  errors: 'error',
  tags,
  request: { body: jsonRequest(NewWorkflow) },
  responses: { 201: one, ...errorResponses(400, 413, 415) },
})

const getRoute = defineOperation({
  method: 'get',
  path: '/{id}',
  permission: 'read',
  errors: 'error',
  tags,
  request: { params },
  responses: { 200: one, ...errorResponses(404) },
})

const patchRoute = defineOperation({
  method: 'patch',
  path: '/{id}',
  permission: 'manage',
  errors: 'error',
  tags,
  request: { params, body: jsonRequest(WorkflowChange) },
  responses: {
    200: jsonBody(WorkflowUpdated, 'Changed; a changed design is a new version'),
    ...errorResponses(400, 404, 409, 413, 415),
  },
})

const deleteRoute = defineOperation({
  method: 'delete',
  path: '/{id}',
  permission: 'manage',
  errors: 'error',
  tags,
  request: { params },
  responses: {
    204: { description: 'Archived: it triggers no more; its executions go on' },
    ...errorResponses(404),
  },
})

const validateRoute = defineOperation({
  method: 'post',
  path: '/{id}/validate',
  permission: 'manage',
  errors: 'error',
  tags,
  request: { params, body: jsonRequest(DesignToCheck) },
  responses: {
    200: jsonBody(DesignChecked, 'Every problem that keeps the design from being active'),
    ...errorResponses(400, 404, 413, 415),
  },
})

const duplicateRoute = defineOperation({
  method: 'post',
  path: '/{id}/duplicate',
  permission: 'manage',
  errors: 'error',
  tags,
  request: { params },
  responses: { 201: jsonBody(Workflow, 'The copy, a draft'), ...errorResponses(404) },
})

export function workflowRoutes(deps: ApiDeps) {
  const { db, cursors } = deps
  const app = createRoutes()
  describeDesign(app)

  const find = async (workspaceId: WorkspaceId, id: string) => {
    const row = isId('workflow', id) ? await findWorkflow(db, workspaceId, id) : undefined
    return orThrow(row ?? refuse('workflow_not_found', { id }))
  }

  app.openapi(listRoute, async (c) => {
    const { workspaceId } = c.var
    const { cursor, status = null } = c.req.valid('query')
    const page = await readPage({
      key: 'workflows',
      cursors: cursors.of<string>({ list: 'workflows', workspaceId, filter: { status } }),
      cursor,
      find: (page) => listWorkflows(db, workspaceId, { ...page, status }),
      positionOf: ({ id }) => id,
      toItem: toWorkflowListItem,
    })
    return c.json(page, 200)
  })

  app.openapi(postRoute, async (c) => {
    const { workspaceId, key } = c.var
    const input = { workflow: c.req.valid('json'), createdBy: key.id }
    return c.json(toWorkflow(orThrow(await createWorkflow(deps, workspaceId, input))), 201)
  })

  app.openapi(getRoute, async (c) => {
    const row = await find(c.var.workspaceId, c.req.valid('param').id)
    return c.json(toWorkflow(row), 200)
  })

  app.openapi(patchRoute, async (c) => {
    const { workspaceId, key } = c.var
    const { id } = c.req.valid('param')
    const input = { id, change: c.req.valid('json'), changedBy: key.id }
    return c.json(toWorkflowUpdated(orThrow(await updateWorkflow(deps, workspaceId, input))), 200)
  })

  app.openapi(deleteRoute, async (c) => {
    orThrow(await archiveWorkflow(deps, c.var.workspaceId, c.req.valid('param')))
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
    const { workspaceId, key } = c.var
    const input = { id: c.req.valid('param').id, createdBy: key.id }
    return c.json(toWorkflow(orThrow(await duplicateWorkflow(deps, workspaceId, input))), 201)
  })

  return app
}
