// Sends again what a webhook was told in a period: makes the job, and does a page of it.
import { findLiveReplay, type JobRow } from '../../db/jobs/reads.ts'
import { insertJob } from '../../db/jobs/writes.ts'
import { findWebhook } from '../../db/webhooks/reads.ts'
import {
  countReplayed,
  findReplayEnd,
  hasBacklog,
  type ReplayedPeriod,
  replayPage,
} from '../../db/webhooks/replays.ts'
import { lockWebhooks } from '../../db/webhooks/writes.ts'
import { isId } from '../../rules/ids.ts'
import { limits } from '../../rules/limits.ts'
import { type Reach, wholeWorkspace } from '../../rules/reach.ts'
import { type Refusal, refuse } from '../../rules/refusals.ts'
import type { CommandDeps } from '../deps.ts'
import type { JobPage, JobPageDeps } from '../jobs/page.ts'
import { transact } from '../transact.ts'
import { webhookFault } from './check.ts'

const PAGE = 500
/** How long a replay waits before it looks again whether the endpoint has taken what waits for it. */
const BACKLOG_MS = 5_000
const NOT_ENABLED =
  'the webhook is disabled or deleted, and what waits for it is not sent: enable it, then replay again'

interface ReplaySinceInput {
  id: string
  /** ms. */
  since: number
  /** What `events` of a webhook may hold; undefined: all. */
  events?: string[] | undefined
}

/** What the row of the job says; times in ms. `until`: absent in jobs that a release before has made, which end where they were made. */
type ReplayInput = { webhook_id: string; since: number; until?: number; events: string[] | null }

/** Of all that was written since then until now, whatever became of it. @returns the id of the job */
export async function replaySince(
  deps: Pick<CommandDeps, 'db' | 'newId' | 'now' | 'wake' | 'config'>,
  reach: Reach,
  { id: webhookId, since, events }: ReplaySinceInput,
): Promise<
  | string
  | Refusal<
      'webhook_not_found' | 'webhook_event_unknown' | 'webhook_url_refused' | 'replay_in_progress'
    >
> {
  const fault = webhookFault(deps, { events })
  if (fault) return fault
  return transact(deps, async ({ db, newId, now }) => {
    // Two replays at once would do the same work twice, and fill the line twice as fast.
    await lockWebhooks(db, reach.workspaceId)
    const webhook = isId('webhook', webhookId) && (await findWebhook(db, reach, webhookId))
    if (!webhook) return refuse('webhook_not_found', { id: webhookId })
    const jobId = await findLiveReplay(db, reach.workspaceId, webhookId)
    if (jobId !== undefined) return refuse('replay_in_progress', { jobId })
    const id = newId('job')
    const at = now()
    const until = (await findReplayEnd(db)).getTime()
    const input: ReplayInput = { webhook_id: webhookId, since, until, events: events ?? null }
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

/**
 * A webhook that was deleted meanwhile gets nothing, so the job ends. While much waits for the endpoint the page does nothing and
 * waits: else a replay would make the backlog that disables it, and what happens now would stand behind all of it.
 */
export async function replayJobPage({ db }: JobPageDeps, job: JobRow): Promise<JobPage> {
  const { webhook_id, since, until, events } = job.input as ReplayInput
  const period: ReplayedPeriod = {
    webhookId: webhook_id,
    since: new Date(since),
    until: until === undefined ? job.created_at : new Date(until),
    events,
  }
  const nothing = { place: job.place, done: 0, counts: {}, failures: [], isOver: false }
  const webhook = await findWebhook(db, wholeWorkspace(job.workspace_id), webhook_id)
  if (!webhook) return { ...nothing, error: NOT_ENABLED }
  const pendingMax = limits.webhookReplayPendingMax
  if (await hasBacklog(db, job.workspace_id, webhook_id, pendingMax)) {
    // Nothing is sent to one that is disabled, so the backlog stays.
    return webhook.status === 'enabled'
      ? { ...nothing, wait_ms: BACKLOG_MS }
      : { ...nothing, error: NOT_ENABLED }
  }
  // On the first page alone: what was too much to be counted then is not looked through by each page.
  const total =
    job.place === null
      ? await countReplayed(db, job.workspace_id, period, limits.webhookReplayCountMax)
      : null
  const next = { after: job.place, limit: PAGE, look: limits.webhookReplayLookMax }
  const { count, last, more } = await replayPage(db, job.workspace_id, period, next)
  return {
    place: last ?? job.place,
    done: count,
    ...(total === null ? {} : { total }),
    counts: { replayed: count },
    failures: [],
    isOver: !more,
  }
}
