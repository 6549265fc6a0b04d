// Sends to webhooks: walks over the endpoints that anything waits for, takes those that have something due, and serves each by itself.
import { transact } from '../../commands/transact.ts'
import {
  listDueWebhooks,
  type TakenWebhook,
  takeWebhooks,
  walkWebhooks,
} from '../../db/webhooks/lanes.ts'
import { repeat } from '../../runtime/repeat.ts'
import { createAttempt } from './attempt.ts'
import type { WebhookDeps } from './deps.ts'
import { type EndpointDeps, serveEndpoint } from './endpoint.ts'
import { createWebhookLeases } from './leases.ts'
import { createWebhookPlaces, type WebhookPlaces } from './places.ts'
import { createQueuedBytes } from './queuedBytes.ts'
import { createWebhookSettler } from './settle.ts'

const LOOK_MS = 200
/** Endpoints of one look. With ten thousand that wait in vain a lap takes some seconds. */
const WALKED = 500
/**
 * Endpoints that have not succeeded last, or never, which one look takes: what each asks of Postgres comes before the next look of those
 * that answer.
 */
const OTHERS_TAKEN = 100
/** Endpoints that have answered well lately, which are looked at each time. */
const KNOWN_MAX = 500
const KNOWN_MS = 60_000

interface WebhookSender {
  /** Begins nothing more, and resolves when what is under way has ended and is written. */
  stop(): Promise<void>
}

/**
 * Starts to send. Any number of workers may: each endpoint has one at a time, by a lease in Postgres, and no owner beyond that. What a
 * dead worker had is sent again when its lease has ended, with the same `webhook-id`.
 */
export function startWebhookSender(
  deps: WebhookDeps,
  places: WebhookPlaces = createWebhookPlaces(),
): WebhookSender {
  const leases = createWebhookLeases(deps)
  const { attempt, close } = createAttempt(deps)
  const serving = new Set<Promise<void>>()
  /** When each was served last, by `performance.now`; the latest last. */
  const known = new Map<string, number>()
  let isStopping = false
  let after = ''

  const endpoint: EndpointDeps = {
    db: deps.db,
    attempt,
    settle: createWebhookSettler(deps),
    mayBegin: (webhook) => !isStopping && leases.mayBegin(webhook),
    queued: createQueuedBytes(),
    takePlace: places.take,
  }

  async function serve(webhook: TakenWebhook, firstPlace: () => void): Promise<void> {
    try {
      if (await serveEndpoint(endpoint, webhook, firstPlace)) {
        known.delete(webhook.id)
        known.set(webhook.id, performance.now())
      }
    } catch (err) {
      deps.log.warn({ err, webhook_id: webhook.id }, 'a webhook was not served; tried again')
    } finally {
      await leases.release(webhook)
    }
  }

  async function take(ids: readonly string[]): Promise<void> {
    const wanted = ids.filter((id) => !leases.has(id))
    const { healthy, others } = places.free()
    if (wanted.length === 0 || healthy.free === 0) return
    const free = { healthy, others: { ...others, free: Math.min(others.free, OTHERS_TAKEN) } }
    const asked = performance.now()
    const taken = await transact.one(deps, ({ db }) => takeWebhooks(db, wanted, free))
    for (const webhook of taken) {
      leases.add(webhook, asked)
      const place = places.take(webhook.is_proven && webhook.failures === 0, webhook.workspace_id)
      const work = place ? serve(webhook, place) : leases.release(webhook)
      const tracked = work.finally(() => serving.delete(tracked))
      serving.add(tracked)
    }
  }

  async function look(): Promise<void> {
    forgetKnown(known)
    await take(await listDueWebhooks(deps.db, [...known.keys()]))
    const walked = await walkWebhooks(deps.db, { after, limit: WALKED })
    after = walked.length < WALKED ? '' : (walked.at(-1)?.id ?? '')
    await take(walked.filter(({ is_due }) => is_due).map(({ id }) => id))
  }

  const looking = repeat({
    every_ms: LOOK_MS,
    work: look,
    onFailure: (err) => deps.log.warn({ err }, 'webhooks were not looked at; tried again'),
  })
  return {
    async stop() {
      isStopping = true
      await looking.stop()
      await Promise.all(serving)
      await leases.stop()
      close()
    },
  }
}

function forgetKnown(known: Map<string, number>): void {
  const since = performance.now() - KNOWN_MS
  for (const [id, at] of known) {
    if (at > since && known.size <= KNOWN_MAX) return
    known.delete(id)
  }
}
