// A workflow becomes active while a segment is about to be held: what the segment holds is committed before, so the release finds it.
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { transact } from '../../commands/transact.ts'
import { releaseHeld } from '../../commands/workflows/releaseHeld.ts'
import { lockContact } from '../../db/contacts/writes.ts'
import { listHolding, lockPaused } from '../../db/executions/held.ts'
import { lockExecution } from '../../db/executions/writes.ts'
import { createTestApi } from '../setup/api.ts'
import { now } from '../setup/harness.ts'
import { untilWaiting } from '../setup/lockWaits.ts'
import { createWorkflowClient, exitDesign } from '../setup/workflowClient.ts'

const api = await createTestApi()
const { db, workspaceId } = api
const { create, patch } = createWorkflowClient(api)
const deps = { db, now, wake: () => undefined }

/** Writes an execution of the workflow that is held, in the transaction. */
async function insertHeld(
  trx: typeof db,
  workflowId: string,
  n: number,
  contactId = 'ct_1',
): Promise<string> {
  const id = `exe_${workflowId}_${n}`
  await sql`insert into executions (id, workspace_id, workflow_id, version, contact_id, email, trigger_node_id, created_at, updated_at)
    values (${id}, ${workspaceId}, ${workflowId}, 1, ${contactId}, 'a@b.test', 'start', now(), now())`.execute(
    trx,
  )
  await sql`insert into event_waits (execution_id, segment, node_id, workspace_id, contact_id, held_workflow_id, created_at)
    values (${id}, 0, 'end', ${workspaceId}, ${contactId}, ${workflowId}, now())`.execute(trx)
  return id
}

const endedBy = async (workflowId: string) => {
  const rows = db.selectFrom('event_waits').select('ended_by').orderBy('execution_id')
  const found = await rows.where('held_workflow_id', '=', workflowId).execute()
  return found.map(({ ended_by }) => ended_by)
}

test('making it active waits for a segment that holds, and the release finds what it held', async () => {
  const { workflow_id: id } = await create({ design: exitDesign('x'), status: 'active' })
  await patch(id, { status: 'paused' })
  let activating: Promise<unknown> = Promise.resolve()
  await transact(deps, async ({ db: trx }) => {
    expect(await lockPaused(trx, workspaceId, id)).toBe(true)
    activating = patch(id, { status: 'active' })
    await untilWaiting(db, 1)
    await insertHeld(trx as unknown as typeof db, id, 1)
  })
  expect(await activating).toMatchObject({ status: 200 })
  expect(await listHolding(db, 10)).toEqual([{ id, workspace_id: workspaceId }])
  await releaseHeld(deps, { workflowId: id })
  expect(await endedBy(id)).toEqual(['release'])
  expect(await listHolding(db, 10)).toEqual([])
  await transact(deps, async ({ db: trx }) => {
    expect(await lockPaused(trx, workspaceId, id)).toBe(false)
  })
})

test('a page ends what it finds once, oldest first, and nothing of a workflow that is paused again', async () => {
  const { workflow_id: id } = await create({ design: exitDesign('y'), status: 'active' })
  for (const n of [1, 2, 3, 4]) await insertHeld(db, id, n)
  const page = { workflowId: id, page: 2 }
  expect(await releaseHeld(deps, page)).toMatchObject({ more: true })
  expect(await endedBy(id)).toEqual(['release', 'release', null, null])
  await patch(id, { status: 'paused' })
  expect(await releaseHeld(deps, page)).toEqual({ more: false })
  expect(await endedBy(id)).toEqual(['release', 'release', null, null])
  await patch(id, { status: 'active' })
  expect(await releaseHeld(deps, page)).toMatchObject({ more: true })
  expect(await releaseHeld(deps, page)).toEqual({ more: false })
  const told = db.selectFrom('outbox').select(['kind', 'payload']).where('workflow_id', '=', id)
  expect(await told.execute()).toEqual(
    Array.from({ length: 4 }, () => ({ kind: 'signal', payload: { segment: 0 } })),
  )
})

/** Two executions that are held and to be cancelled; the page that does so waits for the first while `meanwhile` runs. */
async function cancelling(meanwhile: (ids: string[], workflowId: string) => Promise<unknown>) {
  const { workflow_id: id } = await create({ design: exitDesign('z'), status: 'active' })
  const ids = [await insertHeld(db, id, 1), await insertHeld(db, id, 2)]
  await patch(id, { status: 'paused' })
  expect(await patch(id, { status: 'active', held: 'cancel' })).toMatchObject({ status: 200 })
  let page: Promise<unknown> = Promise.resolve()
  await transact(deps, async ({ db: trx }) => {
    await lockExecution(trx, workspaceId, ids[0] ?? '')
    page = releaseHeld(deps, { workflowId: id })
    await untilWaiting(db, 1)
    await meanwhile(ids, id)
  })
  await page
  const rows = db.selectFrom('executions').select('ended_status').where('workflow_id', '=', id)
  return (await rows.orderBy('id').execute()).map(({ ended_status }) => ended_status)
}

test('what has left its hold after the page was read is not cancelled', async () => {
  const ends = cancelling(([, left = '']) =>
    sql`update event_waits set ended_by = 'goal', leads_to = 'end' where execution_id = ${left}`.execute(
      db,
    ),
  )
  expect(await ends).toEqual(['CANCELLED', null])
})

test('a workflow that is paused while a page is done keeps what it holds still, and the next `held` decides', async () => {
  const ends = cancelling(async (_ids, id) => {
    await patch(id, { status: 'paused' })
    await patch(id, { status: 'active' })
  })
  expect(await ends).toEqual([null, null])
  expect(await cancelling((_ids, id) => patch(id, { status: 'paused' }))).toEqual([null, null])
})

test('a later change of an active workflow leaves what becomes of the held as it was said', async () => {
  const { workflow_id: id } = await create({ design: exitDesign('w'), status: 'paused' })
  await patch(id, { status: 'active', held: 'cancel' })
  await patch(id, { status: 'active', name: 'Renamed' })
  const held = () =>
    db.selectFrom('workflows').select('held').where('id', '=', id).executeTakeFirstOrThrow()
  expect(await held()).toEqual({ held: 'cancel' })
  await patch(id, { status: 'active', held: 'release' })
  expect(await held()).toEqual({ held: 'release' })
})

test.each([1, 2, 50])(
  'a contact whom somebody holds keeps none of the others in their hold: pages of %i',
  async (page) => {
    const { workflow_id: id } = await create({ design: exitDesign('v'), status: 'active' })
    const contacts = [`ct_held${page}`, `ct_free${page}`]
    await sql`insert into contacts (id, workspace_id, email, first_seen, last_seen, last_event, created_at, updated_at)
    select c, ${workspaceId}, c || '@example.test', now(), now(), '', now(), now() from unnest(${contacts}::text[]) c`.execute(
      db,
    )
    for (const [n, contact] of contacts.entries()) await insertHeld(db, id, n, contact)
    await transact(deps, async ({ db: trx }) => {
      await lockContact(trx, workspaceId, `ct_held${page}`)
      expect(await releaseHeld(deps, { workflowId: id, page })).toMatchObject({ more: true })
      expect(await endedBy(id)).toEqual([null, 'release'])
    })
    expect(await releaseHeld(deps, { workflowId: id })).toEqual({ more: false })
    expect(await endedBy(id)).toEqual(['release', 'release'])
  },
)

test('a page that was ended by its time behind held contacts is gone on from, and what a walk has left is found by the next', async () => {
  const { workflow_id: id } = await create({ design: exitDesign('u'), status: 'active' })
  const contacts = ['a', 'b', 'c', 'free'].map((name) => `ct_walk_${name}`)
  await sql`insert into contacts (id, workspace_id, email, first_seen, last_seen, last_event, created_at, updated_at)
    select c, ${workspaceId}, c || '@example.test', now(), now(), '', now(), now() from unnest(${contacts}::text[]) c`.execute(
    db,
  )
  for (const [n, contact] of contacts.entries()) await insertHeld(db, id, n, contact)
  // Each page looks at one.
  const next = (after = '') => releaseHeld(deps, { workflowId: id, after, page: 2, time_ms: 0 })
  await transact(deps, async ({ db: trx }) => {
    for (const contact of contacts.slice(0, 3)) await lockContact(trx, workspaceId, contact)
    let page = await next()
    for (let pages = 1; pages < contacts.length; pages++) page = await next(page.after)
    expect(await endedBy(id)).toEqual([null, null, null, 'release'])
    expect(await next(page.after)).toEqual({ more: true })
  })
  let page = await next()
  for (let pages = 1; pages < contacts.length; pages++) page = await next(page.after)
  expect(await endedBy(id)).toEqual(contacts.map(() => 'release'))
  expect(await next()).toEqual({ more: false })
})
