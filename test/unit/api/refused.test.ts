// What an operator learns of each 503 and 408: one line of the log, a metric, and a row in the docs.
import { readFileSync } from 'node:fs'
import { Hono } from 'hono'
import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import type { ApiEnv } from '../../../api/http/env.ts'
import { createErrorHandler } from '../../../api/http/errorHandler.ts'
import { createApiMetrics } from '../../../api/http/metrics.ts'
import { toApiError } from '../../../api/http/refusals.ts'
import {
  bodyTooSlow,
  RETRY_AFTER_S,
  type RefusedReason,
  refusedReasons,
  serviceUnavailable,
  unavailableTexts,
} from '../../../api/http/unavailable.ts'
import { ClientGone, NoPlace } from '../../../db/shares.ts'
import type { WorkspaceId } from '../../../rules/ids.ts'
import { refuse } from '../../../rules/refusals.ts'
import { createLog } from '../../../runtime/log.ts'
import { TemporalUnavailable } from '../../../runtime/temporalReads.ts'

const withCode = (code: string) => Object.assign(new Error('S3CRET'), { code })
const causes: Record<RefusedReason, Error> = {
  database_away: withCode('ECONNREFUSED'),
  temporal_away: new TemporalUnavailable('away'),
  locked: withCode('55P03'),
  crowded: new NoPlace('no place'),
  slow: withCode('57014'),
  rendering: toApiError(refuse('renderer_busy', {})),
  bodies: serviceUnavailable('bodies'),
  answers: serviceUnavailable('answers'),
  client_gone: new ClientGone('gone'),
  body_too_slow: bodyTooSlow('The body stopped for 30.0 seconds after 1 bytes'),
}

async function answerTo(cause: Error) {
  const lines: { level: string; facts: Record<string, unknown> }[] = []
  const log = createLog('test', 'silent')
  for (const level of ['debug', 'warn', 'error'] as const) {
    log[level] = (facts: object) => void lines.push({ level, facts: { ...facts } })
  }
  const registry = new Registry()
  const app = new Hono<ApiEnv>()
  app.onError(createErrorHandler({ log, apiMetrics: createApiMetrics(registry) }))
  app.get('/', (c) => {
    c.set('requestId', 'req_1')
    c.set('workspaceId', 'ws_1' as WorkspaceId)
    throw cause
  })
  const answer = await app.request('/')
  return { answer, lines, metrics: await registry.metrics() }
}

test.each(refusedReasons)(
  '%s: one line that names whose request it was, and a count',
  async (reason) => {
    const { answer, lines, metrics } = await answerTo(causes[reason])
    expect(answer.status).toBe(reason === 'body_too_slow' ? 408 : 503)
    expect(answer.headers.get('retry-after')).toBe(
      reason === 'body_too_slow' ? null : RETRY_AFTER_S,
    )
    // Nobody reads the answer to a client that has gone.
    const level = reason === 'client_gone' ? 'debug' : 'warn'
    expect(lines).toEqual([
      {
        level,
        facts: expect.objectContaining({ reason, workspace_id: 'ws_1', request_id: 'req_1' }),
      },
    ])
    for (const other of refusedReasons) {
      expect(metrics).toContain(
        `dripline_api_refused_total{reason="${other}"} ${other === reason ? 1 : 0}\n`,
      )
    }
  },
)

test('the docs of operators have a row for each text of a 503', () => {
  const page = readFileSync('docs/troubleshooting.md', 'utf8')
  const rows = page.split('\n').filter((line) => line.startsWith('|'))
  const { client_gone, ...texts } = unavailableTexts
  for (const [reason, text] of Object.entries(texts)) {
    const [words = ''] = text.split(';')
    const found = rows.filter((row) => row.includes(words) && row.includes(`\`${reason}\``))
    expect(found, `${reason}: "${words}"`).toHaveLength(1)
  }
})
