// Jobs: what takes longer than an answer. How far each is, what has failed of it, and whether it goes on.
import { z } from '@hono/zod-openapi'
import { moveJob } from '../../commands/jobs/move.ts'
import { findJob, listJobFailures, listJobs } from '../../db/jobs/reads.ts'
import { isId } from '../../rules/ids.ts'
import type { JobMove, jobMoves } from '../../rules/jobs.ts'
import type { Reach } from '../../rules/reach.ts'
import { refuse } from '../../rules/refusals.ts'
import type { ApiDeps } from '../http/env.ts'
import { createRoutes, jsonBody } from '../http/openapi.ts'
import { defineOperation } from '../http/operation.ts'
import { readPage } from '../http/page.ts'
import { orThrow } from '../http/refusals.ts'
import { jobExamples } from './examples.ts'
import { Job, JobList, JobsQuery, toJob } from './schemas.ts'

const tags = ['Jobs']
const params = z.object({ id: z.string().openapi({ description: 'The id of the job' }) })

const listRoute = defineOperation({
  method: 'get',
  path: '/',
  permission: 'read',
  bound: 'own',
  errors: 'message',
  tags,
  operationId: 'listJobs',
  summary: 'List jobs',
  description:
    'The jobs of the workspace, newest first. A key for one domain sees those of such keys.',
  example: jobExamples.list,
  request: { query: JobsQuery },
  responses: { 200: jsonBody(JobList, 'Jobs, newest first') },
})

const getRoute = defineOperation({
  method: 'get',
  path: '/{id}',
  permission: 'read',
  bound: 'own',
  errors: 'message',
  tags,
  operationId: 'getJob',
  summary: 'Get a job',
  description: 'How far it is. It survives the end of every process, and does no part twice.',
  codes: ['not_found'],
  example: jobExamples.get,
  request: { params },
  responses: { 200: jsonBody(Job, 'The job') },
})

const moving = <M extends JobMove>(move: M, summary: string, description: string) =>
  defineOperation({
    method: 'post',
    path: `/{id}/${move}` as const,
    permission: 'manage',
    bound: 'own',
    errors: 'message',
    tags,
    operationId: `${move}Job`,
    summary,
    description,
    codes: ['not_found', 'job_not_running'],
    example: jobExamples[move],
    request: { params },
    responses: { 200: jsonBody(Job, 'The job') },
  })

const pauseRoute = moving(
  'pause',
  'Pause a job',
  'What was done stays. `/resume` lets it go on there.',
)
const resumeRoute = moving(
  'resume',
  'Resume a job',
  'A paused job goes on where it was; so does an erasure that has failed.',
)
const cancelRoute = moving(
  'cancel',
  'Cancel a job',
  'It ends. What was done stays done. An erasure cannot be cancelled.',
)

const failuresRoute = defineOperation({
  method: 'get',
  path: '/{id}/failures',
  permission: 'read',
  bound: 'own',
  errors: 'message',
  tags,
  operationId: 'getJobFailures',
  summary: 'Download the failures of a job',
  description: 'What was not done, as CSV with a header: `line` and `error`.',
  codes: ['not_found'],
  example: jobExamples.failures,
  request: { params },
  responses: {
    200: {
      description: 'CSV, in the order of lines',
      content: { 'text/csv': { schema: z.string() } },
    },
  },
})

/** Lines of one page of failures. */
const FAILURES = 1_000

export function jobRoutes(deps: ApiDeps) {
  const { db, cursors } = deps
  const app = createRoutes()

  const read = async (reach: Reach, id: string) => {
    const row = isId('job', id) ? await findJob(db, reach, id) : undefined
    return orThrow(row ?? refuse('job_not_found', { id }))
  }

  app.openapi(listRoute, async (c) => {
    const { workspaceId, reach } = c.var
    const { kind, cursor } = c.req.valid('query')
    const page = await readPage({
      key: 'jobs',
      cursors: cursors.of<string>({ list: 'jobs', workspaceId, filter: { kind } }),
      cursor,
      find: (page) => listJobs(db, reach, kind ?? null, page),
      positionOf: ({ id }) => id,
      toItem: toJob,
    })
    return c.json(page, 200)
  })

  app.openapi(getRoute, async (c) =>
    c.json(toJob(await read(c.var.reach, c.req.valid('param').id)), 200),
  )

  for (const [move, route] of [
    ['pause', pauseRoute],
    ['resume', resumeRoute],
    ['cancel', cancelRoute],
  ] as const satisfies [keyof typeof jobMoves, unknown][]) {
    app.openapi(route, async (c) => {
      const { id } = c.req.valid('param')
      return c.json(toJob(orThrow(await moveJob(deps, c.var.reach, { id, move }))), 200)
    })
  }

  app.openapi(failuresRoute, async (c) => {
    const { id } = await read(c.var.reach, c.req.valid('param').id)
    const lines = ['line,error']
    for (let after = 0; ; ) {
      const page = await listJobFailures(db, c.var.reach, id, { after, limit: FAILURES })
      for (const { line, error } of page) lines.push(`${line},"${error.replaceAll('"', '""')}"`)
      const last = page.at(-1)
      if (page.length < FAILURES || !last) break
      after = last.line
    }
    return c.body(`${lines.join('\r\n')}\r\n`, 200, { 'content-type': 'text/csv; charset=utf-8' })
  })

  return app
}
