// The triggers that are kept for a workspace are never out of date: whatever changes one, and whatever is rolled back, the next event
// meets them as they are.
import { sql } from 'kysely'
import { expect, it } from 'vitest'
import type { Trx } from '../../db/connect.ts'
import { listCandidates } from '../../db/events/receivers.ts'
import { createTestDatabase } from '../setup/database.ts'
import { design, insertFlow, onEvent } from '../setup/flows.ts'
import { now, seedWorkspace } from '../setup/harness.ts'

const { db } = await createTestDatabase()
const workspace = await seedWorkspace(db)
const { workspaceId } = workspace
const graph = design({ start: onEvent('ordered'), end: ['exit', {}] }, [['start', 'end']])

/** The versions of the triggers that an event of that name meets. */
async function met(trx: Trx, eventName = 'ordered'): Promise<number[]> {
  const properties = {}
  const contact = { id: 'con_1', firstSeen: now(), properties, before: properties, isNew: false }
  const event = { eventName, email: 'ada@example.test', properties, contact, now: now() }
  const [found] = await listCandidates(trx, workspaceId, [
    { ...event, hmac: () => Buffer.alloc(16) },
  ])
  return (found?.triggers ?? []).map(({ version }) => version)
}
const inTrx = <T>(work: (trx: Trx) => Promise<T>) =>
  db.transaction().execute((trx) => work(trx as unknown as Trx))
const setVersion = (trx: Trx, version: number) =>
  sql`update workflow_triggers set version = ${version} where workspace_id = ${workspaceId}`.execute(
    trx,
  )

it('meets what was inserted, updated and deleted, and nothing of other names', async () => {
  expect(await inTrx((trx) => met(trx))).toEqual([])
  const id = await insertFlow(db, workspace, graph)
  expect(await inTrx((trx) => met(trx))).toEqual([1])
  expect(await inTrx((trx) => met(trx, 'paid'))).toEqual([])
  await inTrx((trx) => setVersion(trx, 2))
  expect(await inTrx((trx) => met(trx))).toEqual([2])
  await sql`update workflow_triggers set event_name = 'paid' where workflow_id = ${id}`.execute(db)
  expect(await inTrx((trx) => met(trx))).toEqual([])
  expect(await inTrx((trx) => met(trx, 'paid'))).toEqual([2])
  await db.deleteFrom('workflow_triggers').where('workflow_id', '=', id).execute()
  expect(await inTrx((trx) => met(trx, 'paid'))).toEqual([])
})

it('what a transaction saw of its own that was rolled back is met by nobody', async () => {
  await insertFlow(db, workspace, graph)
  expect(await inTrx((trx) => met(trx))).toEqual([1])
  const rolledBack = inTrx(async (trx) => {
    await setVersion(trx, 7)
    expect(await met(trx)).toEqual([7])
    throw new Error('rolled back')
  })
  await expect(rolledBack).rejects.toThrow('rolled back')
  expect(await inTrx((trx) => met(trx))).toEqual([1])
  await inTrx((trx) => setVersion(trx, 3))
  expect(await inTrx((trx) => met(trx))).toEqual([3])
})
