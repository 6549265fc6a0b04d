// Health of the process (healthz) and of its servers (readyz). Public, without a key.
import { sql } from 'kysely'
import type { ApiDeps } from '../http/env.ts'
import { createRoutes } from '../http/openapi.ts'

export function healthRoutes({ db, temporal }: Pick<ApiDeps, 'db' | 'temporal'>) {
  const app = createRoutes()

  app.get('/healthz', (c) => c.json({ status: 'ok' }))

  app.get('/readyz', async (c) => {
    const [postgres, temporalServer] = await Promise.all([
      answers(sql`select 1`.execute(db)),
      answers(temporal.check()),
    ])
    const ready = postgres && temporalServer
    const body = { status: ready ? 'ok' : 'unavailable', postgres, temporal: temporalServer }
    return ready ? c.json(body) : c.json(body, 503, { 'Retry-After': '5' })
  })

  return app
}

async function answers(check: Promise<unknown>): Promise<boolean> {
  try {
    await check
    return true
  } catch {
    return false
  }
}
