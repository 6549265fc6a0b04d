// When what Postgres refuses ends an execution: by the reason, how often it came and for how long.
import { expect, test } from 'vitest'
import { createRefusals } from '../../../activities/segment/refused.ts'

const MINUTE_MS = 60_000

/** The refusals of one segment: minute and SQLSTATE; the last one alone may be final. */
const rows: [title: string, refusals: [minute: number, sqlState: string][], isFinal: boolean][] = [
  ['data, once', [[0, '22P05']], false],
  [
    'data, twice, however long',
    [
      [0, '22P05'],
      [60, '22P05'],
    ],
    false,
  ],
  [
    'data, three times at once',
    [
      [0, '22P05'],
      [0, '22P05'],
      [0, '22P05'],
    ],
    true,
  ],
  [
    'data, for three reasons',
    [
      [0, '22P05'],
      [0, '22003'],
      [0, '22P02'],
    ],
    false,
  ],
  [
    'data, with another reason between',
    [
      [0, '22P05'],
      [0, '22P05'],
      [0, '22003'],
      [0, '22P05'],
    ],
    false,
  ],
  [
    'data, three times after another reason',
    [
      [0, '23505'],
      [0, '22P05'],
      [0, '22P05'],
      [0, '22P05'],
    ],
    true,
  ],
  [
    'a constraint, three times at once',
    [
      [0, '23505'],
      [0, '23505'],
      [0, '23505'],
    ],
    false,
  ],
  [
    'a constraint, twice in ten minutes',
    [
      [0, '23514'],
      [10, '23514'],
    ],
    false,
  ],
  [
    'a constraint, often in nine minutes',
    [
      [0, '23514'],
      [1, '23514'],
      [3, '23514'],
      [9, '23514'],
    ],
    false,
  ],
  [
    'a constraint, three times in ten minutes',
    [
      [0, '23514'],
      [2, '23514'],
      [10, '23514'],
    ],
    true,
  ],
  [
    'a constraint, then another one',
    [
      [0, '23514'],
      [2, '23505'],
      [8, '23505'],
      [10, '23505'],
    ],
    false,
  ],
]

test.each(rows)('%s', (_, refusals, isFinal) => {
  const counted = createRefusals()
  const answers = refusals.map(([minute, sqlState]) =>
    counted.isFinal('exe_1/0', sqlState, new Date(minute * MINUTE_MS)),
  )
  expect(answers.pop()).toBe(isFinal)
  expect(answers).not.toContain(true)
})

test('each segment is counted by itself, and from the beginning once it has run', () => {
  const counted = createRefusals()
  const refuse = (id: string) => counted.isFinal(id, '22P05', new Date(0))
  expect([refuse('exe_1/0'), refuse('exe_2/0'), refuse('exe_1/1')]).not.toContain(true)
  expect(refuse('exe_1/0')).toBe(false)
  counted.forget('exe_1/0')
  expect([refuse('exe_1/0'), refuse('exe_1/0'), refuse('exe_1/0')]).toEqual([false, false, true])
})
