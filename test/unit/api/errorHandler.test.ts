// What the error handler logs: an outage is one, and a client that leaves is none.
import { Hono } from 'hono'
import pino from 'pino'
import { Registry } from 'prom-client'
import { expect, it } from 'vitest'
import type { ApiEnv } from '../../../api/http/env.ts'
import { createErrorHandler } from '../../../api/http/errorHandler.ts'
import { createApiMetrics } from '../../../api/http/metrics.ts'
import { ClientGone } from '../../../db/shares.ts'

const broken = new Error('Connection terminated unexpectedly')

async function logged(err: Error): Promise<{ status: number; text: string }> {
  const lines: string[] = []
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) })
  const app = new Hono<ApiEnv>()
  app.onError(createErrorHandler({ log, apiMetrics: createApiMetrics(new Registry()) }))
  app.get('/', () => {
    throw err
  })
  return { status: (await app.request('/')).status, text: lines.join('') }
}

it('logs a connection to Postgres that broke', async () => {
  const { status, text } = await logged(broken)
  expect(status).toBe(503)
  expect(text).toContain('a server behind the API did not answer')
})

it('takes the connection that was closed for a client that left for no outage', async () => {
  const gone = new ClientGone('the client has gone', { cause: broken })
  expect(await logged(gone)).toEqual({ status: 503, text: '' })
})
