// The examples of the operations on versions: Acme looks at the first version of its series, and returns to it.
import type { z } from '@hono/zod-openapi'
import { exampleIds, exampleTime } from '../http/exampleIds.ts'
import type { OperationExample } from '../http/operation.ts'
import { welcomeSeries } from './exampleDesigns.ts'
import { workflowExamples } from './examples.ts'
import type { WorkflowUpdated } from './schemas.ts'
import type {
  WorkflowVersion,
  WorkflowVersionList,
  WorkflowVersionListItem,
} from './versionSchemas.ts'

const NEXT_DAY = exampleTime + 86_400_000

const first = {
  workflow_id: exampleIds.workflow,
  version: 1,
  created: exampleTime,
  created_by: exampleIds.apiKey,
} satisfies WorkflowVersionListItem

const params = { id: exampleIds.workflow, n: '1' }

export const versionExamples = {
  list: {
    params: { id: exampleIds.workflow },
    answer: {
      versions: [{ ...first, version: 2, created: NEXT_DAY }, first],
      count: 2,
      cursor: null,
    } satisfies z.infer<typeof WorkflowVersionList>,
  },
  get: { params, answer: { ...first, design: welcomeSeries } satisfies WorkflowVersion },
  restore: {
    params,
    answer: {
      ...workflowExamples.change.answer,
      current_version: 3,
      active_version: 3,
    } satisfies WorkflowUpdated,
  },
} satisfies Record<string, OperationExample>
