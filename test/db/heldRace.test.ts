// A workflow becomes active while a segment is about to be held: what the segment holds is committed before, so the release finds it.
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { transact } from '../../commands/transact.ts'
import { releaseHeld } from '../../commands/workflows/releaseHeld.ts'
import { listHolding, lockPaused } from '../../db/executions/held.ts'
import { createTestApi } from '../setup/api.ts'
import { eventually } from '../setup/eventually.ts'
import { now } from '../setup/harness.ts'
import { createWorkflowClient, exitDesign } from '../setup/workflowClient.ts'

const api = await createTestApi()
const { db, workspaceId } = api
const { create, patch } = createWorkflowClient(api)
const deps = { db, now, wake: () => undefined }

/** Writes an execution of the workflow that is held, in the transaction. */
async function insertHeld(trx: typeof db, workflowId: string, n: number) {
  const id = `exe_${workflowId}_${n}`
  await sql`insert into executions (id, workspace_id, workflow_id, version, contact_id, email, trigger_node_id, created_at, updated_at)
    values (${id}, ${workspaceId}, ${workflowId}, 1, 'ct_1', 'a@b.test', 'start', now(), now())`.execute(
    trx,
  )
  await sql`insert into event_waits (execution_id, segment, node_id, workspace_id, contact_id, held_workflow_id, created_at)
    values (${id}, 0, 'end', ${workspaceId}, 'ct_1', ${workflowId}, now())`.execute(trx)
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
    await eventually(async () => {
      const { rows } = await sql`select from pg_locks where not granted`.execute(db)
      expect(rows).not.toEqual([])
    })
    await insertHeld(trx as unknown as typeof db, id, 1)
  })
  expect(await activating).toMatchObject({ status: 200 })
  expect(await listHolding(db, 10)).toEqual([id])
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
  expect(await releaseHeld(deps, page)).toEqual({ more: true })
  expect(await endedBy(id)).toEqual(['release', 'release', null, null])
  await patch(id, { status: 'paused' })
  expect(await releaseHeld(deps, page)).toEqual({ more: false })
  expect(await endedBy(id)).toEqual(['release', 'release', null, null])
  await patch(id, { status: 'active' })
  expect(await releaseHeld(deps, page)).toEqual({ more: true })
  expect(await releaseHeld(deps, page)).toEqual({ more: false })
  const told = db.selectFrom('outbox').select(['kind', 'payload']).where('workflow_id', '=', id)
  expect(await told.execute()).toEqual(
    Array.from({ length: 4 }, () => ({ kind: 'signal', payload: { segment: 0 } })),
  )
})
