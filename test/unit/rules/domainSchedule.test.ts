// The checks of a sending domain over days: their times, and the states that follow.
import { describe, expect, test } from 'vitest'
import {
  afterCheck,
  type DomainProgress,
  type Finding,
  judge,
  keysToRetire,
  nextCheckMs,
  signingKey,
} from '../../../rules/mail/domainSchedule.ts'
import { type DomainStatus, domainTransitions } from '../../../rules/states.ts'

const START = Date.UTC(2026, 10, 21)
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const at = (ms: number) => new Date(START + ms)
const fresh = (status: DomainStatus): DomainProgress => ({
  status,
  checkingSince: at(0),
  failingSince: null,
  misses: 0,
})

/**
 * Runs checks by the schedule until it ends or `until_ms`. @returns the time of each check and the state after it
 */
function run(from: DomainProgress, until_ms: number, find: (ms: number) => Finding) {
  const seen: { ms: number; status: DomainStatus }[] = []
  let progress = from
  let next = nextCheckMs(progress, [], at(0))
  for (let ms = 0; next !== null && ms + next <= until_ms; ) {
    ms += next
    const after = afterCheck(progress, find(ms), at(ms))
    if (after.status !== progress.status && progress.status !== 'NOT_STARTED') {
      expect(domainTransitions[progress.status]).toContain(after.status)
    }
    progress = after
    seen.push({ ms, status: progress.status })
    next = nextCheckMs(progress, [], at(ms))
  }
  return { seen, progress, next }
}

test('records that are never found: checks are frequent at first, then hourly, and FAILED after 72 hours', () => {
  const { seen, progress, next } = run(fresh('NOT_STARTED'), 100 * HOUR_MS, () => 'missing')
  const times = seen.map(({ ms }) => ms)
  expect(times.slice(0, 6)).toEqual([0.5, 1, 2, 5, 10, 15].map((minutes) => minutes * MINUTE_MS))
  expect(times.filter((ms) => ms <= HOUR_MS)).toHaveLength(4 + 11)
  expect(times.filter((ms) => ms > HOUR_MS && ms <= 24 * HOUR_MS)).toHaveLength(23 * 4)
  expect(times.filter((ms) => ms > 24 * HOUR_MS)).toHaveLength(48)
  expect(times.at(-1)).toBe(72 * HOUR_MS)
  expect(seen[0]?.status).toBe('PENDING')
  expect(seen.at(-2)?.status).toBe('PENDING')
  expect([progress.status, next]).toEqual(['FAILED', null])
})

test('a verified domain is checked every 6 hours', () => {
  const { seen } = run(fresh('SUCCESS'), 24 * HOUR_MS, () => 'found')
  expect(seen.map(({ ms }) => ms / HOUR_MS)).toEqual([6, 12, 18, 24])
})

test('records missing for an hour: TEMPORARY_FAILURE; for 72 hours: FAILED', () => {
  const { seen, next } = run(fresh('SUCCESS'), 200 * HOUR_MS, () => 'missing')
  const first = 6 * HOUR_MS
  expect(seen.findIndex(({ status }) => status === 'TEMPORARY_FAILURE')).toBeGreaterThan(2)
  expect(seen.find(({ status }) => status === 'TEMPORARY_FAILURE')?.ms).toBe(first + HOUR_MS)
  expect(seen.find(({ status }) => status === 'FAILED')?.ms).toBe(first + 72 * HOUR_MS)
  expect(next).toBeNull()
})

test('two misses over more than an hour are not enough', () => {
  const once = afterCheck(fresh('SUCCESS'), 'missing', at(0))
  const twice = afterCheck(once, 'missing', at(2 * HOUR_MS))
  expect(twice.status).toBe('SUCCESS')
  expect(afterCheck(twice, 'missing', at(2 * HOUR_MS)).status).toBe('TEMPORARY_FAILURE')
})

test('found again: the misses are reset', () => {
  const lost = { ...fresh('TEMPORARY_FAILURE'), failingSince: at(0), misses: 9 }
  expect(afterCheck(lost, 'found', at(HOUR_MS))).toEqual(fresh('SUCCESS'))
})

test.each(Object.keys(domainTransitions) as DomainStatus[])(
  'a DNS that does not answer changes nothing of %s, ever',
  (status) => {
    const before = { ...fresh(status), failingSince: at(0), misses: 5 }
    expect(afterCheck(before, 'unknown', at(1000 * HOUR_MS))).toEqual(before)
  },
)

test('a key that waits for its record is checked like a new domain for 72 hours', () => {
  const next = (age_ms: number) => nextCheckMs(fresh('SUCCESS'), [at(0)], at(age_ms))
  expect([0, 30_000, 10 * MINUTE_MS, 73 * HOUR_MS].map(next)).toEqual([
    30_000,
    30_000,
    5 * MINUTE_MS,
    6 * HOUR_MS,
  ])
})

test('one unanswered question makes a check unknown; otherwise the first fault is its error', () => {
  expect(judge(['SUCCESS', 'SUCCESS'])).toEqual({ finding: 'found', error: null })
  expect(judge(['SUCCESS', 'INVALID_VALUE', 'HOST_NOT_FOUND'])).toEqual({
    finding: 'missing',
    error: 'INVALID_VALUE',
  })
  expect(judge(['HOST_NOT_FOUND', 'SERVICE_ERROR'])).toEqual({
    finding: 'unknown',
    error: 'SERVICE_ERROR',
  })
})

describe('keys', () => {
  const key = (id: string, hours: number | null, algorithm: 'rsa' | 'ed25519' = 'rsa') => ({
    id,
    algorithm,
    activated_at: hours === null ? null : at(hours * HOUR_MS),
  })

  test('the latest active key signs', () => {
    const keys = [key('old', 0), key('new', 10), key('waiting', null)]
    expect(signingKey(keys, 'rsa', at(9 * HOUR_MS))?.id).toBe('old')
    expect(signingKey(keys, 'rsa', at(10 * HOUR_MS))?.id).toBe('new')
    expect(signingKey(keys, 'ed25519', at(10 * HOUR_MS))).toBeUndefined()
  })

  test('the key before it stays published for seven more days', () => {
    const keys = [key('old', 0), key('ed', 0, 'ed25519'), key('new', 10), key('waiting', null)]
    expect(keysToRetire(keys, at((10 + 7 * 24) * HOUR_MS - 1))).toEqual([])
    expect(keysToRetire(keys, at((10 + 7 * 24) * HOUR_MS))).toEqual(['old'])
  })
})
