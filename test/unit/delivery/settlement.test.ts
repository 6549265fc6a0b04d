// The next state of a delivery for each outcome of an attempt.
import { expect, test } from 'vitest'
import { toSettlement, UNKNOWN_RESPONSE } from '../../../delivery/nextState.ts'
import { unknownDomainRejection } from '../../../mail/dns/mxHosts.ts'
import type { Outcome } from '../../../mail/transport.ts'
import { deliveryTransitions } from '../../../rules/states.ts'

const NOW = Date.UTC(2026, 0, 2)
const HOUR_MS = 3_600_000

function settle(
  outcome: Outcome,
  over: {
    attempt?: number
    resent?: number
    expired?: boolean
    resendUnknown?: boolean
    lastResponse?: string
    was?: 'queued' | 'deferred'
    ours?: boolean
  } = {},
) {
  return toSettlement(outcome, {
    delivery: {
      id: 7,
      attempt: over.attempt ?? 1,
      resent: over.resent ?? 0,
      last_response: over.lastResponse ?? null,
      was: over.was ?? 'queued',
      expires_at: new Date(NOW + (over.expired ? -1 : 24 * HOUR_MS)),
    },
    acceptedAt: NOW - 250,
    now: NOW,
    reportingMta: 'mail.test',
    resendUnknown: over.resendUnknown ?? true,
    random: 0.5,
    ours: over.ours ?? false,
  })
}

const refused = (code: number, enhanced: string | null, reply: string): Outcome => ({
  kind: 'rejected',
  phase: 'rcpt',
  code,
  enhanced,
  reply,
})

test('2xx after the dot is delivered, with the fields of the contract', () => {
  expect(settle({ kind: 'delivered', reply: '250 2.0.0 Ok' })).toEqual({
    id: 7,
    state: 'delivered',
    nextAt: null,
    response: '250 2.0.0 Ok',
    resent: 0,
    counted: true,
    suppress: 'no',
    attempt: null,
    event: {
      status: 'delivered',
      at: new Date(NOW),
      data: {
        processing_time_millis: 250,
        reporting_mta: 'mail.test',
        smtp_response: '250 2.0.0 Ok',
      },
    },
  })
})

test('a permanent refusal bounces and suppresses', () => {
  const settlement = settle(refused(550, '5.1.1', '550 5.1.1 no such user'))
  expect(settlement).toMatchObject({
    state: 'bounced',
    suppress: 'for_good',
    event: { status: 'bounced', data: { type: 'Permanent', subtype: 'NoEmail' } },
  })
})

test('a domain that is not found is looked up again half an hour later, and bounces if it is not found again', () => {
  const first = settle(unknownDomainRejection('NXDOMAIN'))
  expect(first).toMatchObject({ state: 'deferred', event: null })
  expect((first?.nextAt?.getTime() ?? 0) - NOW).toBeGreaterThanOrEqual(30 * 60_000)
  const second = settle(unknownDomainRejection('NXDOMAIN'), { lastResponse: first?.response ?? '' })
  expect(second).toMatchObject({
    state: 'bounced',
    event: { data: { type: 'Permanent', subtype: 'General' } },
  })
})

test('a 4xx is deferred without an event', () => {
  const settlement = settle(refused(451, '4.3.0', '451 4.3.0 later'))
  expect(settlement).toMatchObject({ state: 'deferred', event: null, suppress: 'no' })
  expect(settlement?.nextAt?.getTime()).toBe(NOW + 60_000)
})

test('a failure before the dot is deferred; after its expiry it bounces as Transient', () => {
  const failed: Outcome = { kind: 'failed', phase: 'connect', error: 'ECONNREFUSED' }
  expect(settle(failed)).toMatchObject({ state: 'deferred', event: null })
  expect(settle(failed, { expired: true })).toMatchObject({
    state: 'bounced',
    suppress: 'soft',
    event: { data: { type: 'Transient', subtype: 'General' } },
  })
})

test('a final soft bounce counts against the address, except if the fault is in this service', () => {
  const full = refused(552, '5.2.2', '552 5.2.2 mailbox full')
  const blocked = refused(451, '4.7.1', '451 4.7.1 blocked by the rbl of spamhaus.example')
  const broken: Outcome = { kind: 'failed', phase: 'body', error: 'the mail could not be composed' }
  expect(settle(full)).toMatchObject({ state: 'bounced', suppress: 'soft' })
  expect(settle(blocked, { expired: true })).toMatchObject({ state: 'bounced', suppress: 'no' })
  expect(settle(broken, { expired: true, ours: true })).toMatchObject({
    state: 'bounced',
    suppress: 'no',
  })
  expect(settle(full, { expired: true })?.event?.data).toEqual({
    type: 'Transient',
    subtype: 'MailboxFull',
  })
})

test('an untried delivery returns to its former state, later, without an attempt', () => {
  const busy: Outcome = { kind: 'busy', error: 'no connection was free', retryAfter_ms: 1500 }
  for (const was of ['queued', 'deferred'] as const) {
    expect(settle(busy, { was, attempt: 9, lastResponse: '451 later' })).toEqual({
      id: 7,
      state: was,
      nextAt: new Date(NOW + 1500),
      response: '451 later',
      resent: 0,
      counted: false,
      suppress: 'no',
      attempt: null,
      event: null,
    })
  }
  expect(settle(busy, { expired: true }), 'but not for ever').toMatchObject({
    state: 'bounced',
    response: 'no connection was free',
    suppress: 'no',
    event: { data: { type: 'Transient', subtype: 'General' } },
  })
})

test('a lost lease settles nothing: its new owner does', () => {
  expect(settle({ kind: 'lost_lease' })).toBeNull()
})

test('an unknown outcome is sent once more if that is allowed, and only once', () => {
  const unknown: Outcome = { kind: 'ambiguous', error: 'reset' }
  expect(settle(unknown)).toMatchObject({ state: 'queued', resent: 1, event: null })
  for (const final of [settle(unknown, { resent: 1 }), settle(unknown, { resendUnknown: false })]) {
    expect(final).toMatchObject({
      state: 'unknown',
      event: { status: 'delivered', data: { smtp_response: UNKNOWN_RESPONSE } },
    })
  }
})

test('every settlement is a move that the table of states allows', () => {
  const outcomes: Outcome[] = [
    { kind: 'delivered', reply: '250 ok' },
    refused(550, '5.1.1', 'gone'),
    refused(451, null, 'later'),
    { kind: 'failed', phase: 'body', error: 'reset' },
    { kind: 'ambiguous', error: 'reset' },
    { kind: 'busy', error: 'full', retryAfter_ms: 1 },
  ]
  for (const outcome of outcomes) {
    const state = settle(outcome)?.state
    const allowed: readonly string[] = [
      ...deliveryTransitions.sending,
      ...deliveryTransitions.data_sent,
    ]
    expect(allowed).toContain(state)
  }
})
