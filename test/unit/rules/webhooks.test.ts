// What becomes of a webhook delivery after a try, and the ids that callers see.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { toShownId, toUuid } from '../../../rules/webhooks/ids.ts'
import { judgeWebhook, webhookRetries_ms } from '../../../rules/webhooks/outcome.ts'

const NOW = Date.UTC(2026, 0, 1)
const judge = (status: number | null, attempts = 1, retryAfter: string | null = null) =>
  judgeWebhook({ status, retryAfter }, attempts, NOW)

test('2xx succeeds, 410 is gone, and everything else is tried again', () => {
  for (const status of [200, 201, 204, 299]) expect(judge(status).kind).toBe('succeeded')
  expect(judge(410).kind).toBe('gone')
  for (const status of [null, 0, 100, 199, 300, 301, 308, 400, 401, 404, 429, 500, 599]) {
    expect(judge(status)).toEqual({ kind: 'again', after_ms: 5_000 })
  }
})

test('the last pause is followed by the end', () => {
  const pauses = webhookRetries_ms.map((_, at) => judge(500, at + 1))
  expect(pauses).toEqual(webhookRetries_ms.map((after_ms) => ({ kind: 'again', after_ms })))
  expect(judge(500, webhookRetries_ms.length + 1)).toEqual({ kind: 'failed' })
})

test.each([
  ['120', 120_000],
  [new Date(NOW + 60_000).toUTCString(), 60_000],
  ['99999999999999999999', 86_400_000],
  [new Date(NOW - 60_000).toUTCString(), 5_000],
  ['-5', 5_000],
  ['soon', 5_000],
  ['', 5_000],
  ['1', 5_000],
])('Retry-After %j is a pause of %i ms', (retryAfter, after_ms) => {
  expect(judge(503, 1, retryAfter)).toEqual({ kind: 'again', after_ms })
})

test('ids and uuids are the same numbers, in the same order', () => {
  fc.assert(
    fc.property(fc.uuid(), fc.uuid(), (a, b) => {
      const [shown, other] = [a, b].map((one) => toShownId('webhookDelivery', one)) as [
        string,
        string,
      ]
      expect(shown).toMatch(/^att_[0-7][0-9A-HJKMNP-TV-Z]{25}$/)
      expect(toUuid('webhookDelivery', shown)).toBe(a)
      expect(toUuid('webhookEvent', shown)).toBeNull()
      expect(shown < other).toBe(a < b)
    }),
  )
  expect(toUuid('webhookDelivery', `att_${'Z'.repeat(26)}`)).toBeNull()
  expect(toUuid('webhookDelivery', 'att_1')).toBeNull()
})
