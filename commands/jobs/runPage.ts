// Does the next page of a job, in one commit that also moves the job on.
import { dataFaultOf } from '../../db/failures.ts'
import { insertJobFailures, lockJob, updateJob } from '../../db/jobs/writes.ts'
import type { JobStatus } from '../../rules/jobs.ts'
import { limits } from '../../rules/limits.ts'
import type { CommandDeps } from '../deps.ts'
import { transact } from '../transact.ts'
import type { JobPage } from './page.ts'
import { pageOf } from './pages.ts'

export type PageDeps = Pick<CommandDeps, 'db' | 'newId' | 'now' | 'wake' | 'secrets' | 'addressMac'>

interface PageResult {
  more: boolean
  /** The pause before the next page, ms; absent: none. */
  wait_ms?: number
  /** As of `JobPage`. */
  waitsFor?: JobPage['waitsFor']
}

const isLive = (status: JobStatus): boolean => status === 'queued' || status === 'running'

/**
 * One that is asked for twice waits for the first, and goes on after it: no page is done twice. A job that is paused, cancelled or over is left as it is.
 * One whose page Postgres refuses for its data again and again ends `failed`; one whose page fails otherwise goes on when what was wrong is mended.
 * @returns whether there is more to do, and after which pause
 * @throws whatever kept the page from being done; it may be asked for again
 */
export async function runJobPage(deps: PageDeps, { id }: { id: string }): Promise<PageResult> {
  try {
    return await doPage(deps, id)
  } catch (err) {
    // Where Postgres is away this fails too: what the page met says more.
    if (!(await noteFailedPage(deps, id, dataFaultOf(err)).catch(() => false))) throw err
    return { more: false }
  }
}

function doPage(deps: PageDeps, id: string): Promise<PageResult> {
  return transact(deps, async (inTrx) => {
    const { db, now } = inTrx
    const job = await lockJob(db, id)
    if (!job || !isLive(job.status)) return { more: false }
    const work = pageOf[job.kind]
    if (!work) throw new Error(`no page for a job of the kind ${job.kind}`)
    const page = await work(inTrx, job)
    const counts = { ...job.counts }
    for (const [name, count] of Object.entries(page.counts)) {
      counts[name] = (counts[name] ?? 0) + count
    }
    const at = now()
    const status = statusAfter(page)
    await insertJobFailures(db, job.workspace_id, id, page.failures)
    await updateJob(db, job.workspace_id, id, {
      status,
      error: page.error ?? null,
      place: page.place,
      done: job.done + page.done,
      total: page.total ?? job.total,
      counts: JSON.stringify(counts),
      refusals: 0,
      updated_at: at,
      completed_at: status === 'running' ? null : at,
    })
    const { wait_ms, waitsFor } = page
    return {
      more: status === 'running',
      ...(wait_ms === undefined ? {} : { wait_ms }),
      ...(waitsFor === undefined ? {} : { waitsFor }),
    }
  })
}

const statusAfter = ({ error, isOver }: JobPage): 'failed' | 'completed' | 'running' => {
  if (error !== undefined) return 'failed'
  return isOver ? 'completed' : 'running'
}

/**
 * Writes that a page was tried and rolled back, so that jobs that take turns do so although their pages fail, and counts it if it was refused. The
 * count stands in the row, since each try may be another worker's.
 * @param sqlState why Postgres refused its data; null: it failed otherwise. The text of the server may name values, and stays in the log
 * @returns whether it was one refusal too many, and the job has failed
 */
function noteFailedPage(deps: PageDeps, id: string, sqlState: string | null): Promise<boolean> {
  return transact(deps, async ({ db, now }) => {
    const job = await lockJob(db, id)
    if (!job || !isLive(job.status)) return false
    const refusals = job.refusals + (sqlState === null ? 0 : 1)
    const at = now()
    const isOver = refusals >= limits.jobRefusalsMax
    const error = `what the next page writes cannot be stored (SQLSTATE ${sqlState}); what was done before stays`
    await updateJob(db, job.workspace_id, id, {
      refusals,
      updated_at: at,
      ...(isOver ? ({ status: 'failed', error, completed_at: at } as const) : {}),
    })
    return isOver
  })
}
