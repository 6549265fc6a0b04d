// The row of an attempt: its facts, and a bounded part of the conversation.
import { expect, test } from 'vitest'
import { createTrace, toAttempt } from '../../../delivery/attemptRow.ts'
import type { Outcome } from '../../../mail/transport.ts'

const times = { attempt: 3, startedAt: new Date(1_000), endedAt: new Date(2_000) }
const attempt = (outcome: Outcome, trace = createTrace()) => toAttempt(outcome, trace, times)

test('an attempt is stored with its phase, code, reply and server', () => {
  const trace = { ...createTrace(), host: 'mx.one.test', address: '192.0.2.1:25', tls: 'TLSv1.3' }
  expect(attempt({ kind: 'delivered', reply: '250 2.0.0 Ok' }, trace)).toEqual({
    attempt: 3,
    started_at: new Date(1_000),
    ended_at: new Date(2_000),
    outcome: 'delivered',
    phase: 'dot',
    code: 250,
    response: '250 2.0.0 Ok',
    host: 'mx.one.test',
    address: '192.0.2.1:25',
    tls: 'TLSv1.3',
    conversation: '',
  })
  const refusal: Outcome = {
    kind: 'rejected',
    phase: 'rcpt',
    code: 550,
    enhanced: '5.1.1',
    reply: '550 5.1.1 no such user',
  }
  expect(attempt(refusal)).toMatchObject({ outcome: 'rejected', phase: 'rcpt', code: 550 })
  expect(attempt({ kind: 'failed', phase: 'connect', error: 'refused' })).toMatchObject({
    outcome: 'failed',
    phase: 'connect',
    code: null,
    response: 'refused',
  })
  expect(attempt({ kind: 'ambiguous', error: 'reset' })).toMatchObject({ phase: 'dot', code: null })
})

test('an untried delivery, and one that another lane settles, has no row', () => {
  expect(attempt({ kind: 'busy', error: 'full', retryAfter_ms: 1 })).toBeNull()
  expect(attempt({ kind: 'lost_lease' })).toBeNull()
})

test('an endless conversation is cut', () => {
  const said = (lines: number, chars: number) => {
    const line = { at_ms: 0, from: 'server', text: 'x'.repeat(chars) } as const
    const trace = { ...createTrace(), lines: Array.from({ length: lines }, () => ({ ...line })) }
    return attempt({ kind: 'ambiguous', error: 'reset' }, trace)?.conversation.split('\n').length
  }
  expect(said(5_000, 10)).toBe(200)
  expect(said(50, 1_000)).toBe(8)
  expect(said(199, 10)).toBe(199)
})
