// Does the next page of a job, in one commit that also moves the job on.
import { insertJobFailures, lockJob, updateJob } from '../../db/jobs/writes.ts'
import type { CommandDeps } from '../deps.ts'
import { transact } from '../transact.ts'
import { pageOf } from './pages.ts'

/**
 * One that is asked for twice waits for the first, and goes on after it: no page is done twice. A job that is paused, cancelled or over is left as it is.
 * @returns whether there is more to do
 */
export function runJobPage(
  deps: Pick<CommandDeps, 'db' | 'now' | 'wake'>,
  { id }: { id: string },
): Promise<{ more: boolean }> {
  return transact(deps, async (inTrx) => {
    const { db, now } = inTrx
    const job = await lockJob(db, id)
    if (!job || (job.status !== 'queued' && job.status !== 'running')) return { more: false }
    const work = pageOf[job.kind]
    if (!work) throw new Error(`no page for a job of the kind ${job.kind}`)
    const page = await work(inTrx, job)
    const counts = { ...job.counts }
    for (const [name, count] of Object.entries(page.counts)) {
      counts[name] = (counts[name] ?? 0) + count
    }
    const at = now()
    await insertJobFailures(db, job.workspace_id, id, page.failures)
    await updateJob(db, job.workspace_id, id, {
      status: page.isOver ? 'completed' : 'running',
      place: page.place,
      done: job.done + page.done,
      total: page.total ?? job.total,
      counts: JSON.stringify(counts),
      updated_at: at,
      completed_at: page.isOver ? at : null,
    })
    return { more: !page.isOver }
  })
}
