// The metrics of webhooks: what waits for enabled endpoints, since when, what became of requests.
import { sql } from 'kysely'
import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { createWebhookMetrics } from '../../worker/webhooks.ts'
import { createTestApi } from '../setup/api.ts'

const api = await createTestApi()
const { db, deps, workspaceId } = api
const AGE_S = 90

function metricsAt(now: Date) {
  const registry = new Registry()
  const metrics = createWebhookMetrics(registry, { db, log: deps.log, now: () => now })
  const read = async (line: string) => {
    const found = (await registry.metrics()).split('\n').find((one) => one.startsWith(`${line} `))
    return found === undefined ? undefined : Number(found.slice(line.length + 1))
  }
  return { metrics, read }
}

/** An endpoint for which so many wait, all of which were made at one time. */
async function addWaiting(count: number, at: Date): Promise<string> {
  const { body } = await api.request<{ id: string }>('POST', '/v1/webhooks', {
    url: 'https://hooks.example.test/in',
    events: ['broadcast.started'],
  })
  await sql`
    with event as (
      insert into webhook_events (id, workspace_id, type, at, data)
      select webhook_id(), ${workspaceId}, 'webhook.test', ${at}, '{}' from generate_series(1, ${count}::int) returning id
    )
    insert into webhook_deliveries (id, webhook_id, event_id, workspace_id, next_at, created_at)
    select webhook_id(), ${body.id}, id, ${workspaceId}, ${at}, ${at} from event`.execute(db)
  return body.id
}

test('what waits for enabled endpoints alone, and the age of the oldest of it', async () => {
  const now = new Date()
  const before = metricsAt(now)
  expect(await before.read('dripline_webhook_pending')).toBe(0)
  expect(await before.read('dripline_webhook_oldest_seconds')).toBe(0)
  await addWaiting(2, new Date(now.getTime() - AGE_S * 1_000))
  await addWaiting(1, new Date(now.getTime() - 1_000))
  const disabled = await addWaiting(5, new Date(now.getTime() - 10 * AGE_S * 1_000))
  await api.request('PATCH', `/v1/webhooks/${disabled}`, { status: 'disabled' })
  const after = metricsAt(now)
  expect(await after.read('dripline_webhook_pending')).toBe(3)
  expect(await after.read('dripline_webhook_oldest_seconds')).toBe(AGE_S)
})

test('requests by their outcome, their times, and what was disabled', async () => {
  const { metrics, read } = metricsAt(new Date())
  metrics.tried('succeeded', 20)
  metrics.tried('succeeded', 300)
  metrics.tried('refused', 20)
  metrics.tried('unanswered', 10_000)
  metrics.disabled()
  const tries = (outcome: string) => read(`dripline_webhook_tries_total{outcome="${outcome}"}`)
  expect([await tries('succeeded'), await tries('refused'), await tries('unanswered')]).toEqual([
    2, 1, 1,
  ])
  expect(await read('dripline_webhook_seconds_bucket{le="0.05"}')).toBe(2)
  expect(await read('dripline_webhook_seconds_sum')).toBeCloseTo(10.34)
  expect(await read('dripline_webhooks_disabled_total')).toBe(1)
})
