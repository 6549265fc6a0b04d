// A workflow becomes active again and cancels what it held: whatever wakes an execution before its turn comes, it goes on no further.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { updateContactProperties } from '../../commands/contacts/updateProperties.ts'
import { addressMacOf } from '../setup/addressMac.ts'
import { createTestDatabase } from '../setup/database.ts'
import { type Engine, startEngine } from '../setup/engine.ts'
import { eventually } from '../setup/eventually.ts'
import { design, mail, onEvent } from '../setup/flows.ts'
import { newId, now } from '../setup/harness.ts'
import { uniqueName } from '../setup/unique.ts'

const DAY_MS = 86_400_000

const database = await createTestDatabase()
const { db } = database
const addressMac = await addressMacOf(db)

let engine: Engine
let release: () => void = () => undefined
const released = new Promise<void>((resolve) => {
  release = resolve
})
beforeAll(async () => {
  engine = await startEngine(database, {
    around: (activities) => ({
      releaseHeldPage: async (input) => {
        await released
        return activities.releaseHeldPage(input)
      },
    }),
  })
})
afterAll(async () => {
  release()
  await engine?.stop()
})

const segmentsOf = (id: string) =>
  db.selectFrom('execution_segments').select('segment').where('execution_id', '=', id).execute()

test('a change of the contact does not let it go', async () => {
  const go = uniqueName('go')
  const isOld = {
    type: 'rule',
    field: 'properties.renewal',
    operator: 'older_than',
    value: 'P30D',
  }
  const greets = design(
    {
      start: onEvent(go),
      wait: ['wait_for_event', { event_name: go }],
      hello: mail('Hello'),
      end: ['exit', {}],
    },
    [
      ['start', 'wait'],
      ['wait', 'hello', 'received'],
      ['hello', 'end'],
    ],
  )
  const settings = { on_pause: 'hold', exit_conditions: [isOld] }
  const { id, email, workflowId } = await engine.run({ ...greets, settings })
  await engine.waiting(id, 'wait')
  const interrupts = JSON.stringify({ exits: [isOld], goals: [], maxDurationMs: null })
  const versions = db.updateTable('workflow_versions').set({ interrupts })
  await versions.where('workflow_id', '=', workflowId).execute()
  const become = (change: { status: 'active' | 'paused'; held?: 'cancel' }) =>
    db.updateTable('workflows').set(change).where('id', '=', workflowId).execute()
  await become({ status: 'paused' })
  await engine.post(go, email)
  await engine.waiting(id, 'hello')
  const before = (await segmentsOf(id)).length

  await become({ status: 'active', held: 'cancel' })
  const deps = { db, newId, now, wake: () => engine.wake(), addressMac }
  const renewal = new Date(Date.now() - 29 * DAY_MS).toISOString()
  await updateContactProperties(deps, engine.workspaceId, { email, properties: { renewal } })
  // It is woken to look when that turns.
  await eventually(async () => expect((await segmentsOf(id)).length).toBe(before + 1))
  expect(await engine.subjects(id)).toEqual([])
  await engine.waiting(id, 'hello')
  release()
  expect(await engine.ended(id, 'CANCELLED')).toMatchObject({ cancellation_reason: 'held' })
  expect(await engine.subjects(id)).toEqual([])
}, 120_000)
