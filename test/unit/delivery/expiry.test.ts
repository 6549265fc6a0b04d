// Mail that expired while it waited is settled without an attempt.
import { expect, test } from 'vitest'
import { afterExpiry, UNKNOWN_RESPONSE } from '../../../delivery/nextState.ts'

const NOW = Date.UTC(2026, 0, 2)
const HOUR_MS = 3_600_000

const expired = (over: {
  due: number
  expires: number
  resent?: number
  response?: string | null
}) =>
  afterExpiry({
    delivery: {
      id: 7,
      attempt: 3,
      resent: over.resent ?? 0,
      last_response: over.response === undefined ? '451 later' : over.response,
      was: 'deferred',
      next_at: new Date(NOW + over.due),
      expires_at: new Date(NOW + over.expires),
    },
    acceptedAt: NOW,
    now: NOW,
    reportingMta: 'mail.test',
    resendUnknown: false,
    random: 0.5,
    ofRelay: false,
  })

test.each([
  ['due long before it expired', { due: -2 * HOUR_MS, expires: -HOUR_MS }, 'bounced'],
  ['due before it expired just now', { due: -HOUR_MS, expires: 0 }, 'bounced'],
  ['due at its expiry, which was just now', { due: -1_000, expires: -1_000 }, null],
  ['due at its expiry, long ago', { due: -HOUR_MS, expires: -HOUR_MS }, 'bounced'],
  ['not expired', { due: -HOUR_MS, expires: 1 }, null],
])('a claimed mail that is %s', (_name, { due, expires }, state) => {
  const settlement = expired({ due, expires })
  expect(settlement?.state ?? null).toBe(state)
  if (settlement) {
    expect(settlement).toMatchObject({ counted: false, attempt: null, response: '451 later' })
    expect(settlement.event?.data).toEqual({ type: 'Transient', subtype: 'General' })
  }
})

// A worker that dies in the attempt leaves no response.
test.each([UNKNOWN_RESPONSE, 'connect: ECONNREFUSED', null])(
  'a claimed mail that was to be sent once more, and has expired after %j, is unknown',
  (response) => {
    const over = { due: -HOUR_MS, expires: 0, resent: 1, response }
    expect(expired(over)).toMatchObject({
      state: 'unknown',
      counted: false,
      event: { status: 'delivered', data: { smtp_response: UNKNOWN_RESPONSE } },
    })
    expect(expired({ ...over, response: '451 later' })?.state).toBe('bounced')
  },
)
