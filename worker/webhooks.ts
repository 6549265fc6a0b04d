// Sends to webhooks: the client that judges addresses, the metrics, and what runs for as long as the worker does.
import { Counter, Histogram, type Registry } from 'prom-client'
import type { Db } from '../db/connect.ts'
import { countPendingWebhooks } from '../db/webhooks/housekeeping.ts'
import type { WebhookDeps, WebhookMetrics } from '../delivery/webhooks/deps.ts'
import { startHousekeeping } from '../delivery/webhooks/housekeeping.ts'
import { startWebhookSender } from '../delivery/webhooks/run.ts'
import type { Config } from '../runtime/config.ts'
import type { Log } from '../runtime/log.ts'
import { createCalls } from './calls.ts'
import { lookedGauges, secondsSince } from './lookedGauges.ts'

const TRY_BUCKETS_S = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

type Deps = Omit<WebhookDeps, 'outbound' | 'metrics' | 'config'> & {
  config: Config
  registry: Registry
}

/** @returns `stop` waits for requests that are under way, ten seconds at most */
export function startWebhooks({ registry, ...deps }: Deps): { stop: () => Promise<void> } {
  const { allowPrivateWebhooks: allowPrivateHttp, dnsServers } = deps.config
  const { outbound } = createCalls({ allowPrivateHttp, dnsServers })
  const all = { ...deps, outbound, metrics: createWebhookMetrics(registry, deps) }
  const [sender, housekeeping] = [startWebhookSender(all), startHousekeeping(all)]
  return {
    async stop() {
      await Promise.all([sender.stop(), housekeeping.stop()])
    },
  }
}

interface Sources {
  db: Db
  log: Log
  now: () => Date
}

/** Registers the metrics. @returns functions that the sender calls */
export function createWebhookMetrics(registry: Registry, sources: Sources): WebhookMetrics {
  const registers = [registry]
  watchPending(registry, sources)
  const tries = new Counter({
    name: 'dripline_webhook_tries_total',
    help: 'Requests to webhooks: `succeeded`, `refused` (another status than 2xx), `unanswered`',
    labelNames: ['outcome'],
    registers,
  })
  const times = new Histogram({
    name: 'dripline_webhook_seconds',
    help: 'Time that a request to a webhook took',
    buckets: TRY_BUCKETS_S,
    registers,
  })
  const disabled = new Counter({
    name: 'dripline_webhooks_disabled_total',
    help: 'Webhooks that were disabled after a 410, for days of failures, or for what was pending',
    registers,
  })
  const triesOf = {
    succeeded: tries.labels('succeeded'),
    refused: tries.labels('refused'),
    unanswered: tries.labels('unanswered'),
  }
  return {
    tried(outcome, took_ms) {
      triesOf[outcome].inc()
      times.observe(took_ms / 1000)
    },
    disabled: () => disabled.inc(),
  }
}

function watchPending(registry: Registry, sources: Sources): void {
  const gauge = lookedGauges(registry, sources, {
    find: () => countPendingWebhooks(sources.db),
    failed: 'webhooks could not be counted for the metrics',
  })
  gauge(
    'dripline_webhook_pending',
    'Deliveries that wait for enabled webhooks, counted up to 100,000',
    ({ pending }) => pending,
  )
  gauge(
    'dripline_webhook_oldest_seconds',
    'Age of the oldest of them; 0 when there is none',
    ({ oldest_at }) => secondsSince(oldest_at, sources.now()),
  )
}
