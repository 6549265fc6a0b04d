// The immutable versions of a workflow: list, get, restore.
import { createRoute, z } from '@hono/zod-openapi'
import { findWorkflow, findWorkflowVersion, listWorkflowVersions } from '../../db/workflows.ts'
import { isId } from '../../domain/ids.ts'
import type { JsonObject } from '../../domain/json.ts'
import { limits } from '../../domain/limits.ts'
import { changeWorkflow } from '../commands/saveWorkflow.ts'
import type { ApiDeps } from '../deps.ts'
import { notFound } from '../errors.ts'
import { createRoutes, errorResponses, jsonBody } from '../openapi.ts'
import { PageQuery } from '../schemas/fields.ts'
import { toWorkflowUpdated, WorkflowUpdated } from '../schemas/workflows.ts'
import {
  toWorkflowVersion,
  toWorkflowVersionListItem,
  WorkflowVersion,
  WorkflowVersionList,
} from '../schemas/workflowVersions.ts'

const tags = ['Workflows']
const params = z.object({ id: z.string() })
const versionParams = params.extend({ n: z.string().openapi({ example: '1' }) })

const listRoute = createRoute({
  method: 'get',
  path: '/{id}/versions',
  tags,
  request: { params, query: PageQuery },
  responses: {
    200: jsonBody(WorkflowVersionList, 'Versions without their designs, newest first'),
    ...errorResponses(400, 404),
  },
})

const getRoute = createRoute({
  method: 'get',
  path: '/{id}/versions/{n}',
  tags,
  request: { params: versionParams },
  responses: {
    200: jsonBody(WorkflowVersion, 'The version with its design'),
    ...errorResponses(404),
  },
})

const restoreRoute = createRoute({
  method: 'post',
  path: '/{id}/versions/{n}/restore',
  tags,
  request: { params: versionParams },
  responses: {
    200: jsonBody(WorkflowUpdated, 'Its design is the current one again, as a new version'),
    ...errorResponses(400, 404),
  },
})

export function workflowVersionRoutes(deps: ApiDeps) {
  const { db, cursors } = deps
  const app = createRoutes()

  const requireWorkflow = async (workspaceId: string, id: string) => {
    const known = isId('workflow', id) && (await findWorkflow(db, workspaceId, id))
    if (!known) throw notFound(`Workflow ${id} not found`)
  }

  const findVersion = async (workspaceId: string, { id, n }: { id: string; n: string }) => {
    await requireWorkflow(workspaceId, id)
    const isNumber = /^[1-9]\d{0,8}$/.test(n)
    const row = isNumber ? await findWorkflowVersion(db, workspaceId, id, Number(n)) : undefined
    if (!row) throw notFound(`Workflow ${id} has no version ${n}`)
    return row
  }

  app.openapi(listRoute, async (c) => {
    const { workspaceId } = c.var
    const { id } = c.req.valid('param')
    await requireWorkflow(workspaceId, id)
    const scope = { list: 'workflow-versions', workspaceId, filter: { id } }
    const before = cursors.open<number>(scope, c.req.valid('query').cursor)
    const page = { before, limit: limits.pageSize + 1 }
    const found = await listWorkflowVersions(db, workspaceId, id, page)
    const { rows, cursor } = cursors.page(scope, found, ({ version }) => version)
    return c.json(
      { versions: rows.map(toWorkflowVersionListItem), count: rows.length, cursor },
      200,
    )
  })

  app.openapi(getRoute, async (c) => {
    const row = await findVersion(c.var.workspaceId, c.req.valid('param'))
    return c.json(toWorkflowVersion(row), 200)
  })

  app.openapi(restoreRoute, async (c) => {
    const { id } = c.req.valid('param')
    const { design } = await findVersion(c.var.workspaceId, c.req.valid('param'))
    const changed = await changeWorkflow(deps, c.var.key, id, { design: design as JsonObject })
    if (!changed) throw notFound(`Workflow ${id} not found`)
    return c.json(toWorkflowUpdated(changed), 200)
  })

  return app
}
