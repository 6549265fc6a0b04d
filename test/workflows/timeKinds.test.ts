// Moments, windows, splits and filters on Temporal: waits that last until the right ms, and what follows them.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { drawnVariant } from '../../rules/nodes/split.ts'
import { createTestDatabase } from '../setup/database.ts'
import { type Engine, startEngine, testBundle } from '../setup/engine.ts'
import { design, mail, onEvent } from '../setup/flows.ts'
import { fire } from '../setup/handTimers.ts'

const DAY_MS = 24 * 60 * 60 * 1000

const database = await createTestDatabase()
let engine: Engine

beforeAll(async () => {
  const workflowBundle = await testBundle('handTimers')
  engine = await startEngine(database, { workflowBundle })
})
afterAll(() => engine?.stop())

const hours = (at: number) => new Date(at).toISOString().slice(11, 16)

test('a moment, a window, a draw and a filter, each after the other', async () => {
  // What a timer woke counts as of its time, which the test does not wait for.
  const moment = Date.now() + 30 * DAY_MS
  const opens = moment + DAY_MS / 2
  const variants = ['left', 'right'].map((id) => ({ id, weight: 0.5 }))
  const { id, email } = await engine.run(
    design(
      {
        start: onEvent('signed'),
        moment: ['wait_until', { at: moment }],
        // Closed now and for hours, whatever the time is.
        window: [
          'time_window',
          {
            days: ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'],
            start: hours(opens),
            end: hours(opens + 60_000),
            timezone: 'UTC',
          },
        ],
        draw: ['split', { variants }],
        left: mail('Left'),
        right: mail('Right'),
        few: [
          'filter',
          {
            condition: { type: 'rule', field: 'execution.step_count', operator: 'gt', value: 100 },
          },
        ],
        never: mail('Never'),
      },
      [
        ['start', 'moment'],
        ['moment', 'window'],
        ['window', 'draw'],
        ['draw', 'left', 'left'],
        ['draw', 'right', 'right'],
        ['left', 'few'],
        ['right', 'few'],
        ['few', 'never'],
      ],
    ),
  )
  const handle = engine.client.workflow.getHandle(id)
  expect(await engine.waiting(id, 'moment')).toMatchObject({ waitUntil: moment })
  await handle.signal(fire)
  const { waitUntil } = await engine.waiting(id, 'window')
  expect(waitUntil).toBe(Math.floor(opens / 60_000) * 60_000)
  await handle.signal(fire)
  await engine.ended(id, 'COMPLETED')

  const { workflow_id: workflowId, outcome } = await engine.row(id)
  const side = drawnVariant(variants, { workflowId, nodeId: 'draw', key: email.toLowerCase() })
  expect(await engine.steps(id)).toEqual([
    'start=default',
    'moment=default',
    'window=default',
    `draw=${side}`,
    `${side}=default`,
    'few=null',
  ])
  expect(outcome).toBe('filtered')
  expect(await engine.subjects(id)).toEqual([side === 'left' ? 'Left' : 'Right'])
})

test('without a date the step fails, and says so', async () => {
  const { id } = await engine.run(
    design({ start: onEvent('joined'), due: ['wait_until', { property_path: 'due' }] }, [
      ['start', 'due'],
    ]),
  )
  await engine.ended(id, 'FAILED')
  expect(await engine.row(id)).toMatchObject({ error: 'due: no_date' })
})
