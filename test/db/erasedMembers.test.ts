// A schedule that has read the members of an audience while one of them is erased: it makes no contact of them again, and keeps no place at theirs.
import { sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import { runJobPage } from '../../commands/jobs/runPage.ts'
import { turnSchedule } from '../../commands/schedules/turn.ts'
import { connect } from '../../db/connect.ts'
import { createTestApi } from '../setup/api.ts'
import { erasing } from '../setup/erasing.ts'
import { untilWaiting } from '../setup/lockWaits.ts'
import { insertScheduled } from '../setup/schedules.ts'
import { carryOnErasing, traces } from '../setup/traces.ts'
import { uniqueName } from '../setup/unique.ts'

const api = await createTestApi()
const { db, deps, workspaceId } = api
const { contact, beginErasing, newestJob } = erasing(api)

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
  const at = Date.now() - 1_000
  const owner = { workspaceId, userId: api.userId }
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

/** A contact who joins an audience while their erasure waits for their row. */
async function lateMember() {
  const email = await contact()
  const { body } = await api.request('POST', '/v1/audiences', { name: uniqueName('Late') })
  const audience_id = String(body['id'])
  const held = await db.startTransaction().execute()
  await sql`select from contacts where email = ${email} for update`.execute(held)
  const joining = api.request('POST', `/v1/audiences/${audience_id}/contacts`, { email })
  await untilWaiting(db, 1)
  const erasure = beginErasing(email)
  await untilWaiting(db, 2)
  await held.rollback().execute()
  expect([(await joining).status, await erasure]).toEqual([201, 204])
  return { email, audience_id }
}

test('who holds the audience of a late member for long holds up nothing else of the erasure', async () => {
  const { email, audience_id } = await lateMember()
  const open = await db.startTransaction().execute()
  await sql`select from audiences where id = ${audience_id} for update`.execute(open)
  const { id } = await newestJob()
  expect(await runJobPage(deps, { id })).toMatchObject({ more: true, wait_ms: expect.any(Number) })
  await open.rollback().execute()
  expect(await carryOnErasing(deps)).toBe('completed')
  expect(await traces(db, email)).toEqual([])
})

test('who was added while the erasure waited for the contact is a member of nothing, however long its job has to wait', async () => {
  const { email, audience_id } = await lateMember()
  const open = await db.startTransaction().execute()
  onTestFinished(async () => void (await open.rollback().execute()))
  await sql`select 1`.execute(open)
  expect(await runJobPage(deps, { id: (await newestJob()).id })).toMatchObject({ more: true })
  const { rows } = await sql`select from audience_contacts where email = ${email}`.execute(db)
  expect(rows).toEqual([])
  const { body: audience } = await api.request('GET', `/v1/audiences/${audience_id}`)
  expect(audience).toMatchObject({ contact_count: 0 })
  const at = Date.now() - 1_000
  const owner = { workspaceId, userId: api.userId }
  const workflowId = await insertScheduled(db, owner, { at, audience_id }, () => new Date(at - 1))
  const turn = () => turnSchedule(deps, { workflowId, nodeId: 'start' })
  while ((await turn()).kind === 'started') {}
  const { rows: contacts } = await sql`select from contacts where email = ${email}`.execute(db)
  expect(contacts).toEqual([])
})
