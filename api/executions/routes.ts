// Executions: one, its emails, its steps, its cancellation.

import { z } from '@hono/zod-openapi'
import { cancelExecution } from '../../commands/executions/cancel.ts'
import { listExecutionEmails } from '../../db/emails/ofExecutions.ts'
import { findExecution, listSteps } from '../../db/executions/reads.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { isId } from '../../rules/ids.ts'
import { refuse } from '../../rules/refusals.ts'
import type { ApiDeps } from '../http/env.ts'
import { PageQuery } from '../http/fields.ts'
import { createRoutes, jsonBody } from '../http/openapi.ts'
import { defineOperation } from '../http/operation.ts'
import { readPage } from '../http/page.ts'
import { orThrow, toApiError } from '../http/refusals.ts'
import { ExecutionEmailList, toExecutionEmail } from './emailSchemas.ts'
import { executionExamples } from './examples.ts'
import {
  CancelExecution,
  Execution,
  ExecutionStepList,
  toExecution,
  toExecutionStep,
} from './schemas.ts'

const tags = ['Executions']
const params = z.object({ id: z.string().openapi({ description: 'The id of the execution' }) })

const getRoute = defineOperation({
  method: 'get',
  path: '/{id}',
  permission: 'read',
  bound: 'same',
  errors: 'error',
  tags,
  operationId: 'getExecution',
  summary: 'Get an execution',
  description:
    'Where the execution is: its status, its node, and until when it waits. The answer is up to date. An ' +
    'execution that was started a moment ago is `IN_PROGRESS` with 0 steps. In the Temporal Web UI its ' +
    'workflow id is this `execution_id`.',
  texts: { 404: ['Execution not found'] },
  example: executionExamples.get,
  request: { params },
  responses: { 200: jsonBody(Execution, 'The execution as it stands') },
})

const emailsRoute = defineOperation({
  method: 'get',
  path: '/{id}/emails',
  permission: 'read',
  bound: 'own',
  errors: 'error',
  failureText: 'Failed to get execution emails',
  tags,
  operationId: 'listExecutionEmails',
  summary: "List an execution's emails",
  description:
    'All emails that it has written, newest first, in one answer. `GET /v1/emails/{id}` has their content.',
  texts: { 404: ['Execution not found'] },
  example: executionExamples.emails,
  request: { params },
  responses: {
    200: jsonBody(ExecutionEmailList, 'All mail that it has sent, newest first'),
  },
})

const stepsRoute = defineOperation({
  method: 'get',
  path: '/{id}/steps',
  permission: 'read',
  bound: 'same',
  errors: 'error',
  tags,
  operationId: 'listExecutionSteps',
  summary: "List an execution's steps",
  description:
    'The nodes that it has entered, in order, each with the handle by which it left and with the reason. ' +
    'While it waits, the last step has no handle. Read this to see why somebody got an email, or did not.',
  texts: { 404: ['Execution not found'] },
  example: executionExamples.steps,
  request: { params, query: PageQuery },
  responses: {
    200: jsonBody(ExecutionStepList, 'The nodes that it entered, in order, with the ways taken'),
  },
})

const cancelRoute = defineOperation({
  method: 'post',
  path: '/{id}/cancel',
  permission: 'manage',
  bound: 'same',
  errors: 'error',
  tags,
  operationId: 'cancelExecution',
  summary: 'Cancel an execution',
  description:
    'Ends the execution for good: after the answer it takes no further step. Marketing mail that it has written and that ' +
    'has not left is cancelled (`Permanent` / `Cancelled`); transactional mail is still sent. A second request is a 200 again and keeps the first reason. The body may be left out.',
  codes: ['execution_not_running'],
  texts: { 404: ['Execution not found'] },
  example: executionExamples.cancel,
  request: {
    params,
    body: { required: false, content: { 'application/json': { schema: CancelExecution } } },
  },
  responses: {
    200: jsonBody(Execution, 'Cancelled: it takes no further step'),
  },
})

const executionNotFound = () => toApiError(refuse('execution_not_found', {}))

export function executionRoutes(deps: ApiDeps) {
  const { db, temporal, cursors } = deps
  const app = createRoutes()

  const find = async (workspaceId: WorkspaceId, id: string) => {
    const row = isId('execution', id) ? await findExecution(db, workspaceId, id) : undefined
    if (!row) throw executionNotFound()
    return row
  }

  app.openapi(getRoute, async (c) => {
    const row = await find(c.var.workspaceId, c.req.valid('param').id)
    // Postgres has everything of an ended execution, so it can be read while Temporal is away.
    const live = row.ended_status ? undefined : await temporal.describe(row.id)
    // Temporal has closed it after the row was read: read the row again, which has its last state now.
    const latest = live && live.closedAt !== null ? await find(row.workspace_id, row.id) : row
    return c.json(toExecution(latest, live), 200)
  })

  app.openapi(emailsRoute, async (c) => {
    const { workspaceId } = c.var
    const row = await find(workspaceId, c.req.valid('param').id)
    const emails = await listExecutionEmails(db, c.var.reach, row.id)
    return c.json({ emails: emails.map(toExecutionEmail), count: emails.length }, 200)
  })

  app.openapi(stepsRoute, async (c) => {
    const { workspaceId } = c.var
    const { id } = await find(workspaceId, c.req.valid('param').id)
    const page = await readPage({
      key: 'steps',
      cursors: cursors.of<number>({ list: 'execution-steps', workspaceId, filter: { id } }),
      cursor: c.req.valid('query').cursor,
      find: ({ after, limit }) => listSteps(db, workspaceId, id, { after: after ?? 0, limit }),
      positionOf: ({ seq }) => seq,
      toItem: toExecutionStep,
    })
    return c.json(page, 200)
  })

  app.openapi(cancelRoute, async (c) => {
    const { id: executionId } = c.req.valid('param')
    const { reason = null } = c.req.valid('json') ?? {}
    if (!isId('execution', executionId)) throw executionNotFound()
    const input = { executionId, reason }
    const row = orThrow(await cancelExecution(deps, c.var.workspaceId, input))
    return c.json(toExecution(row, undefined), 200)
  })

  return app
}
