// Many executions of one contact, whom somebody holds for long, keep no others from going on.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase } from '../setup/database.ts'
import { type Engine, startEngine } from '../setup/engine.ts'
import { design, insertFlow, onEvent } from '../setup/flows.ts'
import { untilWaiting } from '../setup/lockWaits.ts'
import { uniqueName } from '../setup/unique.ts'

const database = await createTestDatabase()
const { db, pool } = database

let engine: Engine
beforeAll(async () => {
  engine = await startEngine(database)
})
afterAll(() => engine?.stop())

const EXECUTIONS = 60

test('segments of a contact who is held take few places and connections', async () => {
  const eventName = uniqueName('event')
  const flow = design({ start: onEvent(eventName), end: ['exit', {}] }, [['start', 'end']])
  await insertFlow(db, engine, flow)
  const [crowded, other] = [`${uniqueName('c')}@example.test`, `${uniqueName('c')}@example.test`]
  await engine.stopStarter()
  const ids: string[] = []
  for (let n = 0; n < EXECUTIONS; n++) ids.push(...(await engine.post(eventName, crowded)))
  expect(ids).toHaveLength(EXECUTIONS)
  const holder = await pool.connect()
  try {
    await holder.query('begin')
    await holder.query('select from contacts where email = $1 for update', [crowded])
    engine.startStarter()
    await untilWaiting(db, 2)
    const [id = ''] = await engine.post(eventName, other)
    await engine.ended(id, 'COMPLETED')
    await untilWaiting(db, 2)
  } finally {
    await holder.query('rollback')
    holder.release()
  }
  for (const id of ids) await engine.ended(id, 'COMPLETED')
}, 120_000)
