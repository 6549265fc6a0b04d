// When a deferred delivery is tried again.
import { describe, expect, test } from 'vitest'
import { expiry_ms, nextAttempt, statedWait } from '../../../rules/mail/retry.ts'

const minute = 60_000
const now = 1_800_000_000_000
const far = now + 1000 * 60 * minute

/** Minutes until the next attempt. */
function wait(attempt: number, reply: string | null = null, random = 0.5, expiresAt = far) {
  const next = nextAttempt({ attempt, now, expiresAt, reply, random })
  return next.kind === 'retry' ? (next.at - now) / minute : next.kind
}

test('1, 5, 15, 30, 60 minutes, 2 hours, then every 4', () => {
  expect([0, 1, 2, 3, 4, 5, 6, 7, 8, 100].map((attempt) => wait(attempt))).toEqual([
    1, 1, 5, 15, 30, 60, 120, 240, 240, 240,
  ])
})

test('after what is our fault never longer than 15 minutes, unless the reply says so', () => {
  const ours = (attempt: number, reply: string) => {
    const next = nextAttempt({ attempt, now, expiresAt: far, reply, random: 0.5, isOurs: true })
    return next.kind === 'retry' ? (next.at - now) / minute : next.kind
  }
  const refused = '530 Authentication required'
  expect([1, 2, 3, 4, 9].map((attempt) => ours(attempt, refused))).toEqual([1, 5, 15, 15, 15])
  expect(ours(9, '451 try again in 2 hours')).toBe(120)
})

test('spread by 20 % to both sides', () => {
  expect(wait(5, null, 0)).toBe(48)
  expect(wait(5, null, 0.999999)).toBeCloseTo(72, 2)
})

test('never after expiry; the last attempt is made at expiry', () => {
  expect(wait(9, null, 0.5, now + 10 * minute)).toBe(10)
  expect(wait(9, null, 0.5, now)).toBe('expired')
  expect(wait(1, null, 0.5, now - 1)).toBe('expired')
  expect(expiry_ms).toEqual({ transactional: 24 * 60 * minute, broadcast: 48 * 60 * minute })
})

test('greylisting: five minutes at least', () => {
  expect(wait(1, '450 4.2.0 Greylisted for you')).toBe(5)
  expect(wait(1, '451 grey-listing in action')).toBe(5)
  expect(wait(1, '451 graylisting', 0)).toBe(5)
  expect(wait(3, '450 greylisted')).toBe(15)
})

describe('a stated wait', () => {
  test.each([
    ['421 Too many connections, try again in 10 minutes', 10],
    ['450 4.7.1 Greylisted, try again in 90 seconds', 1.5],
    ['451 please retry after 3 min.', 3],
    ['451 Please wait for 2 hours', 120],
    ['421-first line\n421 Try again in 300s', 5],
    ['451 try again in about 1 minute', 1],
    ['451 try again in 7 days', null],
    ['451 try again in 900 hours', 240],
    ['451 try again later; 5 minutes ago it worked', null],
    ['451 too many mails in 10 minutes', null],
    ['451 4.7.500 try again', null],
  ])('%j: %s', (reply, minutes) => {
    if (minutes === null) expect(statedWait(reply)).toBe(null)
    else {
      expect(statedWait(reply)).toBe(minutes * minute)
      expect(wait(2, reply)).toBe(minutes)
    }
  })

  test('a very short one is followed three times', () => {
    const reply = '451 try again in 1 second'
    expect([1, 2, 3, 4].map((attempt) => wait(attempt, reply))).toEqual([1 / 60, 1 / 60, 1 / 60, 1])
    expect(statedWait('451 try again in 0 seconds')).toBe(1000)
  })
})
