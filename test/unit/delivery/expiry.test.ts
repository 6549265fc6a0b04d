// Mail that expired while it waited is settled without an attempt.
import { expect, test } from 'vitest'
import { afterExpiry } from '../../../delivery/nextState.ts'

const NOW = Date.UTC(2026, 0, 2)
const HOUR_MS = 3_600_000

test.each([
  ['due long before it expired', { due: -2 * HOUR_MS, expires: -HOUR_MS }, 'bounced'],
  ['due before it expired just now', { due: -HOUR_MS, expires: 0 }, 'bounced'],
  ['due at its expiry, which was just now', { due: -1_000, expires: -1_000 }, null],
  ['due at its expiry, long ago', { due: -HOUR_MS, expires: -HOUR_MS }, 'bounced'],
  ['not expired', { due: -HOUR_MS, expires: 1 }, null],
])('a claimed mail that is %s', (_name, { due, expires }, state) => {
  const settlement = afterExpiry({
    delivery: {
      id: 7,
      attempt: 3,
      resent: 0,
      last_response: '451 later',
      was: 'deferred',
      next_at: new Date(NOW + due),
      expires_at: new Date(NOW + expires),
    },
    acceptedAt: NOW,
    now: NOW,
    reportingMta: 'mail.test',
    resendUnknown: false,
    random: 0.5,
    ofRelay: false,
  })
  expect(settlement?.state ?? null).toBe(state)
  if (settlement) {
    expect(settlement).toMatchObject({ counted: false, attempt: null, response: '451 later' })
    expect(settlement.event?.data).toEqual({ type: 'Transient', subtype: 'General' })
  }
})
