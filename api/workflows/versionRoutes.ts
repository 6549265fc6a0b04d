// The immutable versions of a workflow: list, get, restore.

import { createRoute, z } from '@hono/zod-openapi'
import { changeWorkflow } from '../../commands/workflows/save.ts'
import {
  findWorkflow,
  findWorkflowVersion,
  listWorkflowVersions,
} from '../../db/workflows/reads.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { isId } from '../../rules/ids.ts'
import type { JsonObject } from '../../rules/json.ts'
import { limits } from '../../rules/limits.ts'
import type { ApiDeps } from '../http/env.ts'
import { notFound } from '../http/errors.ts'
import { PageQuery } from '../http/fields.ts'
import { createRoutes, errorResponses, jsonBody } from '../http/openapi.ts'
import { toWorkflowUpdated, WorkflowUpdated } from './schemas.ts'
import {
  toWorkflowVersion,
  toWorkflowVersionListItem,
  WorkflowVersion,
  WorkflowVersionList,
} from './versionSchemas.ts'

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

  const requireWorkflow = async (workspaceId: WorkspaceId, id: string) => {
    const known = isId('workflow', id) && (await findWorkflow(db, workspaceId, id))
    if (!known) throw notFound(`Workflow ${id} not found`)
  }

  const findVersion = async (workspaceId: WorkspaceId, { id, n }: { id: string; n: string }) => {
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
