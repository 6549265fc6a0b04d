// What `npm run retention` prints.
import { expect, test } from 'vitest'
import { COUNT_MAX, deletedLines, oldLines } from '../../../operate/retentionTable.ts'

const now = new Date('2026-06-10T00:00:00Z')

test('it says how much is too old, and how old the oldest is', () => {
  const usual = { days: 90, more: false, oldest_at: null, error: null }
  const found = [
    { ...usual, part: 'jobs', rows: 12, oldest_at: new Date('2026-03-01T12:00:00Z') },
    { ...usual, part: 'complaints', rows: 0 },
    { ...usual, part: 'webhook_events', days: 1, rows: COUNT_MAX, more: true, oldest_at: now },
    {
      ...usual,
      part: 'http_calls',
      rows: null,
      error: 'canceling statement due to statement timeout',
    },
  ]
  expect(oldLines(found, now)).toEqual([
    'table           kept     rows too old    oldest',
    'jobs            90 days  12              100 days',
    'complaints      90 days  0',
    'webhook_events  1 day    100000 or more  0 days',
    'http_calls      90 days  not known',
  ])
})

test('it says what was deleted', () => {
  expect(deletedLines([{ part: 'jobs', deleted: 3 }])).toEqual(['table  rows deleted', 'jobs   3'])
})
