// What `npm run retention` prints.
import { expect, test } from 'vitest'
import { COUNT_MAX, deletedLines, oldLines } from '../../../operate/retentionTable.ts'

const now = new Date('2026-06-10T00:00:00Z')

test('it says how much is too old, and how old the oldest is', () => {
  const found = [
    { part: 'jobs', rows: 12, oldest_at: new Date('2026-03-01T12:00:00Z') },
    { part: 'complaints', rows: 0, oldest_at: null },
    { part: 'webhook_events', rows: COUNT_MAX, oldest_at: now },
  ]
  expect(oldLines(found, now)).toEqual([
    'table           rows too old    oldest',
    'jobs            12              100 days',
    'complaints      0',
    'webhook_events  100000 or more  0 days',
  ])
})

test('it says what was deleted', () => {
  expect(deletedLines([{ part: 'jobs', deleted: 3 }])).toEqual(['table  rows deleted', 'jobs   3'])
})
