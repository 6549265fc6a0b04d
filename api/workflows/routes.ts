// Workflows: list, create, get, change, archive, validate, duplicate.

import { z } from '@hono/zod-openapi'
import { archiveWorkflow } from '../../commands/workflows/archive.ts'
import { findDesignProblems } from '../../commands/workflows/checkDesign.ts'
import { createWorkflow } from '../../commands/workflows/create.ts'
import { duplicateWorkflow } from '../../commands/workflows/duplicate.ts'
import { updateWorkflow } from '../../commands/workflows/update.ts'
import { findWorkflow, findWorkflowVersion, listWorkflows } from '../../db/workflows/reads.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { isId } from '../../rules/ids.ts'
import { refuse } from '../../rules/refusals.ts'
import type { ApiDeps } from '../http/env.ts'
import { createRoutes, jsonBody, jsonRequest } from '../http/openapi.ts'
import { defineOperation } from '../http/operation.ts'
import { readPage } from '../http/page.ts'
import { orThrow } from '../http/refusals.ts'
import { describeDesign } from './designSchema.ts'
import { workflowExamples } from './examples.ts'
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
const params = z.object({ id: z.string().openapi({ description: 'The id of the workflow' }) })
const one = jsonBody(Workflow, 'The workflow with its design')

const listRoute = defineOperation({
  method: 'get',
  path: '/',
  permission: 'read',
  bound: 'same',
  errors: 'error',
  tags,
  operationId: 'listWorkflows',
  summary: 'List workflows',
  description:
    'All workflows of the workspace, newest first, without their designs. Archived ones are left out.',
  example: workflowExamples.list,
  request: { query: WorkflowsQuery },
  responses: { 200: jsonBody(WorkflowList, 'Workflows, newest first') },
})

const postRoute = defineOperation({
  method: 'post',
  path: '/',
  permission: 'manage',
  bound: 'sender',
  errors: 'error',
  tags,
  operationId: 'createWorkflow',
  summary: 'Create a workflow',
  description:
    'Creates a workflow with version 1 of its design. The design of a `draft` may be unfinished: only its ' +
    'shape is checked. With `"status": "active"` it must have no problems; otherwise nothing is created, and ' +
    'the answer lists all of them. An active workflow starts an execution for each event that one of its ' +
    'triggers asks for. Events from before start nothing.',
  codes: ['invalid_design'],
  example: workflowExamples.create,
  request: { body: jsonRequest(NewWorkflow) },
  responses: { 201: one },
})

const getRoute = defineOperation({
  method: 'get',
  path: '/{id}',
  permission: 'read',
  bound: 'same',
  errors: 'error',
  tags,
  operationId: 'getWorkflow',
  summary: 'Get a workflow',
  description:
    'The workflow with its current design. `current_version` and `active_version` differ when the design was ' +
    'changed while the workflow was not active.',
  codes: ['not_found'],
  example: workflowExamples.get,
  request: { params },
  responses: { 200: one },
})

const patchRoute = defineOperation({
  method: 'patch',
  path: '/{id}',
  permission: 'manage',
  bound: 'sender',
  errors: 'error',
  tags,
  operationId: 'updateWorkflow',
  summary: 'Change a workflow',
  description:
    'Changes the name, the status or the design; what is left out stays. A changed design becomes a new ' +
    'version: new executions run it, and those that run keep theirs. While the workflow is active, or becomes ' +
    'active, its design must have no problems; otherwise nothing changes, and the answer lists all of them. ' +
    'With the status `paused` or `draft` it starts no executions; those that run go on. Send ' +
    '`expected_version` where two people may change the same workflow.',
  codes: ['not_found', 'invalid_design', 'version_conflict'],
  example: workflowExamples.change,
  request: { params, body: jsonRequest(WorkflowChange) },
  responses: {
    200: jsonBody(WorkflowUpdated, 'Changed; a changed design is a new version'),
  },
})

const deleteRoute = defineOperation({
  method: 'delete',
  path: '/{id}',
  permission: 'manage',
  bound: 'same',
  errors: 'error',
  tags,
  operationId: 'deleteWorkflow',
  summary: 'Archive a workflow',
  description:
    'From now on it starts no executions, and cannot be read, changed or brought back. Its executions that run ' +
    'go on, and its executions and emails can still be listed.',
  codes: ['not_found'],
  example: workflowExamples.archive,
  request: { params },
  responses: {
    204: { description: 'Archived: it triggers no more; its executions go on' },
  },
})

const validateRoute = defineOperation({
  method: 'post',
  path: '/{id}/validate',
  permission: 'manage',
  changesNothing: true,
  bound: 'sender',
  errors: 'error',
  tags,
  operationId: 'validateWorkflow',
  summary: 'Check a design',
  description:
    'Checks a design by the rules for an active workflow, and changes nothing. Without a `design` it checks ' +
    'the current one of the workflow. It reports all problems at once, each with its node. The status is 200 ' +
    'for a design with problems too.',
  codes: ['not_found'],
  example: workflowExamples.validate,
  request: { params, body: jsonRequest(DesignToCheck) },
  responses: {
    200: jsonBody(DesignChecked, 'Every problem that keeps the design from being active'),
  },
})

const duplicateRoute = defineOperation({
  method: 'post',
  path: '/{id}/duplicate',
  permission: 'manage',
  bound: 'sender',
  errors: 'error',
  tags,
  operationId: 'duplicateWorkflow',
  summary: 'Duplicate a workflow',
  description:
    'Copies the current design into a new workflow: a draft with the same name and ` copy` behind it. Earlier ' +
    'versions and executions are not copied.',
  codes: ['not_found', 'invalid_design'],
  example: workflowExamples.duplicate,
  request: { params },
  responses: { 201: jsonBody(Workflow, 'The copy, a draft') },
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
    const { key, reach } = c.var
    const input = { workflow: c.req.valid('json'), createdBy: key.id }
    return c.json(toWorkflow(orThrow(await createWorkflow(deps, reach, input))), 201)
  })

  app.openapi(getRoute, async (c) => {
    const row = await find(c.var.workspaceId, c.req.valid('param').id)
    return c.json(toWorkflow(row), 200)
  })

  app.openapi(patchRoute, async (c) => {
    const { key, reach } = c.var
    const { id } = c.req.valid('param')
    const input = { id, change: c.req.valid('json'), changedBy: key.id }
    return c.json(toWorkflowUpdated(orThrow(await updateWorkflow(deps, reach, input))), 200)
  })

  app.openapi(deleteRoute, async (c) => {
    orThrow(await archiveWorkflow(deps, c.var.workspaceId, c.req.valid('param')))
    return c.body(null, 204)
  })

  app.openapi(validateRoute, async (c) => {
    const { workspaceId, reach } = c.var
    const row = await find(workspaceId, c.req.valid('param').id)
    const { design } = c.req.valid('json')
    const stored = design
      ? null
      : await findWorkflowVersion(deps.db, workspaceId, row.id, row.current_version)
    const boundTo = stored?.bound_domain_id ?? reach.domainId
    const of = { boundTo, workflow: row }
    const problems = await findDesignProblems(deps, reach, design ?? row.design, of)
    return c.json({ valid: problems.length === 0, problems }, 200)
  })

  app.openapi(duplicateRoute, async (c) => {
    const { key, reach } = c.var
    const input = { id: c.req.valid('param').id, createdBy: key.id }
    return c.json(toWorkflow(orThrow(await duplicateWorkflow(deps, reach, input))), 201)
  })

  return app
}
