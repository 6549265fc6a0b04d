// The endpoints that this worker has: their leases are renewed while it sends to them.
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

/** Times are those of `performance.now`, which no change of the machine's clock moves. */
export function createWebhookLeases(deps: Pick<WebhookDeps, 'db' | 'log' | 'wake'>) {
  const held = new Map<string, HeldWebhook & { asked: number }>()
  const release = createBatcher<HeldWebhook, void>(async (webhooks) => {
    await transact.one(deps, ({ db }) => releaseWebhooks(db, webhooks))
    return webhooks.map(() => undefined)
  }, RELEASED_MAX)

  const renewing = repeat({
    every_ms: webhookRenewMs,
    async work() {
      const asked = performance.now()
      const before = [...held.values()]
      const rows = await transact.one(deps, ({ db }) =>
        renewWebhooks(
          db,
          before.map(({ id, epoch }) => ({ id, epoch })),
        ),
      )
      const kept = new Map(rows.map((row) => [row.id, row]))
      for (const one of before) {
        const current = held.get(one.id)
        if (current?.epoch !== one.epoch) continue
        const row = kept.get(one.id)
        if (row?.is_renewed) current.asked = asked
        // Of what somebody holds the lease goes on as it was.
        else if (!row) held.delete(one.id)
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
      if (held.get(id)?.epoch === epoch) held.delete(id)
      await release({ id, epoch }).catch((err: unknown) =>
        deps.log.warn({ err }, 'a webhook was not given back'),
      )
    },
    stop: renewing.stop,
  }
}
