// Starts the workflow functions of jobs that are to be carried on: new ones, resumed ones, and those that Temporal has lost.
import type { Client } from '@temporalio/client'
import type { Db } from '../db/connect.ts'
import { listLiveJobs } from '../db/jobs/reads.ts'
import { workflowTypes } from '../rules/wire.ts'
import type { Log } from '../runtime/log.ts'
import type { RunJobInput } from '../workflows/messages.ts'
import { keepStarted } from './keepStarted.ts'

/** A look is one step into an index while there is no job. @returns `stop` ends it */
export const startJobs = ({ db, client, log }: { db: Db; client: Client; log: Log }) =>
  keepStarted({
    client,
    log,
    list: (max) => listLiveJobs(db, max),
    max: 1_000,
    run: ({ id: jobId, workspace_id: workspaceId }) => ({
      type: workflowTypes.runJob,
      workflowId: jobId,
      input: { jobId, workspaceId } satisfies RunJobInput,
    }),
    failed: 'jobs were not started; tried again',
  })
