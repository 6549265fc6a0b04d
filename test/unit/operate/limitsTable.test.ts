// What `npm run limits` prints.
import { expect, test } from 'vitest'
import { type LimitState, limitLines } from '../../../operate/limitsTable.ts'
import type { WorkspaceId } from '../../../rules/ids.ts'

const state = (change: Partial<LimitState>): LimitState => ({
  subject: 'ws_1',
  workspace_id: 'ws_1' as WorkspaceId,
  per_second: null,
  burst: null,
  emails_per_day: null,
  used_today: null,
  ...change,
})

test('it says what holds, and what is used of today', () => {
  const states = [
    state({ per_second: 0.5, emails_per_day: 100, used_today: 7 }),
    state({ subject: 'key_1', per_second: 2.5 }),
    state({ subject: 'key_2', per_second: 10, burst: 50 }),
  ]
  expect(limitLines(states, undefined)).toEqual([
    'ws_1: 0.5 requests a second, 1 at once, for each API process; 100 emails a day, 7 places of today (UTC) taken',
    'key_1: 2.5 requests a second, 3 at once, for each API process',
    'key_2: 10 requests a second, 50 at once, for each API process',
  ])
})

test('it says that nothing is limited', () => {
  expect(limitLines([], undefined)).toEqual(['Nothing is limited.'])
  expect(limitLines([], { subject: 'key_1', name: 'Shop' })).toEqual([
    'Shop (key_1) has no limits.',
  ])
})
