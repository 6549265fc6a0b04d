// The expiry of automation and broadcast mail moves by the time that breakers keep it waiting.
import { describe, expect, test } from 'vitest'
import { createBreakers } from '../../../delivery/breakers.ts'
import { keepTime, movedAlong } from '../../../delivery/heldTime.ts'
import { afterExpiry, toSettlement } from '../../../delivery/nextState.ts'
import type { Outcome } from '../../../mail/transport.ts'
import { oursBy } from '../../../rules/mail/bounces/answers.ts'
import { mailClasses } from '../../../rules/mail/classes.ts'
import { openWithin } from '../../../rules/mail/openTimes.ts'

const NOW = Date.UTC(2026, 0, 2)
const MINUTE_MS = 60_000

test.each([
  ['nothing', [], 0, 100, 0],
  ['a time before', [[0, 10]], 10, 100, 0],
  ['a time after', [[100, 110]], 10, 100, 0],
  ['a whole time', [[20, 30]], 10, 100, 10],
  ['one that began before', [[0, 30]], 10, 100, 20],
  ['one that is still open', [[90, null]], 10, 100, 10],
  ['one that ended later', [[90, 120]], 10, 100, 10],
  [
    'two apart',
    [
      [20, 30],
      [50, 60],
    ],
    10,
    100,
    20,
  ],
  [
    'two that overlap, once',
    [
      [40, 60],
      [20, 50],
    ],
    10,
    100,
    40,
  ],
  [
    'one inside another',
    [
      [20, 80],
      [30, 40],
    ],
    10,
    100,
    60,
  ],
  [
    'one inside an open one',
    [
      [20, null],
      [30, 40],
    ],
    10,
    100,
    80,
  ],
] as [string, [number, number | null][], number, number, number][])(
  'open within a time: %s',
  (_name, times, since, now, expected) => {
    expect(
      openWithin(
        times.map(([from, to]) => ({ from, to })),
        since,
        now,
      ),
    ).toBe(expected)
  },
)

const refusal = {
  kind: 'rejected',
  phase: 'mail',
  code: 530,
  enhanced: null,
  reply: '530',
} as const
const passed: Outcome = { kind: 'delivered', reply: '250 ok' }

/** Breakers of a relay whose clock the test sets, in minutes from `NOW`. */
function startBreakers() {
  let at = NOW
  const log = { info: () => undefined, warn: () => undefined }
  const now = () => new Date(at)
  const breakers = createBreakers({ mode: 'relay', log, now, random: () => 0 })
  const mail = (due: number) => ({
    recipient: 'a@b.test',
    domain_id: 'dom_1',
    destination: 'b.test',
    next_at: new Date(NOW + due * MINUTE_MS),
  })
  const tryOne = async (outcome: Outcome, isOurs: boolean) => {
    const admission = await breakers.admit(mail(0))
    if (admission.kind === 'go') admission.ended(outcome, isOurs ? oursBy.account : null)
    return admission.kind
  }
  return {
    at: (minute: number) => {
      at = NOW + minute * MINUTE_MS
    },
    open: () => tryOne(refusal, true),
    close: () => tryOne(passed, false),
    held: (due: number) => breakers.heldFor(mail(due)) / MINUTE_MS,
    isOpen: () => breakers.isOpenFor(mail(0)),
  }
}

test('breakers know how long one was open since a mail was due', async () => {
  const b = startBreakers()
  expect([b.held(0), b.isOpen()]).toEqual([0, false])
  b.at(10)
  expect(await b.open()).toBe('go')
  b.at(15)
  expect([b.held(0), b.held(12), b.held(15), b.isOpen()]).toEqual([5, 3, 0, true])
  b.at(20)
  expect(await b.close()).toBe('go')
  b.at(60)
  expect([b.held(0), b.held(12), b.held(30), b.isOpen()]).toEqual([10, 8, 0, false])
  // It opens again: both times count.
  expect(await b.open()).toBe('go')
  b.at(70)
  expect([b.held(0), b.held(30)]).toEqual([20, 10])
})

describe('a claimed mail', () => {
  const HOUR_MS = 60 * MINUTE_MS
  const of = (name: (typeof mailClasses)[number]) => ({
    id: 7,
    attempt: 1,
    resent: 0,
    last_response: null,
    was: 'queued' as const,
    class: mailClasses.indexOf(name),
    created_at: new Date(NOW),
    expires_at: new Date(NOW + HOUR_MS),
  })
  const settle = (
    name: (typeof mailClasses)[number],
    outcome: Outcome,
    { held_ms, isHeld }: { held_ms: number; isHeld: boolean },
  ) => {
    const delivery = of(name)
    const moved = movedAlong(delivery, held_ms)
    const settlement = toSettlement(outcome, {
      delivery: moved,
      acceptedAt: NOW,
      now: NOW,
      reportingMta: 'mail.test',
      resendUnknown: false,
      random: 0.5,
      ofRelay: true,
    })
    if (!settlement) throw new Error('there is a settlement')
    return keepTime(settlement, { delivery, moved, isHeld, since: new Date(NOW) })
  }
  const busy: Outcome = { kind: 'busy', error: 'later', retryAfter_ms: 5 * MINUTE_MS }
  const minutes = (expiresAt: Date | undefined) =>
    expiresAt && (expiresAt.getTime() - NOW - HOUR_MS) / MINUTE_MS

  test.each([
    ['transactional', busy, 30, true, undefined],
    ['automation', busy, 0, true, 5],
    ['broadcast', busy, 0, true, 5],
    ['broadcast', busy, 30, true, 35],
    // Busy without a breaker: a destination that has no room is none of ours.
    ['broadcast', busy, 0, false, undefined],
    ['broadcast', busy, 30, false, 30],
    ['broadcast', passed, 30, true, undefined],
    ['automation', { ...refusal, reply: '451 4.3.0 later', code: 451 }, 0, true, 1],
    ['transactional', { ...refusal, reply: '451 4.3.0 later', code: 451 }, 0, true, undefined],
  ] as [(typeof mailClasses)[number], Outcome, number, boolean, number | undefined][])(
    '%s after %o, held for %i minutes in line, then by a breaker: %s',
    (name, outcome, held, isHeld, expected) => {
      const held_ms = held * MINUTE_MS
      expect(minutes(settle(name, outcome, { held_ms, isHeld }).expiresAt)).toBe(expected)
    },
  )

  test('that has expired meanwhile has not, by as much as it was held', () => {
    const late = { ...of('broadcast'), expires_at: new Date(NOW - MINUTE_MS) }
    expect(movedAlong(late, 2 * MINUTE_MS).expires_at.getTime()).toBe(NOW + MINUTE_MS)
    const transactional = { ...late, class: mailClasses.indexOf('transactional') }
    expect(movedAlong(transactional, 2 * MINUTE_MS)).toBe(transactional)
  })

  test.each([
    ['not tried', busy],
    ['refused', refusal],
  ] as [string, Outcome][])('that is %s again and again expires after seven days', (_, outcome) => {
    const DAY_MS = 24 * HOUR_MS
    let delivery = { ...of('broadcast'), attempt: 9, next_at: new Date(NOW) }
    let at = NOW
    // It stands in line for a minute each time.
    for (; at < NOW + 30 * DAY_MS; at = delivery.next_at.getTime() + MINUTE_MS) {
      const moved = movedAlong(delivery, MINUTE_MS)
      const context = {
        delivery: moved,
        acceptedAt: NOW,
        now: at,
        reportingMta: 'mail.test',
        resendUnknown: false,
        random: 0.5,
        ofRelay: true,
      }
      const settlement = afterExpiry(context) ?? toSettlement(outcome, context)
      if (!settlement || settlement.state === 'bounced') break
      const since = new Date(at)
      const { nextAt, expiresAt } = keepTime(settlement, { delivery, moved, isHeld: true, since })
      const expires_at = expiresAt ?? delivery.expires_at
      delivery = { ...delivery, attempt: 9, next_at: nextAt ?? since, expires_at }
    }
    expect((at - NOW) / DAY_MS).toBeCloseTo(7, 1)
  })

  test('that has more time than seven days keeps it', () => {
    const long = { ...of('broadcast'), created_at: new Date(NOW - 8 * 24 * HOUR_MS) }
    expect(movedAlong(long, MINUTE_MS).expires_at).toEqual(long.expires_at)
  })
})
