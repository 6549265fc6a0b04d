// What is our fault waits until its mail expires, in every phase and whatever its code.
import { expect, test } from 'vitest'
import { refusalOf, toSettlement } from '../../../delivery/nextState.ts'
import { rejection } from '../../../mail/smtp/outcomes.ts'

const NOW = Date.UTC(2026, 0, 2)
const DAY_MS = 24 * 3_600_000

const replies = [
  '530 5.7.0 Authentication required',
  '535 5.7.8 Error: authentication failed',
  '454 4.7.0 Daily message quota exceeded',
  '550 5.7.606 Access denied, banned sending IP [192.0.2.1]',
  '421 4.7.0 [TSS04] Messages from 192.0.2.1 temporarily deferred due to user complaints',
  '550 5.7.26 Unauthenticated email from b.test is not accepted due to its DMARC policy',
  '550 5.1.8 Sender address rejected: Domain not found',
  '554 5.7.1 Relay access denied',
]
const phases = ['banner', 'ehlo', 'tls', 'mail', 'rcpt', 'data', 'body', 'dot'] as const
const cases = phases.flatMap((phase) => replies.map((reply) => [phase, reply] as const))

test.each(cases)('%s: %s', (phase, reply) => {
  const fault = rejection(phase, reply)
  for (const ofRelay of [true, false]) {
    const settle = (left_ms: number) =>
      toSettlement(fault, {
        delivery: {
          id: 7,
          attempt: 30,
          resent: 0,
          last_response: null,
          was: 'deferred',
          expires_at: new Date(NOW + left_ms),
        },
        acceptedAt: NOW - DAY_MS,
        now: NOW,
        reportingMta: 'mail.test',
        resendUnknown: true,
        random: 0.5,
        ofRelay,
      })
    expect(refusalOf(fault, ofRelay)).toMatchObject({ fault: 'ours', final: false })
    const waits = settle(DAY_MS)
    expect(waits).toMatchObject({ state: 'deferred', event: null, suppress: 'no' })
    expect((waits?.nextAt?.getTime() ?? 0) - NOW).toBeLessThanOrEqual(15 * 60_000)
    expect(settle(0)).toMatchObject({
      state: 'bounced',
      suppress: 'no',
      event: { data: { type: 'Transient', subtype: 'General' } },
    })
  }
})
