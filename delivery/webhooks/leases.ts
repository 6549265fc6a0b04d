// The endpoints that this worker has: their leases are renewed while it sends to them.
import { setTimeout as delay } from 'node:timers/promises'
import { transact } from '../../commands/transact.ts'
import { type HeldWebhook, releaseWebhooks, renewWebhooks } from '../../db/webhooks/lanes.ts'
import { webhookLeaseMs, webhookRenewMs } from '../../rules/webhooks/outcome.ts'
import { createBatcher } from '../../runtime/batcher.ts'
import { repeat } from '../../runtime/repeat.ts'
import type { WebhookDeps } from './deps.ts'

/** Endpoints that are given back by one statement. */
const RELEASED_MAX = 200

/** How long before the end of a lease nothing is begun any more. */
const MARGIN_MS = 2_000

/**
 * How often a renewal looks at those that somebody holds, and the pause between two looks: this worker's own settlements hold a busy endpoint
 * most of the time, each for some milliseconds. All looks end well before the next renewal.
 */
const LOOKS_MAX = 10
const LOOK_PAUSE_MS = 75

/** Times are those of `performance.now`, which no change of the machine's clock moves. */
export function createWebhookLeases(deps: Pick<WebhookDeps, 'db' | 'log' | 'wake'>) {
  const held = new Map<string, HeldWebhook & { asked: number }>()
  const release = createBatcher<HeldWebhook, void>(async (webhooks) => {
    await transact.one(deps, ({ db }) => releaseWebhooks(db, webhooks))
    return webhooks.map(() => undefined)
  }, RELEASED_MAX)

  const hasStill = ({ id, epoch }: HeldWebhook) => held.get(id)?.epoch === epoch

  /** Renews the leases of those that the worker still has. @returns those that somebody holds, whose leases go on as they were */
  async function renew(webhooks: readonly HeldWebhook[]): Promise<HeldWebhook[]> {
    const asked = performance.now()
    const before = webhooks.filter(hasStill)
    const rows = await transact.one(deps, ({ db }) => renewWebhooks(db, before))
    const isRenewed = new Map(rows.map((row) => [row.id, row.is_renewed]))
    const own = before.filter(hasStill)
    for (const { id, epoch } of own) {
      if (isRenewed.get(id)) held.set(id, { id, epoch, asked })
      else if (!isRenewed.has(id)) held.delete(id)
    }
    return own.filter(({ id }) => isRenewed.get(id) === false)
  }

  const renewing = repeat({
    every_ms: webhookRenewMs,
    async work() {
      let left: readonly HeldWebhook[] = [...held.values()].map(({ id, epoch }) => ({ id, epoch }))
      for (let looks = 0; left.length > 0 && looks < LOOKS_MAX; looks++) {
        if (looks > 0) await delay(LOOK_PAUSE_MS)
        left = await renew(left)
      }
    },
    onFailure: (err) => deps.log.warn({ err }, 'leases of webhooks were not renewed; tried again'),
  })

  return {
    /** @param asked when the statement was sent that took it */
    add({ id, epoch }: HeldWebhook, asked: number) {
      held.set(id, { id, epoch, asked })
    },
    has: (id: string) => held.has(id),
    /** Whether the worker surely has it for some time. */
    mayBegin({ id, epoch }: HeldWebhook): boolean {
      const one = held.get(id)
      return one?.epoch === epoch && performance.now() - one.asked < webhookLeaseMs - MARGIN_MS
    },
    /** Gives it back. When that fails its lease ends by itself. */
    async release({ id, epoch }: HeldWebhook): Promise<void> {
      if (hasStill({ id, epoch })) held.delete(id)
      await release({ id, epoch }).catch((err: unknown) =>
        deps.log.warn({ err }, 'a webhook was not given back'),
      )
    },
    stop: renewing.stop,
  }
}
