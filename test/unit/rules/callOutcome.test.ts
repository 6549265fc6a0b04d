// What follows from a try of a request: the cases of docs/workflows.md, one by one.
import { describe, expect, test } from 'vitest'
import { type CallTry, judgeCall } from '../../../rules/callOutcome.ts'

const now = Date.UTC(2026, 2, 10, 12)
const answer = (status: number, retryAfter: string | null = null): CallTry => ({
  kind: 'answer',
  status,
  isCut: false,
  retryAfter,
})
const fault = (name: Extract<CallTry, { kind: 'fault' }>['fault']): CallTry => ({
  kind: 'fault',
  fault: name,
})

test.each([200, 201, 204, 299])('%d is success', (status) => {
  const why = String(status)
  expect(judgeCall(answer(status), 1, now)).toEqual({ kind: 'end', handle: 'success', why })
})

test.each([100, 301, 302, 307, 308, 400, 401, 403, 404, 409, 410, 422, 499])(
  '%d is an error at once',
  (status) => {
    const why = String(status)
    expect(judgeCall(answer(status), 1, now)).toEqual({ kind: 'end', handle: 'error', why })
  },
)

test('an answer that is cut is an error at once', () => {
  expect(judgeCall({ ...answer(200), isCut: true } as CallTry, 1, now)).toEqual({
    kind: 'end',
    handle: 'error',
    why: 'answer_too_large',
  })
})

test('a private address is an error at once', () => {
  const why = 'private_address'
  expect(judgeCall(fault('forbidden'), 1, now)).toEqual({ kind: 'end', handle: 'error', why })
})

const passing: [string, CallTry][] = [
  ...[408, 425, 429, 500, 502, 503, 504, 599].map((status): [string, CallTry] => [
    String(status),
    answer(status),
  ]),
  ...(['timeout', 'connection', 'unknown_host'] as const).map((name): [string, CallTry] => [
    name,
    fault(name),
  ]),
]
test.each(passing)('%s is tried five times, after 1, 2, 4 and 8 seconds', (why, given) => {
  const pauses = [1, 2, 3, 4].map((tries) => judgeCall(given, tries, now))
  expect(pauses).toEqual(
    [1_000, 2_000, 4_000, 8_000].map((after_ms) => ({ kind: 'again', why, after_ms })),
  )
  const last = { kind: 'end', handle: 'error', why: `${why} after 5 tries` }
  expect(judgeCall(given, 5, now)).toEqual(last)
})

describe('Retry-After', () => {
  test.each([
    ['7', 7_000],
    ['0', 1_000],
    ['300', 300_000],
    ['86400', 300_000],
    [new Date(now + 20_000).toUTCString(), 20_000],
    [new Date(now - 20_000).toUTCString(), 1_000],
    [new Date(now + 86_400_000).toUTCString(), 300_000],
    ['soon', 1_000],
    ['-5', 1_000],
    ['', 1_000],
  ])('%j waits %d ms', (text, after_ms) => {
    expect(judgeCall(answer(503, text), 1, now)).toMatchObject({ kind: 'again', after_ms })
  })
  test('does not shorten the usual pause', () => {
    expect(judgeCall(answer(429, '1'), 4, now)).toMatchObject({ after_ms: 8_000 })
  })
})
