// What an execution of very many laps leaves behind: the results of its latest segments, and a run that asks for earlier ones walks on to them.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { SEGMENTS_KEPT } from '../../db/executions/segments.ts'
import { createTestDatabase } from '../setup/database.ts'
import { type Engine, startEngine } from '../setup/engine.ts'
import { eventually } from '../setup/eventually.ts'
import { design, mail, onEvent } from '../setup/flows.ts'

const SOON = { deadline_ms: 90_000 }
const LAPS = SEGMENTS_KEPT + 3
const { db, ...database } = await createTestDatabase()
let engine: Engine

beforeAll(async () => {
  engine = await startEngine({ db, ...database })
}, 60_000)
afterAll(() => engine?.stop())

const inLaps = design(
  {
    start: onEvent('x'),
    hello: mail('Hello'),
    pause: ['delay', { ms: 1 }],
    again: [
      'condition',
      {
        condition: {
          type: 'rule',
          field: 'execution.step_count',
          operator: 'lt',
          value: 2 + 2 * LAPS,
        },
      },
    ],
    wait: ['wait_for_event', { event_name: 'went.on' }],
    thanks: mail('Thanks'),
  },
  [
    ['start', 'hello'],
    ['hello', 'pause'],
    ['pause', 'again'],
    ['again', 'pause', 'true'],
    ['again', 'wait', 'false'],
    ['wait', 'thanks', 'received'],
  ],
)

/** As a worker of an earlier release leaves them, which deletes none. */
const FIRST = 3

test.each([
  ['', false],
  [', behind some of the first too, which an earlier release has left', true],
])(
  'it keeps the latest results alone, and a run that asks for earlier ones, as one that was reset does, goes on where it is%s',
  async (_, hasFirst) => {
    await engine.stopStarter()
    const { id, email } = await engine.run(inLaps)
    const results = db.selectFrom('execution_segments').where('execution_id', '=', id)
    for (let segment = 0; segment < FIRST; segment++) {
      await engine.runSegment({ executionId: id, segment })
    }
    const first = await results.selectAll().execute()
    for (let segment = FIRST; segment <= LAPS; segment++) {
      await engine.runSegment({ executionId: id, segment })
    }
    const left = async () => {
      const rows = await results.select('segment').orderBy('segment').execute()
      return { segments: rows.map(({ segment }) => segment), steps: await engine.steps(id) }
    }
    expect((await left()).segments).toEqual(
      Array.from({ length: SEGMENTS_KEPT }, (_, i) => LAPS + 1 - SEGMENTS_KEPT + i),
    )
    if (hasFirst) {
      const rows = first.map((row) => ({ ...row, result: JSON.stringify(row.result) }))
      await db.insertInto('execution_segments').values(rows).execute()
    }
    const before = await left()
    expect(before.steps).toHaveLength(3 + 2 * LAPS)

    // Temporal begins with the first segment.
    engine.startStarter()
    await eventually(() => engine.waiting(id, 'wait'), SOON)
    expect(await left()).toEqual(before)
    await engine.post('went.on', email)
    await eventually(() => engine.ended(id, 'COMPLETED'), SOON)
    expect(await engine.subjects(id)).toEqual(['Hello', 'Thanks'])
  },
  300_000,
)
