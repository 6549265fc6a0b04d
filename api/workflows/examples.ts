// The examples of the operations on workflows: Acme makes its welcome series, changes it, and gives it up.
import type { z } from '@hono/zod-openapi'
import { exampleIds, exampleTime } from '../http/exampleIds.ts'
import type { OperationExample } from '../http/operation.ts'
import { faultyDesign, oneMail, welcomeSeries } from './exampleDesigns.ts'
import type {
  DesignChecked,
  Workflow,
  WorkflowList,
  WorkflowListItem,
  WorkflowUpdated,
} from './schemas.ts'

const params = { id: exampleIds.workflow }
const NEXT_DAY = exampleTime + 86_400_000

const series = {
  workflow_id: exampleIds.workflow,
  workspace_id: exampleIds.workspace,
  name: 'Welcome series',
  status: 'active',
  data: `workspaces/${exampleIds.workspace}/workflows/${exampleIds.workflow}/versions/1`,
  created: exampleTime,
  updated: exampleTime,
  created_by: exampleIds.apiKey,
  created_by_type: 'apiKey',
} as const satisfies WorkflowListItem

const whole = {
  ...series,
  design: welcomeSeries,
  settings: welcomeSeries.settings,
  current_version: 1,
  active_version: 1,
} satisfies Workflow

const { data, ...unstored } = series

export const workflowExamples = {
  list: {
    query: { status: 'active' },
    answer: { workflows: [series], count: 1, cursor: null } satisfies z.infer<typeof WorkflowList>,
  },
  create: {
    body: { name: 'Welcome series', status: 'active', design: welcomeSeries },
    answer: whole,
  },
  get: { params, answer: whole },
  change: {
    params,
    body: { design: oneMail, expected_version: 1 },
    answer: {
      ...unstored,
      updated: NEXT_DAY,
      current_version: 2,
      active_version: 2,
    } satisfies WorkflowUpdated,
  },
  archive: { params },
  validate: {
    params,
    body: { design: faultyDesign },
    answer: {
      valid: false,
      problems: [
        {
          node_id: 'first_order',
          path: 'nodes.1.data.timeout',
          message: 'timeout must be an ISO 8601 duration such as PT30M, P3D or P1M, not "3 days"',
          code: 'bad_duration',
        },
        {
          node_id: 'first_order',
          path: 'nodes.1',
          message: 'no edge leaves by the handle "timeout", which must lead somewhere',
          code: 'unwired_handle',
        },
      ],
    } satisfies z.infer<typeof DesignChecked>,
  },
  duplicate: {
    params,
    answer: {
      ...whole,
      workflow_id: exampleIds.workflowCopy,
      name: 'Welcome series copy',
      status: 'draft',
      data: `workspaces/${exampleIds.workspace}/workflows/${exampleIds.workflowCopy}/versions/1`,
      created: exampleTime + 60_000,
      updated: exampleTime + 60_000,
      active_version: 0,
    } satisfies Workflow,
  },
} satisfies Record<string, OperationExample>
