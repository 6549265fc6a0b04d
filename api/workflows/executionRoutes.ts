// What a workflow has done: its executions, its mail, and a start by hand (operations 11 and 12).

import { createRoute, z } from '@hono/zod-openapi'
import { startExecution } from '../../commands/executions/start.ts'
import { listWorkflowEmails } from '../../db/emails/ofExecutions.ts'
import { isWorkflowKnown } from '../../db/workflows/reads.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { isId } from '../../rules/ids.ts'
import { limits } from '../../rules/limits.ts'
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
import { notFound } from '../http/errors.ts'
import { PageQuery } from '../http/fields.ts'
import { createRoutes, errorResponses, jsonBody, jsonRequest } from '../http/openapi.ts'

const tags = ['Workflows']
const params = z.object({ id: z.string() })

const executionsRoute = createRoute({
  method: 'get',
  path: '/{id}/executions',
  tags,
  request: { params, query: ExecutionsQuery },
  responses: {
    200: jsonBody(ExecutionList, 'Running first, then by end, newest first'),
    ...errorResponses(400, 404),
  },
})

const emailsRoute = createRoute({
  method: 'get',
  path: '/{id}/emails',
  tags,
  request: { params, query: PageQuery },
  responses: {
    200: jsonBody(WorkflowEmailList, 'Mail of its executions, newest first'),
    ...errorResponses(400, 404),
  },
})

const startRoute = createRoute({
  method: 'post',
  path: '/{id}/executions',
  tags,
  request: { params, body: jsonRequest(StartExecution) },
  responses: {
    201: jsonBody(Execution, 'Decided; it starts by itself'),
    ...errorResponses(400, 404, 409, 413, 415),
  },
})

export function workflowExecutionRoutes(deps: ApiDeps) {
  const { db, cursors } = deps
  const app = createRoutes()

  const requireWorkflow = async (workspaceId: WorkspaceId, id: string) => {
    const known = isId('workflow', id) && (await isWorkflowKnown(db, workspaceId, id))
    if (!known) throw notFound(`Workflow ${id} not found`)
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
    const after = cursors.open<string>(scope, c.req.valid('query').cursor)
    const page = { after, limit: limits.pageSize + 1 }
    const found = await listWorkflowEmails(db, workspaceId, id, page)
    const { rows, cursor } = cursors.page(scope, found, ({ id }) => id)
    return c.json({ emails: rows.map(toWorkflowEmail), count: rows.length, cursor }, 200)
  })

  app.openapi(startRoute, async (c) => {
    const { id } = c.req.valid('param')
    if (!isId('workflow', id)) throw notFound(`Workflow ${id} not found`)
    const row = await startExecution(deps, c.var.workspaceId, id, c.req.valid('json'))
    return c.json(toExecution(row, undefined), 201)
  })

  return app
}
