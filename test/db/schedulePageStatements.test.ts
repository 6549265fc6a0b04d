// What a page of a schedule's members asks of Postgres: as much for many members as for few.
import { expect, test } from 'vitest'
import { turnSchedule } from '../../commands/schedules/turn.ts'
import { addressMacOf } from '../setup/addressMac.ts'
import { createTestDatabase } from '../setup/database.ts'
import { newId, seedWorkspace } from '../setup/harness.ts'
import { insertAudience, insertScheduled } from '../setup/schedules.ts'

const { db } = await createTestDatabase()
const workspace = await seedWorkspace(db)
const addressMac = await addressMacOf(db)
const due = new Date('2026-03-02T09:00:00Z')
const clock = { now: due }
const now = () => clock.now

/** Starts one page of so many members. @returns how many statements it took */
async function statementsOf(members: number, data: object): Promise<number> {
  clock.now = new Date(due.getTime() - 1)
  const audience_id = await insertAudience(db, workspace, members)
  const schedule = { at: due.getTime(), audience_id, ...data }
  const workflowId = await insertScheduled(db, workspace, schedule, now)
  clock.now = due
  let statements = 0
  const counted = db.withPlugin({
    transformQuery({ node }) {
      statements += 1
      return node
    },
    transformResult: async ({ result }) => result,
  })
  const deps = { db: counted, newId, now, addressMac, wake: () => undefined }
  const turn = await turnSchedule(deps, { workflowId, nodeId: 'start' })
  expect(turn.kind).toBe('started')
  const started = db.selectFrom('executions').select('id').where('workflow_id', '=', workflowId)
  expect(await started.execute()).toHaveLength(members)
  return statements
}

const bought = { type: 'event_count', event_name: 'paid', operator: 'eq', value: 0 }
const member = (audience_id: string) => ({ type: 'audience', audience_id, member: false })
const asked = { type: 'and', rules: [bought, member('aud_none')] }

test.each<[string, object]>([
  ['without more', {}],
  ['with a filter that reads events and audiences', { filter: asked }],
  ['for those who have not entered', { re_entry: { mode: 'once' } }],
  ['with all of it', { filter: asked, re_entry: { mode: 'after_exit' } }],
])('%s', async (_name, data) => {
  const few = await statementsOf(2, data)
  expect(await statementsOf(50, data)).toBe(few)
  expect(few).toBeLessThanOrEqual(16)
})
