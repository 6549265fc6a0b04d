// Sends again what a webhook was told in a period: makes the job, and does a page of it.
import type { JobRow } from '../../db/jobs/reads.ts'
import { insertJob } from '../../db/jobs/writes.ts'
import { findWebhook } from '../../db/webhooks/reads.ts'
import { countReplayed, type ReplayedPeriod, replayPage } from '../../db/webhooks/replays.ts'
import { isId } from '../../rules/ids.ts'
import type { Reach } from '../../rules/reach.ts'
import { type Refusal, refuse } from '../../rules/refusals.ts'
import type { CommandDeps } from '../deps.ts'
import type { JobPage, JobPageDeps } from '../jobs/page.ts'
import { transact } from '../transact.ts'
import { webhookFault } from './check.ts'

const PAGE = 500

interface ReplaySinceInput {
  id: string
  /** ms. */
  since: number
  /** What `events` of a webhook may hold; undefined: all. */
  events?: string[] | undefined
}

/** What the row of the job says; times in ms. */
type ReplayInput = { webhook_id: string; since: number; events: string[] | null }

/** Of all that was written since then until now, whatever became of it. @returns the id of the job */
export async function replaySince(
  deps: Pick<CommandDeps, 'db' | 'newId' | 'now' | 'wake' | 'config'>,
  reach: Reach,
  { id: webhookId, since, events }: ReplaySinceInput,
): Promise<
  string | Refusal<'webhook_not_found' | 'webhook_event_unknown' | 'webhook_url_refused'>
> {
  const fault = webhookFault(deps, { events })
  if (fault) return fault
  return transact(deps, async ({ db, newId, now }) => {
    const webhook = isId('webhook', webhookId) && (await findWebhook(db, reach, webhookId))
    if (!webhook) return refuse('webhook_not_found', { id: webhookId })
    const id = newId('job')
    const at = now()
    const input: ReplayInput = { webhook_id: webhookId, since, events: events ?? null }
    await insertJob(db, reach.workspaceId, {
      id,
      domain_id: reach.domainId,
      kind: 'replay',
      status: 'queued',
      input: JSON.stringify(input),
      counts: '{}',
      result: null,
      created_at: at,
      updated_at: at,
    })
    return id
  })
}

/** Deliveries of a webhook that was deleted meanwhile are not sent. */
export async function replayJobPage({ db }: JobPageDeps, job: JobRow): Promise<JobPage> {
  const { webhook_id, since, events } = job.input as ReplayInput
  const period: ReplayedPeriod = {
    webhookId: webhook_id,
    since: new Date(since),
    until: job.created_at,
    events,
  }
  const total = job.total ?? (await countReplayed(db, job.workspace_id, period))
  const page = { after: job.place, limit: PAGE }
  const { count, last } = await replayPage(db, job.workspace_id, period, page)
  return {
    place: last ?? job.place,
    done: count,
    total,
    counts: { replayed: count },
    failures: [],
    isOver: count < PAGE,
  }
}
