// The executions and emails of a workflow, and a start by hand.

import { z } from '@hono/zod-openapi'
import { startExecution } from '../../commands/executions/start.ts'
import { listWorkflowEmails } from '../../db/emails/ofExecutions.ts'
import { isWorkflowKnown } from '../../db/workflows/reads.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { isId } from '../../rules/ids.ts'
import { refuse } from '../../rules/refusals.ts'
import { toWorkflowEmail, WorkflowEmailList } from '../executions/emailSchemas.ts'
import { readExecutionPage } from '../executions/pages.ts'
import {
  Execution,
  ExecutionList,
  ExecutionsQuery,
  StartExecution,
  toExecution,
} from '../executions/schemas.ts'
import type { ApiDeps } from '../http/env.ts'
import { PageQuery } from '../http/fields.ts'
import { createRoutes, jsonBody, jsonRequest } from '../http/openapi.ts'
import { defineOperation } from '../http/operation.ts'
import { readPage } from '../http/page.ts'
import { orThrow, toApiError } from '../http/refusals.ts'
import { workflowExecutionExamples } from './executionExamples.ts'

const tags = ['Workflows']
const params = z.object({ id: z.string().openapi({ description: 'The id of the workflow' }) })

const executionsRoute = defineOperation({
  method: 'get',
  path: '/{id}/executions',
  permission: 'read',
  bound: 'same',
  errors: 'error',
  tags,
  operationId: 'listWorkflowExecutions',
  summary: "List a workflow's executions",
  description:
    'Those that run come first, then those that have ended, the latest end first. One that ends while you ' +
    'page may be shown a second time; none is left out. It can be asked of an archived workflow too.',
  codes: ['not_found'],
  example: workflowExecutionExamples.list,
  request: { params, query: ExecutionsQuery },
  responses: {
    200: jsonBody(ExecutionList, 'Running first, then by end, newest first'),
  },
})

const emailsRoute = defineOperation({
  method: 'get',
  path: '/{id}/emails',
  permission: 'read',
  bound: 'own',
  errors: 'error',
  tags,
  operationId: 'listWorkflowEmails',
  summary: "List a workflow's emails",
  description:
    'The emails that its executions have written, newest first, each with what became of it. `GET ' +
    '/v1/emails/{id}` has their content.',
  codes: ['not_found'],
  example: workflowExecutionExamples.emails,
  request: { params, query: PageQuery },
  responses: {
    200: jsonBody(WorkflowEmailList, 'Mail of its executions, newest first'),
  },
})

const startRoute = defineOperation({
  method: 'post',
  path: '/{id}/executions',
  permission: 'manage',
  bound: 'sender',
  errors: 'error',
  tags,
  operationId: 'createWorkflowExecution',
  summary: 'Start an execution by hand',
  description:
    'Starts the workflow for one contact, without an event: at its manual trigger, or at its first trigger ' +
    'where it has none. The re-entry rule of the trigger applies, its filter does not. A new address becomes ' +
    'a contact, who gets the event `workflow.started_manually`. The answer shows the execution before its ' +
    'first node. A second request starts a second execution, unless the re-entry rule refuses it.',
  codes: [
    'not_found',
    'invalid_design',
    'contact_unsubscribed',
    're_entry_refused',
    'workflow_not_active',
  ],
  example: workflowExecutionExamples.start,
  request: { params, body: jsonRequest(StartExecution) },
  responses: {
    201: jsonBody(Execution, 'Decided; it starts by itself'),
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
      find: (page) => listWorkflowEmails(db, c.var.reach, id, page),
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
    const row = orThrow(await startExecution(deps, c.var.reach, input))
    return c.json(toExecution(row, undefined), 201)
  })

  return app
}
