// Pauses, resumes or cancels a job. A page that is under way is finished before.
import { findJob, type JobRow } from '../../db/jobs/reads.ts'
import { moveJob as moveRow } from '../../db/jobs/writes.ts'
import { isId } from '../../rules/ids.ts'
import { type JobMove, movesOf } from '../../rules/jobs.ts'
import type { Reach } from '../../rules/reach.ts'
import { type Refusal, refuse } from '../../rules/refusals.ts'
import type { CommandDeps } from '../deps.ts'
import { transact } from '../transact.ts'

/** What was done stays. A resumed job goes on where it was. */
export function moveJob(
  deps: Pick<CommandDeps, 'db' | 'now' | 'wake'>,
  reach: Reach,
  { id, move }: { id: string; move: JobMove },
): Promise<JobRow | Refusal<'job_not_found' | 'job_not_running'>> {
  return transact(deps, async ({ db, now }) => {
    if (!isId('job', id)) return refuse('job_not_found', { id })
    const job = await findJob(db, reach, id)
    if (!job) return refuse('job_not_found', { id })
    const ways = movesOf(job.kind, move)
    const moved = ways.from.length > 0 && (await moveRow(db, reach, id, ways, now()))
    if (moved) return moved
    const { status } = (await findJob(db, reach, id)) ?? job
    return refuse('job_not_running', { status, move })
  })
}
