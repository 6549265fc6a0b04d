// Writes jobs: makes them, moves them on page by page, and between their states.
import { sql, type Updateable } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { JobStatus } from '../../rules/jobs.ts'
import type { Reach } from '../../rules/reach.ts'
import type { Trx } from '../connect.ts'
import type { Database, NewRow } from '../schema.ts'
import type { JobRow } from './reads.ts'

export async function insertJob(
  trx: Trx,
  workspaceId: WorkspaceId,
  row: Omit<NewRow<'jobs'>, 'workspace_id'>,
): Promise<void> {
  await trx
    .insertInto('jobs')
    .values({ ...row, workspace_id: workspaceId })
    .execute()
}

/** Locks a job, so that one page at a time is done and no state changes meanwhile. It knows only its id. */
export function lockJob(trx: Trx, id: string): Promise<JobRow | undefined> {
  return trx.selectFrom('jobs').selectAll().where('id', '=', id).forUpdate().executeTakeFirst()
}

/** Changes a job that the caller has locked. */
export async function updateJob(
  trx: Trx,
  workspaceId: WorkspaceId,
  id: string,
  columns: Updateable<Database['jobs']>,
): Promise<void> {
  await trx
    .updateTable('jobs')
    .set(columns)
    .where('workspace_id', '=', workspaceId)
    .where('id', '=', id)
    .execute()
}

/** Of a job that goes on, also after it has failed. */
const begunAnew = { refusals: 0, error: null, completed_at: null } as const

/** Moves a job from one of some states into another. @returns the job as it is then; undefined if it was in none of them */
export function moveJob(
  trx: Trx,
  { workspaceId, domainId }: Reach,
  id: string,
  { from, to }: { from: readonly JobStatus[]; to: JobStatus },
  now: Date,
): Promise<JobRow | undefined> {
  return trx
    .updateTable('jobs')
    .set({
      status: to,
      updated_at: now,
      ...(to === 'cancelled' ? { completed_at: now } : {}),
      ...(to === 'queued' ? begunAnew : {}),
    })
    .where('workspace_id', '=', workspaceId)
    .$if(domainId !== null, (qb) => qb.where('domain_id', '=', domainId))
    .where('id', '=', id)
    .where('status', 'in', [...from])
    .returningAll()
    .executeTakeFirst()
}

/** Writes lines that were not done. */
export async function insertJobFailures(
  trx: Trx,
  _workspaceId: WorkspaceId,
  jobId: string,
  failures: readonly { line: number; error: string }[],
): Promise<void> {
  if (failures.length === 0) return
  await trx
    .insertInto('job_failures')
    .values(failures.map((one) => ({ ...one, job_id: jobId })))
    .onConflict((on) => on.columns(['job_id', 'line']).doNothing())
    .execute()
}

/** Lets erasures of an address that have failed go on. @returns their ids */
export async function resumeErasures(
  trx: Trx,
  workspaceId: WorkspaceId,
  hmac: Buffer,
  now: Date,
): Promise<string[]> {
  const rows = await trx
    .updateTable('jobs')
    .set({ status: 'queued', updated_at: now, ...begunAnew })
    .where('workspace_id', '=', workspaceId)
    .where('kind', '=', 'erasure')
    .where('status', '=', 'failed')
    .where(sql<string>`input->>'hmac'`, '=', hmac.toString('hex'))
    .returning('id')
    .execute()
  return rows.map(({ id }) => id)
}
