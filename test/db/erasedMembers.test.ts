// A schedule that has read the members of an audience while one of them is erased: it makes no contact of them again, and keeps no place at theirs.
import { sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import { turnSchedule } from '../../commands/schedules/turn.ts'
import { connect } from '../../db/connect.ts'
import { createTestApi } from '../setup/api.ts'
import { untilWaiting } from '../setup/lockWaits.ts'
import { insertScheduled } from '../setup/schedules.ts'
import { carryOnErasing, traces } from '../setup/traces.ts'
import { uniqueName } from '../setup/unique.ts'

const api = await createTestApi()
const { db, deps, workspaceId } = api

test('who is erased while a page of members is about to be started leaves no trace', async () => {
  const email = `${uniqueName('ada')}@person.test`
  const other = `${uniqueName('bo')}@person.test`
  const { body } = await api.request('POST', '/v1/audiences', { name: 'All' })
  const audience_id = String(body['id'])
  for (const one of [email, other]) {
    const path = `/v1/audiences/${audience_id}/contacts`
    expect((await api.request('POST', path, { email: one })).status).toBe(201)
  }
  await api.request('POST', '/v1/automation/events', { event_name: 'seen', email })
  const { created_by: userId } = await db
    .selectFrom('audiences')
    .select('created_by')
    .where('id', '=', audience_id)
    .executeTakeFirstOrThrow()
  const at = Date.now() - 1_000
  const owner = { workspaceId, userId }
  const before = () => new Date(at - 1)
  const workflowId = await insertScheduled(db, owner, { at, audience_id }, before)

  // A process with one connection, which it does not get back after it has read the members.
  const options = { url: api.url, poolSize: 1, name: 'test-slow', onIdleError: () => undefined }
  const slow = connect(options)
  onTestFinished(() => slow.db.destroy())
  const turn = () => turnSchedule({ ...deps, db: slow.db }, { workflowId, nodeId: 'start' })
  const held = await db.startTransaction().execute()
  await sql`lock table audience_contacts in access exclusive mode`.execute(held)
  const turning = turn()
  await untilWaiting(db, 1)
  let giveBack = () => {}
  const isKept = new Promise<void>((resolve) => {
    void slow.db.connection().execute(() => {
      resolve()
      return new Promise<void>((end) => {
        giveBack = end
      })
    })
  })
  await held.rollback().execute()
  await isKept
  expect((await api.request('DELETE', `/v1/automation/contacts/${email}`)).status).toBe(204)
  expect(await carryOnErasing(deps)).toBe('completed')
  giveBack()
  await turning
  expect(await traces(db, email)).toEqual([])
  // It goes on with who is behind them.
  for (let next = await turn(); next.kind === 'started'; ) next = await turn()
  const { rows } = await sql`select email from executions`.execute(db)
  expect(rows).toEqual([{ email: other }])
  expect(await traces(db, email)).toEqual([])
})
