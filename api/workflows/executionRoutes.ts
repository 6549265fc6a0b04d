// What a workflow has done: its executions, its mail, and a start by hand (operations 11 and 12).

import { z } from '@hono/zod-openapi'
import { startExecution } from '../../commands/executions/start.ts'
import { listWorkflowEmails } from '../../db/emails/ofExecutions.ts'
import { isWorkflowKnown } from '../../db/workflows/reads.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { isId } from '../../rules/ids.ts'
import { refuse } from '../../rules/refusals.ts'
import { readExecutionPage } from '../executions/pages.ts'
import {
  Execution,
  ExecutionList,
  ExecutionsQuery,
  StartExecution,
  toExecution,
  toWorkflowEmail,
  WorkflowEmailList,
} from '../executions/schemas.ts'
import type { ApiDeps } from '../http/env.ts'
import { PageQuery } from '../http/fields.ts'
import { createRoutes, errorResponses, jsonBody, jsonRequest } from '../http/openapi.ts'
import { defineOperation } from '../http/operation.ts'
import { readPage } from '../http/page.ts'
import { orThrow, toApiError } from '../http/refusals.ts'

const tags = ['Workflows']
const params = z.object({ id: z.string() })

const executionsRoute = defineOperation({
  method: 'get',
  path: '/{id}/executions',
  permission: 'read',
  errors: 'error',
  tags,
  request: { params, query: ExecutionsQuery },
  responses: {
    200: jsonBody(ExecutionList, 'Running first, then by end, newest first'),
    ...errorResponses(400, 404),
  },
})

const emailsRoute = defineOperation({
  method: 'get',
  path: '/{id}/emails',
  permission: 'read',
  errors: 'error',
  tags,
  request: { params, query: PageQuery },
  responses: {
    200: jsonBody(WorkflowEmailList, 'Mail of its executions, newest first'),
    ...errorResponses(400, 404),
  },
})

const startRoute = defineOperation({
  method: 'post',
  path: '/{id}/executions',
  permission: 'manage',
  errors: 'error',
  tags,
  request: { params, body: jsonRequest(StartExecution) },
  responses: {
    201: jsonBody(Execution, 'Decided; it starts by itself'),
    ...errorResponses(400, 404, 409, 413, 415),
  },
})

const workflowNotFound = (id: string) => toApiError(refuse('workflow_not_found', { id }))

export function workflowExecutionRoutes(deps: ApiDeps) {
  const { db, cursors } = deps
  const app = createRoutes()

  const requireWorkflow = async (workspaceId: WorkspaceId, id: string) => {
    const known = isId('workflow', id) && (await isWorkflowKnown(db, workspaceId, id))
    if (!known) throw workflowNotFound(id)
  }

  app.openapi(executionsRoute, async (c) => {
    const { workspaceId } = c.var
    const { id } = c.req.valid('param')
    await requireWorkflow(workspaceId, id)
    const { cursor, status = null } = c.req.valid('query')
    const scope = { list: 'workflow-executions', workspaceId, filter: { id, status } }
    const query = { workspaceId, by: { workflowId: id }, status }
    return c.json(await readExecutionPage(deps, query, { scope, cursor }), 200)
  })

  app.openapi(emailsRoute, async (c) => {
    const { workspaceId } = c.var
    const { id } = c.req.valid('param')
    await requireWorkflow(workspaceId, id)
    const scope = { list: 'workflow-emails', workspaceId, filter: { id } }
    const page = await readPage({
      key: 'emails',
      cursors: cursors.of<string>(scope),
      cursor: c.req.valid('query').cursor,
      find: (page) => listWorkflowEmails(db, workspaceId, id, page),
      positionOf: ({ id }) => id,
      toItem: toWorkflowEmail,
    })
    return c.json(page, 200)
  })

  app.openapi(startRoute, async (c) => {
    const { id: workflowId } = c.req.valid('param')
    if (!isId('workflow', workflowId)) throw workflowNotFound(workflowId)
    const { email, properties = {} } = c.req.valid('json')
    const input = { workflowId, email, properties }
    const row = orThrow(await startExecution(deps, c.var.workspaceId, input))
    return c.json(toExecution(row, undefined), 201)
  })

  return app
}
