// Schemas of workflows.
import { z } from '@hono/zod-openapi'
import type { NewWorkflow as New } from '../../commands/workflows/create.ts'
import type { WorkflowChange as Change } from '../../commands/workflows/update.ts'
import type { WorkflowRow } from '../../db/workflows/reads.ts'
import { isJsonObject, type JsonObject } from '../../rules/json.ts'
import { limits } from '../../rules/limits.ts'
import { workflowStatuses } from '../../rules/states.ts'
import { heldActions } from '../../rules/wire.ts'
import { DesignProblem } from '../http/designProblem.ts'
import { oneIsGiven, PageQuery, pageFields } from '../http/fields.ts'
import { designField, storedDesign } from './designSchema.ts'

const workflowStatus = z.enum(workflowStatuses).openapi({
  description:
    'Only an `active` workflow starts executions. `draft` and `paused` start none; those that run go on, unless its design ' +
    'says `on_pause: hold`',
})

const nameField = z
  .string()
  .min(1)
  .max(limits.workflowNameCharsMax)
  .regex(/^[A-Za-z0-9 _-]+$/, 'must be letters, digits, spaces, hyphens and underscores')
  .openapi({
    description:
      'Letters, digits, spaces, hyphens and underscores. Two workflows may have the same name',
  })

export const WorkflowsQuery = PageQuery.extend({
  status: z
    .enum(workflowStatuses)
    .optional()
    .openapi({ description: 'Only workflows with this status' }),
})

export const NewWorkflow = z
  .object({
    name: nameField,
    design: designField.optional(),
    status: workflowStatus.optional().openapi({
      description: '`draft` when it is left out. `active` needs a design without problems',
    }),
  })
  .openapi('NewWorkflow') satisfies z.ZodType<New>

export const WorkflowChange = z
  .object({
    name: nameField.optional(),
    status: workflowStatus.optional(),
    design: designField.optional(),
    held: z
      .enum(heldActions)
      .optional()
      .openapi({
        description:
          'With the status `active`: what becomes of executions that the workflow holds (`settings.on_pause`). `release` lets ' +
          'them go on, oldest first; `cancel` ends them, CANCELLED with the reason `held`. `release` when it is left out',
      }),
    expected_version: z
      .int()
      .min(1)
      .optional()
      .openapi({
        description:
          'The `current_version` that you have read. When it is another one by now, nothing changes and the answer ' +
          'is a 409 `version_conflict`',
      }),
  })
  .refine(...oneIsGiven('name', 'status', 'design'))
  .refine(({ held, status }) => held === undefined || status === 'active', {
    path: ['held'],
    message: 'goes with the status active alone',
  })
  .openapi('WorkflowChange') satisfies z.ZodType<Change>

export const DesignToCheck = z
  .object({ design: designField.optional() })
  .openapi('DesignToCheck', { description: 'Without a design, the current one is checked' })

const fields = {
  workflow_id: z.string(),
  workspace_id: z.string(),
  name: z.string(),
  status: workflowStatus,
}

const marks = {
  created: z.int(),
  updated: z.int().openapi({ description: 'When its name, status or design changed last' }),
  created_by: z.string().openapi({
    description: 'Who made it: the id of the API key, or the address of the user',
  }),
  created_by_type: z.enum(['user', 'apiKey']),
}

const versions = {
  current_version: z.int().openapi({ description: 'The newest version of its design, from 1' }),
  active_version: z.int().openapi({
    description: 'The version that new executions run; 0 when it was never active',
  }),
}

export const WorkflowListItem = z
  .object({
    ...fields,
    data: z.string().openapi({
      description: 'Where the design is stored; `GET /v1/workflows/{id}` gives the design itself',
    }),
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
  settings: z.record(z.string(), z.unknown()).openapi({
    description: 'The `settings` of the design, `{}` when it has none',
  }),
  ...versions,
}).openapi('Workflow')
export type Workflow = z.infer<typeof Workflow>

export const WorkflowList = z
  .object({ workflows: z.array(WorkflowListItem), ...pageFields })
  .openapi('WorkflowList')

export const DesignChecked = z
  .object({
    valid: z.boolean().openapi({ description: 'Whether a workflow with it can become active' }),
    problems: z.array(DesignProblem).openapi({ description: 'All of them at once' }),
  })
  .openapi('DesignChecked')

/** The path at which the API returns the design of a version, without `/v1`. */
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
