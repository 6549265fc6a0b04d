// What a page of each kind of job does.
import type { JobRow } from '../../db/jobs/reads.ts'
import type { JobKind } from '../../rules/jobs.ts'
import { eraseJobPage } from '../contacts/erasePage.ts'
import { replayJobPage } from '../webhooks/replaySince.ts'
import type { JobPage, JobPageDeps } from './page.ts'

/** In the transaction that also writes where the job is. */
type PageOf = (deps: JobPageDeps, job: JobRow) => Promise<JobPage>

/** Kinds without an entry are not made yet. */
export const pageOf: Partial<Record<JobKind, PageOf>> = {
  replay: replayJobPage,
  erasure: eraseJobPage,
}
