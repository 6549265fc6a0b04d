// A breaker on a virtual clock: what it lets through while open, whom it asks first, and that it closes.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  afterRefusal,
  afterUntried,
  askBreaker,
  type Breaker,
  closedBreaker,
  isProbeDue,
} from '../../../rules/mail/breakers.ts'

const MINUTE_MS = 60_000
const open = (domain = 'a', at = 0) => afterRefusal(closedBreaker, domain, at, 1)

/** Asks in turn, at one time, and returns the answers as words. */
function askAll(breaker: Breaker, domains: string[], at: number) {
  let after = breaker
  const answers = domains.map((domain) => {
    const asked = askBreaker(after, domain, at, 0.5)
    after = asked.breaker
    return asked.answer.kind === 'wait' ? asked.answer.wait_ms : asked.answer.kind
  })
  return { after, answers }
}

test('a closed one lets everything pass', () => {
  expect(askAll(closedBreaker, ['a', 'b'], 0).answers).toEqual(['go', 'go'])
})

test('it opens at so many refusals within a minute', () => {
  const refused = (times: number[], opensAt: number) =>
    times.reduce((breaker, at) => afterRefusal(breaker, 'a', at, opensAt), closedBreaker).open !==
    null
  expect(refused([0], 1)).toBe(true)
  expect(refused([0, 1], 3)).toBe(false)
  expect(refused([0, 30_000, 59_000], 3)).toBe(true)
  expect(refused([0, 30_000, 61_000], 3)).toBe(false)
  expect(refused([0, 30_000, 61_000, 62_000], 3)).toBe(true)
})

test('an open one lets one mail of the same domain through each minute; the others come back in a line', () => {
  expect(askAll(open(), ['a', 'a', 'a'], 1_000).answers).toEqual([59_000, 59_020, 59_040])
  const { after, answers } = askAll(open(), ['a', 'a'], MINUTE_MS)
  expect(answers, 'soon, since the one that is tried may close it').toEqual(['probe', 3_000])
  expect(askAll(after, ['a', 'a'], MINUTE_MS + 10_000).answers).toEqual([50_000, 50_020])
  expect(askAll(after, ['a'], 2 * MINUTE_MS).answers).toEqual(['probe'])
})

test('one mail of another domain is tried at once, so that one domain stops no other for longer', () => {
  const { after, answers } = askAll(open('a'), ['a', 'b', 'c'], 0)
  expect(answers).toEqual([60_000, 'probe', 3_000])
  // It is refused as well: now all of them have their minute.
  const both = afterRefusal(after, 'b', 100, 1)
  expect(
    askAll(both, ['a', 'c'], 10_000).answers.every((answer) => typeof answer === 'number'),
  ).toBe(true)
  // Those that were under way at the opening and are of another domain say the same.
  const underWay = afterRefusal(open('a'), 'b', 50, 1)
  expect(askAll(underWay, ['c'], 60).answers).toEqual([59_940])
})

test('the domain that failed last lets another one go first, for as long as that one is expected', () => {
  const tried = askAll(open('a'), ['b'], 0).after
  const failed = afterRefusal(tried, 'b', 100, 1)
  const waiting = askAll(failed, ['a'], 20_000).after
  expect(askAll(waiting, ['b'], MINUTE_MS).answers).toEqual([20])
  expect(askAll(waiting, ['b', 'a'], MINUTE_MS + 10).answers).toEqual([20, 'probe'])
  // It did not come.
  expect(askAll(waiting, ['b'], MINUTE_MS + 10_000).answers).toEqual(['probe'])
})

test('one that was not tried after all leaves its turn to the next', () => {
  const tried = askAll(open(), ['a'], MINUTE_MS).after
  expect(askAll(afterUntried(tried, MINUTE_MS), ['a'], MINUTE_MS).answers).toEqual(['probe'])
  expect(afterUntried(closedBreaker, 0)).toBe(closedBreaker)
})

test('a long line is no longer than five minutes', () => {
  const { answers } = askAll(open(), Array(40_000).fill('a'), 0)
  const waits = answers.filter((answer) => typeof answer === 'number')
  expect(waits).toHaveLength(40_000)
  expect(Math.max(...waits)).toBeLessThanOrEqual(6 * MINUTE_MS)
})

test('where the clock was set back, nothing waits until it is there again', () => {
  const HOUR_MS = 60 * MINUTE_MS
  const at = 2 * HOUR_MS
  const line = askAll(open('a', at), Array(1_000).fill('a'), at).after
  const tried = askAll(line, ['a', 'a'], at + MINUTE_MS).after
  for (const before of [open('a', at), line, tried]) {
    expect(before.open && isProbeDue(before.open, at - HOUR_MS)).toBe(true)
    const { after, answers } = askAll(before, ['a', 'a', 'b'], at - HOUR_MS)
    expect(answers).toEqual(['probe', 3_000, 3_000])
    expect(after.open && isProbeDue(after.open, at - HOUR_MS)).toBe(false)
    expect(askAll(after, ['a', 'a'], at - HOUR_MS + 10_000).answers).toEqual([50_000, 50_020])
    expect(askAll(after, ['a'], at - HOUR_MS + MINUTE_MS).answers).toEqual(['probe'])
  }
  // By a little, as the clock follows that of Postgres: one that has just opened is not asked again for it.
  expect(askAll(open('a', at), ['a'], at - 500).answers).toEqual([60_500])
})

/** Mail that waits, and a server that takes it from `mendedAt` on, on a virtual clock. */
function simulate(mails: { at: number; domain: string }[], mendedAt: number, random: () => number) {
  const due = mails.map((mail) => ({ ...mail, waits: false }))
  let breaker = closedBreaker
  let failedLast: string | null = null
  const tries: { at: number; isAgain: boolean; others: number }[] = []
  let delivered = 0
  let last = 0
  while (due.length > 0) {
    due.sort((a, b) => a.at - b.at)
    const mail = due.shift()
    if (!mail) break
    last = mail.at
    const asked = askBreaker(breaker, mail.domain, mail.at, random())
    breaker = asked.breaker
    if (asked.answer.kind === 'wait') {
      expect(asked.answer.wait_ms).toBeGreaterThan(0)
      due.push({ ...mail, at: mail.at + asked.answer.wait_ms, waits: true })
      continue
    }
    if (mail.at >= mendedAt) {
      breaker = closedBreaker
      delivered += 1
      continue
    }
    const others = due.filter(({ domain, waits }) => waits && domain !== mail.domain).length
    tries.push({ at: mail.at, isAgain: mail.domain === failedLast, others })
    failedLast = mail.domain
    breaker = afterRefusal(breaker, mail.domain, mail.at, 1)
    due.push({ ...mail, at: mail.at + MINUTE_MS * (0.8 + 0.4 * random()), waits: false })
  }
  return { tries, delivered, last }
}

test('whatever comes when: about one try a minute, in turns, and all is delivered soon after the mend', () => {
  const mail = fc.record({
    at: fc.integer({ min: 0, max: 20 * MINUTE_MS }),
    domain: fc.constantFrom('a', 'b', 'c'),
  })
  fc.assert(
    fc.property(
      fc.array(mail, { minLength: 1, maxLength: 120 }),
      fc.integer({ min: 0, max: 40 * MINUTE_MS }),
      fc.array(fc.double({ min: 0, max: 0.999, noNaN: true }), { minLength: 5, maxLength: 5 }),
      (mails, mendedAt, randoms) => {
        let next = 0
        const random = () => randoms[next++ % randoms.length] ?? 0
        const { tries, delivered, last } = simulate(mails, mendedAt, random)
        expect(delivered).toBe(mails.length)
        expect(last).toBeLessThanOrEqual(Math.max(mendedAt, 20 * MINUTE_MS) + 8 * MINUTE_MS)
        // The one that opens it, and one of another domain at once; then one a minute.
        const first = tries[0]?.at ?? 0
        for (const [i, { at }] of tries.entries()) {
          expect(i).toBeLessThanOrEqual((at - first) / MINUTE_MS + 1)
        }
        for (const { isAgain, others } of tries) expect(isAgain && others > 0).toBe(false)
      },
    ),
    { numRuns: 300 },
  )
})
