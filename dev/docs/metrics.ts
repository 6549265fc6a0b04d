// The table of the service's own metrics, from registries like those that API and worker serve.
import { Registry } from 'prom-client'
import { createApiMetrics } from '../../api/http/metrics.ts'
import type { Db } from '../../db/connect.ts'
import { createPostmasterCounter, createReportCounter } from '../../inbound/reports/metrics.ts'
import { createSubmissionMetrics } from '../../inbound/submission/metrics.ts'
import { collectEventLoopDelay } from '../../runtime/eventLoopDelay.ts'
import { createLog } from '../../runtime/log.ts'
import { createRenderMetrics } from '../../runtime/renderMetrics.ts'
import { createSuspectMetrics } from '../../worker/blame/metrics.ts'
import { watchDeletedAudiences } from '../../worker/deletedAudienceMetrics.ts'
import { createDeliveryMetrics } from '../../worker/deliveryMetrics.ts'
import { watchOutbox } from '../../worker/outboxMetrics.ts'
import { createRetentionMetrics } from '../../worker/retention.ts'
import { createWebhookMetrics } from '../../worker/webhooks.ts'
import { code, codes, markdownTable } from './markdown.ts'

/** Each metric with its type, its labels and its help text; those that Node brings are left out. */
export function metricsTable(): string {
  const registry = new Registry()
  createDeliveryMetrics(registry, {
    // Asked at a scrape alone, and nothing is scraped here.
    db: {} as Db,
    log: createLog('docs', 'silent'),
    now: () => new Date(),
    transport: {
      send: () => Promise.reject(new Error('nothing is sent')),
      close: () => Promise.resolve(),
      rooms: () => ({ known: new Map(), other: 0 }),
      destinations: () => [],
    },
    breakers: { countOpen: () => ({ sender: 0, address: 0, account: 0 }) },
  })
  const sources = { db: {} as Db, log: createLog('docs', 'silent'), now: () => new Date() }
  watchOutbox(registry, sources)
  watchDeletedAudiences(registry, sources)
  createWebhookMetrics(registry, sources)
  createReportCounter(registry)
  createPostmasterCounter(registry)
  createSubmissionMetrics(registry)
  createSuspectMetrics(registry)
  createRenderMetrics(registry)
  createRetentionMetrics(registry)
  createApiMetrics(registry)
  collectEventLoopDelay(registry)
  const rows = registry
    .getMetricsAsArray()
    .map((metric) => ({ labels: [], ...metric }) as unknown as MetricInfo)
    .map(({ name, type, labelNames, help }) => [code(name), type, codes(labelNames ?? []), help])
  return markdownTable(['metric', 'type', 'labels', 'meaning'], rows)
}

/** What prom-client knows of a metric; its types leave the labels out. */
interface MetricInfo {
  name: string
  type: string
  help: string
  labelNames?: string[]
}
