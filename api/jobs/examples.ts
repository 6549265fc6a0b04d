// The examples of the operations on jobs: Acme has a day of events sent again.
import type { z } from '@hono/zod-openapi'
import { exampleIds, exampleTime } from '../http/exampleIds.ts'
import type { OperationExample } from '../http/operation.ts'
import type { Job, JobList } from './schemas.ts'

const params = { id: exampleIds.job }

/** As it is when it was made. */
export const queuedJob = {
  id: exampleIds.job,
  kind: 'replay',
  status: 'queued',
  progress: { done: 0, total: null },
  counts: {},
  result: null,
  error: null,
  created: exampleTime,
  updated: exampleTime,
  completed_at: null,
} satisfies Job

const paused = { ...queuedJob, status: 'paused' } satisfies Job

export const jobExamples = {
  list: {
    query: { kind: 'replay' },
    answer: { jobs: [paused], count: 1, cursor: null } satisfies z.infer<typeof JobList>,
  },
  get: { params, answer: paused },
  pause: { params, answer: paused },
  resume: { params, answer: queuedJob },
  cancel: {
    params,
    answer: { ...paused, status: 'cancelled', completed_at: exampleTime + 1_000 } satisfies Job,
  },
  failures: { params },
} satisfies Record<string, OperationExample>
