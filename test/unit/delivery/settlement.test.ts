// The next state of a delivery for each outcome of an attempt.
import { expect, test } from 'vitest'
import { refusalOf, UNKNOWN_RESPONSE } from '../../../delivery/nextState.ts'
import type { Outcome } from '../../../mail/transport.ts'
import { deliveryTransitions } from '../../../rules/states.ts'
import { NOW, refused, settle } from './settle.ts'

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
    suppress: 'no',
    event: { data: { type: 'Transient', subtype: 'General' } },
  })
})

test('only a mailbox that is full or busy counts against the address', () => {
  const full = refused(552, '5.2.2', '552 5.2.2 mailbox full')
  const filling = refused(452, '4.2.2', '452 4.2.2 mailbox full')
  const unwanted = refused(554, '5.7.1', '554 5.7.1 spam message rejected')
  const later = refused(451, '4.3.0', '451 4.3.0 later')
  const unnamed: Outcome = { kind: 'failed', phase: 'connect', error: 'the DNS did not answer' }
  const shows = (subtype: string) => ({ data: { type: 'Transient', subtype } })
  expect(settle(full)).toMatchObject({ suppress: 'soft', event: shows('MailboxFull') })
  expect(settle(filling)).toMatchObject({ state: 'deferred', suppress: 'no' })
  expect(settle(filling, { expired: true })).toMatchObject({
    state: 'bounced',
    suppress: 'soft',
    event: shows('MailboxFull'),
  })
  expect(settle(unwanted)).toMatchObject({ suppress: 'no', event: shows('ContentRejected') })
  expect(settle(later, { expired: true })).toMatchObject({
    suppress: 'no',
    event: shows('General'),
  })
  expect(settle(unnamed, { expired: true })).toMatchObject({
    suppress: 'no',
    event: shows('General'),
  })
})

test('what is our fault ends no mail before its expiry, and suppresses nobody then', () => {
  const faults: Outcome[] = [
    {
      kind: 'rejected',
      phase: 'mail',
      code: 530,
      enhanced: null,
      reply: '530 Authentication required',
    },
    { kind: 'rejected', phase: 'mail', code: 550, enhanced: null, reply: '550 who are you' },
    refused(504, '5.5.2', '504 5.5.2 <a1b2>: Helo command rejected: need fully-qualified hostname'),
    refused(550, '5.7.606', '550 5.7.606 Access denied, banned sending IP [192.0.2.1]'),
    refused(550, '5.4.5', '550 5.4.5 Daily user sending limit exceeded'),
    refused(550, null, '550 relay not permitted'),
    refused(554, null, '554 Message rejected: Email address is not verified.'),
  ]
  for (const fault of faults) {
    expect(settle(fault)).toMatchObject({ state: 'deferred', event: null, suppress: 'no' })
    expect(settle(fault, { expired: true })).toMatchObject({
      state: 'bounced',
      suppress: 'no',
      event: { data: { type: 'Transient', subtype: 'General' } },
    })
    expect(refusalOf(fault, false)).toMatchObject({ fault: 'ours' })
  }
})

test('a relay that refuses a recipient by 5.7.1 alone is tried again, another server is not', () => {
  const refusal = refused(550, '5.7.1', '550 5.7.1 Refused')
  expect(settle(refusal, { ofRelay: true })).toMatchObject({ state: 'deferred' })
  expect(settle(refusal)).toMatchObject({ state: 'bounced', suppress: 'no' })
  expect(refusalOf(refusal, true)).toMatchObject({ fault: 'ours', speaksOf: 'account' })
})

test('an unknown refusal for good bounces, and suppresses nobody', () => {
  expect(settle(refused(550, null, '550 Requested action not taken'))).toMatchObject({
    state: 'bounced',
    suppress: 'no',
    event: { data: { type: 'Permanent', subtype: 'General' } },
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

const asUnknown = {
  state: 'unknown',
  event: { status: 'delivered', data: { smtp_response: UNKNOWN_RESPONSE } },
}

test('an unknown outcome is sent once more if that is allowed, and only once', () => {
  const unknown: Outcome = { kind: 'ambiguous', error: 'reset' }
  expect(settle(unknown)).toMatchObject({ state: 'queued', resent: 1, event: null })
  for (const over of [{ resent: 1 }, { resendUnknown: false }, { expired: true }]) {
    expect(settle(unknown, over), JSON.stringify(over)).toMatchObject(asUnknown)
  }
})

test('what was to be sent once more, and expired before it could be, is still unknown', () => {
  const busy: Outcome = { kind: 'busy', error: 'no connection was free', retryAfter_ms: 1500 }
  const over = { expired: true, resent: 1, lastResponse: UNKNOWN_RESPONSE }
  expect(settle(busy, over)).toMatchObject({ ...asUnknown, suppress: 'no', attempt: null })
})

test('what could not be sent once more before its time was over is still unknown, unless a server refuses it', () => {
  const away: Outcome = { kind: 'failed', phase: 'connect', error: 'ECONNREFUSED' }
  const over = { expired: true, resent: 1 }
  expect(settle(away, over)).toMatchObject({ ...asUnknown, suppress: 'no' })
  expect(settle(away, { expired: true })).toMatchObject({ state: 'bounced' })
  expect(settle(refused(451, null, '451 later'), over)).toMatchObject({ state: 'bounced' })
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
