// Schemas of jobs.
import { z } from '@hono/zod-openapi'
import type { JobRow } from '../../db/jobs/reads.ts'
import { jobKinds, jobStatuses } from '../../rules/jobs.ts'
import { PageQuery, pageFields } from '../http/fields.ts'

export const Job = z
  .object({
    id: z.string(),
    kind: z
      .enum(jobKinds)
      .openapi({ description: 'What it does. Today `replay` and `erasure` are made' }),
    status: z.enum(jobStatuses).openapi({
      description:
        '`queued`: it is about to begin, or to go on. `paused` until it is resumed. The last three are ends',
    }),
    progress: z.object({
      done: z.int().openapi({ description: 'How much is done, in the unit of its work' }),
      total: z
        .int()
        .nullable()
        .openapi({ description: 'null: it is not known yet, or too much to be counted' }),
    }),
    counts: z.record(z.string(), z.int()).openapi({ description: 'What was done, by kind' }),
    result: z.record(z.string(), z.unknown()).nullable(),
    error: z.string().nullable().openapi({ description: 'Why it `failed`, else null' }),
    created: z.int(),
    updated: z.int(),
    completed_at: z.int().nullable().openapi({ description: 'When it ended, in whatever way' }),
  })
  .openapi('Job')
export type Job = z.infer<typeof Job>

export const JobList = z.object({ jobs: z.array(Job), ...pageFields }).openapi('JobList')

export const JobsQuery = PageQuery.extend({
  kind: z.enum(jobKinds).optional().openapi({ description: 'Only jobs of this kind' }),
})

export const toJob = (row: JobRow): Job => ({
  id: row.id,
  kind: row.kind,
  status: row.status,
  progress: { done: row.done, total: row.total },
  counts: row.counts,
  result: row.result,
  error: row.error,
  created: row.created_at.getTime(),
  updated: row.updated_at.getTime(),
  completed_at: row.completed_at?.getTime() ?? null,
})
