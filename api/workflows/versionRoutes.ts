// The immutable versions of a workflow: list, get, restore.

import { z } from '@hono/zod-openapi'
import { restoreWorkflow, versionNumber } from '../../commands/workflows/restore.ts'
import {
  findWorkflow,
  findWorkflowVersion,
  listWorkflowVersions,
} from '../../db/workflows/reads.ts'
import { isId, type WorkspaceId } from '../../rules/ids.ts'
import { refuse } from '../../rules/refusals.ts'
import type { ApiDeps } from '../http/env.ts'
import { PageQuery } from '../http/fields.ts'
import { createRoutes, jsonBody } from '../http/openapi.ts'
import { defineOperation } from '../http/operation.ts'
import { readPage } from '../http/page.ts'
import { orThrow } from '../http/refusals.ts'
import { toWorkflowUpdated, WorkflowUpdated } from './schemas.ts'
import { versionExamples } from './versionExamples.ts'
import {
  toWorkflowVersion,
  toWorkflowVersionListItem,
  WorkflowVersion,
  WorkflowVersionList,
} from './versionSchemas.ts'

const tags = ['Workflows']
const params = z.object({ id: z.string().openapi({ description: 'The id of the workflow' }) })
const versionParams = params.extend({
  n: z.string().openapi({ description: 'The number of the version, from 1' }),
})

const listRoute = defineOperation({
  method: 'get',
  path: '/{id}/versions',
  permission: 'read',
  bound: 'same',
  errors: 'error',
  tags,
  operationId: 'listWorkflowVersions',
  summary: "List a workflow's versions",
  description:
    'All versions of the design, newest first, without the designs. A version never changes.',
  codes: ['not_found'],
  example: versionExamples.list,
  request: { params, query: PageQuery },
  responses: {
    200: jsonBody(WorkflowVersionList, 'Versions without their designs, newest first'),
  },
})

const getRoute = defineOperation({
  method: 'get',
  path: '/{id}/versions/{n}',
  permission: 'read',
  bound: 'same',
  errors: 'error',
  tags,
  operationId: 'getWorkflowVersion',
  summary: 'Get a version',
  description:
    'One version with its design: for example the one that an execution names in `version_used`.',
  codes: ['not_found'],
  example: versionExamples.get,
  request: { params: versionParams },
  responses: {
    200: jsonBody(WorkflowVersion, 'The version with its design'),
  },
})

const restoreRoute = defineOperation({
  method: 'post',
  path: '/{id}/versions/{n}/restore',
  permission: 'manage',
  bound: 'sender',
  errors: 'error',
  tags,
  operationId: 'restoreWorkflowVersion',
  summary: 'Restore a version',
  description:
    'Makes the design of that version the current one, as a new version with the next number. When it is the ' +
    'same as the current design, nothing changes. In an active workflow the design must have no problems ' +
    'today; new executions run it at once.',
  codes: ['not_found', 'invalid_design'],
  example: versionExamples.restore,
  request: { params: versionParams },
  responses: {
    200: jsonBody(WorkflowUpdated, 'Its design is the current one again, as a new version'),
  },
})

export function workflowVersionRoutes(deps: ApiDeps) {
  const { db, cursors } = deps
  const app = createRoutes()

  const requireWorkflow = async (workspaceId: WorkspaceId, id: string) => {
    const known = isId('workflow', id) && (await findWorkflow(db, workspaceId, id))
    orThrow(known || refuse('workflow_not_found', { id }))
  }

  app.openapi(listRoute, async (c) => {
    const { workspaceId } = c.var
    const { id } = c.req.valid('param')
    await requireWorkflow(workspaceId, id)
    const page = await readPage({
      key: 'versions',
      cursors: cursors.of<number>({ list: 'workflow-versions', workspaceId, filter: { id } }),
      cursor: c.req.valid('query').cursor,
      find: (page) => listWorkflowVersions(db, workspaceId, id, page),
      positionOf: ({ version }) => version,
      toItem: toWorkflowVersionListItem,
    })
    return c.json(page, 200)
  })

  app.openapi(getRoute, async (c) => {
    const { workspaceId } = c.var
    const { id, n: version } = c.req.valid('param')
    await requireWorkflow(workspaceId, id)
    const number = versionNumber(version)
    const found =
      number === undefined ? undefined : await findWorkflowVersion(db, workspaceId, id, number)
    const row = orThrow(found ?? refuse('workflow_version_not_found', { id, version }))
    return c.json(toWorkflowVersion(row), 200)
  })

  app.openapi(restoreRoute, async (c) => {
    const { key, reach } = c.var
    const { id, n: version } = c.req.valid('param')
    const input = { id, version, changedBy: key.id }
    return c.json(toWorkflowUpdated(orThrow(await restoreWorkflow(deps, reach, input))), 200)
  })

  return app
}
