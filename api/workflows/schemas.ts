// Workflows as the API takes and shows them.
import { z } from '@hono/zod-openapi'
import type { NewWorkflow as New } from '../../commands/workflows/create.ts'
import type { WorkflowChange as Change } from '../../commands/workflows/update.ts'
import type { WorkflowRow } from '../../db/workflows/reads.ts'
import { isJsonObject, type JsonObject } from '../../rules/json.ts'
import { limits } from '../../rules/limits.ts'
import { workflowStatuses } from '../../rules/states.ts'
import { PageQuery } from '../http/fields.ts'
import { designField, storedDesign } from './designSchema.ts'

const workflowStatus = z.enum(workflowStatuses)

const nameField = z
  .string()
  .min(1)
  .max(limits.workflowNameCharsMax)
  .regex(/^[A-Za-z0-9 _-]+$/, 'only letters, digits, spaces, hyphens and underscores are allowed')

export const WorkflowsQuery = PageQuery.extend({ status: workflowStatus.optional() })

export const NewWorkflow = z
  .object({
    name: nameField,
    design: designField.optional(),
    status: workflowStatus.optional().openapi({ description: '`draft` when it is left out' }),
  })
  .openapi('NewWorkflow') satisfies z.ZodType<New>

export const WorkflowChange = z
  .object({
    name: nameField.optional(),
    status: workflowStatus.optional(),
    design: designField.optional(),
    expected_version: z.int().min(1).optional().openapi({
      description: 'Fails with 409 when `current_version` is another one',
    }),
  })
  .refine(({ name, status, design }) => [name, status, design].some((v) => v !== undefined), {
    message: 'One of name, status and design is required',
  })
  .openapi('WorkflowChange') satisfies z.ZodType<Change>

export const DesignToCheck = z
  .object({ design: designField.optional() })
  .openapi('DesignToCheck', { description: 'Without a design: the current one is checked' })

const fields = {
  workflow_id: z.string(),
  workspace_id: z.string(),
  name: z.string(),
  status: workflowStatus,
}

const marks = {
  created: z.int(),
  updated: z.int(),
  created_by: z.string(),
  created_by_type: z.enum(['user', 'apiKey']),
}

const versions = { current_version: z.int(), active_version: z.int() }

export const WorkflowListItem = z
  .object({
    ...fields,
    data: z.string().openapi({ description: 'Storage path of the design' }),
    ...marks,
  })
  .openapi('WorkflowListItem')
export type WorkflowListItem = z.infer<typeof WorkflowListItem>

export const WorkflowUpdated = z
  .object({ ...fields, ...marks, ...versions })
  .openapi('WorkflowUpdated')
export type WorkflowUpdated = z.infer<typeof WorkflowUpdated>

export const Workflow = WorkflowListItem.extend({
  design: storedDesign,
  settings: z.record(z.string(), z.unknown()),
  ...versions,
}).openapi('Workflow')
export type Workflow = z.infer<typeof Workflow>

export const WorkflowList = z
  .object({ workflows: z.array(WorkflowListItem), count: z.int(), cursor: z.string().nullable() })
  .openapi('WorkflowList')

const Problem = z
  .object({
    node_id: z.string().nullable(),
    path: z.string(),
    message: z.string(),
    code: z.string(),
  })
  .openapi('DesignProblem')

export const DesignChecked = z
  .object({ valid: z.boolean(), problems: z.array(Problem) })
  .openapi('DesignChecked')

/** Where the design of a version is kept: the path at which the API gives it out, without `/v1`. */
const designPath = (row: WorkflowRow, version: number): string =>
  `workspaces/${row.workspace_id}/workflows/${row.id}/versions/${version}`

const toFields = (row: WorkflowRow) => ({
  workflow_id: row.id,
  workspace_id: row.workspace_id,
  name: row.name,
  status: row.status,
})

const toMarks = (row: WorkflowRow) => ({
  created: row.created_at.getTime(),
  updated: row.updated_at.getTime(),
  created_by: row.created_by,
  created_by_type: row.created_by_type,
})

export const toWorkflowListItem = (row: WorkflowRow): WorkflowListItem => ({
  ...toFields(row),
  data: designPath(row, row.current_version),
  ...toMarks(row),
})

export const toWorkflowUpdated = (row: WorkflowRow): WorkflowUpdated => ({
  ...toFields(row),
  ...toMarks(row),
  current_version: row.current_version,
  active_version: row.active_version,
})

export const toWorkflow = (row: WorkflowRow & { design: object }): Workflow => {
  const design = row.design as JsonObject
  const { settings } = design
  return {
    ...toWorkflowListItem(row),
    design,
    settings: isJsonObject(settings) ? settings : {},
    current_version: row.current_version,
    active_version: row.active_version,
  }
}
