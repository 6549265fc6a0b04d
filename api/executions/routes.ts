// Executions: one, its emails, its steps, its cancellation (operations 13 and 14).

import { createRoute, z } from '@hono/zod-openapi'
import { cancelExecution } from '../../commands/executions/cancel.ts'
import { listExecutionEmails } from '../../db/emails/ofExecutions.ts'
import { findExecution, listSteps } from '../../db/executions/reads.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { isId } from '../../rules/ids.ts'
import { limits } from '../../rules/limits.ts'
import type { ApiDeps } from '../http/env.ts'
import { notFound } from '../http/errors.ts'
import { PageQuery } from '../http/fields.ts'
import { createRoutes, errorResponses, jsonBody } from '../http/openapi.ts'
import {
  CancelExecution,
  Execution,
  ExecutionEmailList,
  ExecutionStepList,
  toExecution,
  toExecutionEmail,
  toExecutionStep,
} from './schemas.ts'

const tags = ['Executions']
const params = z.object({ id: z.string() })

const getRoute = createRoute({
  method: 'get',
  path: '/{id}',
  tags,
  request: { params },
  responses: { 200: jsonBody(Execution, 'The execution as it stands'), ...errorResponses(404) },
})

const emailsRoute = createRoute({
  method: 'get',
  path: '/{id}/emails',
  tags,
  request: { params },
  responses: {
    200: jsonBody(ExecutionEmailList, 'All mail that it has sent, newest first'),
    ...errorResponses(404),
  },
})

const stepsRoute = createRoute({
  method: 'get',
  path: '/{id}/steps',
  tags,
  request: { params, query: PageQuery },
  responses: {
    200: jsonBody(ExecutionStepList, 'The nodes that it entered, in order, with the ways taken'),
    ...errorResponses(400, 404),
  },
})

const cancelRoute = createRoute({
  method: 'post',
  path: '/{id}/cancel',
  tags,
  request: {
    params,
    body: { required: false, content: { 'application/json': { schema: CancelExecution } } },
  },
  responses: {
    200: jsonBody(Execution, 'Cancelled: it takes no further step'),
    ...errorResponses(400, 404, 409, 413, 415),
  },
})

/** The contract's body, without a code. */
const executionNotFound = () => notFound('Execution not found', null)

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
    // What has ended is whole in Postgres: it can be read while Temporal is away.
    const live = row.ended_status ? undefined : await temporal.describe(row.id)
    // Closed, so it has ended since the row was read: the row has its last state now.
    const latest = live && live.closedAt !== null ? await find(row.workspace_id, row.id) : row
    return c.json(toExecution(latest, live), 200)
  })

  app.openapi(emailsRoute, async (c) => {
    c.set('failureText', 'Failed to get execution emails')
    const { workspaceId } = c.var
    const row = await find(workspaceId, c.req.valid('param').id)
    const emails = await listExecutionEmails(db, workspaceId, row.id)
    return c.json({ emails: emails.map(toExecutionEmail), count: emails.length }, 200)
  })

  app.openapi(stepsRoute, async (c) => {
    const { workspaceId } = c.var
    const { id } = await find(workspaceId, c.req.valid('param').id)
    const scope = { list: 'execution-steps', workspaceId, filter: { id } }
    const after = cursors.open<number>(scope, c.req.valid('query').cursor) ?? 0
    const found = await listSteps(db, id, { after, limit: limits.pageSize + 1 })
    const { rows, cursor } = cursors.page(scope, found, ({ seq }) => seq)
    return c.json({ steps: rows.map(toExecutionStep), count: rows.length, cursor }, 200)
  })

  app.openapi(cancelRoute, async (c) => {
    const { id } = c.req.valid('param')
    const { reason = null } = c.req.valid('json') ?? {}
    if (!isId('execution', id)) throw executionNotFound()
    const row = await cancelExecution(deps, c.var.workspaceId, id, reason)
    return c.json(toExecution(row, undefined), 200)
  })

  return app
}
