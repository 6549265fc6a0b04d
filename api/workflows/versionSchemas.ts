// Schemas of the immutable versions of a workflow.
import { z } from '@hono/zod-openapi'
import type { WorkflowVersionListRow, WorkflowVersionRow } from '../../db/workflows/reads.ts'
import type { JsonObject } from '../../rules/json.ts'
import { pageFields } from '../http/fields.ts'
import { storedDesign } from './designSchema.ts'

export const WorkflowVersionListItem = z
  .object({
    workflow_id: z.string(),
    version: z.int().openapi({ description: 'From 1' }),
    created: z.int(),
    created_by: z.string().openapi({
      description: 'Who wrote it: the id of the API key, or the address of the user',
    }),
  })
  .openapi('WorkflowVersionListItem')
export type WorkflowVersionListItem = z.infer<typeof WorkflowVersionListItem>

export const WorkflowVersion = WorkflowVersionListItem.extend({
  design: storedDesign,
}).openapi('WorkflowVersion')
export type WorkflowVersion = z.infer<typeof WorkflowVersion>

export const WorkflowVersionList = z
  .object({
    versions: z.array(WorkflowVersionListItem),
    ...pageFields,
  })
  .openapi('WorkflowVersionList')

export const toWorkflowVersionListItem = (
  row: WorkflowVersionListRow,
): WorkflowVersionListItem => ({
  workflow_id: row.workflow_id,
  version: row.version,
  created: row.created_at.getTime(),
  created_by: row.created_by,
})

export const toWorkflowVersion = (row: WorkflowVersionRow): WorkflowVersion => ({
  ...toWorkflowVersionListItem(row),
  design: row.design as JsonObject,
})
