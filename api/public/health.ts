// Health of the process (healthz) and of its servers (readyz). Public, without a key.
import { limits } from '../../rules/limits.ts'
import { shareLook } from '../../runtime/sharedLook.ts'
import type { ApiDeps } from '../http/env.ts'
import { createRoutes } from '../http/openapi.ts'
import { RETRY_AFTER_S } from '../http/unavailable.ts'

export function healthRoutes({
  isDatabaseThere,
  temporal,
}: Pick<ApiDeps, 'isDatabaseThere' | 'temporal'>) {
  const app = createRoutes()
  // Whoever asks often, and asks without a key, costs the servers behind one look a second.
  const look = shareLook(async () => {
    const isTemporalThere = temporal.check().then(
      () => true,
      () => false,
    )
    const [postgres, temporalServer] = await Promise.all([isDatabaseThere(), isTemporalThere])
    return { postgres, temporal: temporalServer }
  }, limits.readinessKeptMs)

  app.get('/healthz', (c) => c.json({ status: 'ok' }))

  app.get('/readyz', async (c) => {
    const servers = await look()
    const ready = servers.postgres && servers.temporal
    const body = { status: ready ? 'ok' : 'unavailable', ...servers }
    return ready ? c.json(body) : c.json(body, 503, { 'Retry-After': RETRY_AFTER_S })
  })

  return app
}
