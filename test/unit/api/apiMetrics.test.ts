// The gauges of the API show what its shares of the database and its memory for bodies say at each scrape.
import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { createBodyBudget } from '../../../api/http/bodies/budget.ts'
import { createApiMetrics } from '../../../api/http/metrics.ts'
import { createShares } from '../../../db/shares.ts'

test('places of the pool, and memory of bodies', async () => {
  const registry = new Registry()
  const metrics = createApiMetrics(registry)
  const shares = createShares(2)
  const budget = createBodyBudget({
    processBytesMax: 100,
    workspaceBytesMax: 60,
    reserveBytes: 0,
    smallBytesMax: 10,
    wait_ms: 10_000,
  })
  metrics.watch({ places: shares.counts })
  metrics.watch({ bodies: budget.state })
  metrics.watch({ answers: () => ({ untaken: 70 }) })
  const giveBack = await shares.take({ kind: 'anonymous' }, null)
  const grant = await budget.ask('ws', { bytes: 60 })
  const waits = budget.ask('ws', { bytes: 10 })
  const text = await registry.metrics()
  expect(text).toContain('dripline_api_database_places{state="in_use"} 1\n')
  expect(text).toContain('dripline_api_database_places{state="waiting"} 0\n')
  expect(text).toContain('dripline_api_body_bytes 60\n')
  expect(text).toContain('dripline_api_bodies_waiting 1\n')
  expect(text).toContain('dripline_api_untaken_bytes 70\n')
  giveBack()
  grant.release()
  ;(await waits).release()
  const later = await registry.metrics()
  expect(later).toContain('dripline_api_database_places{state="in_use"} 0\n')
  expect(later).toContain('dripline_api_body_bytes 0\n')
})
