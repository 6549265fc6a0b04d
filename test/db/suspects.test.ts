// Suspects: noted once for each death, of what has not ended alone, and gone with the end of what they are.
import { expect, test } from 'vitest'
import { closeExecution } from '../../commands/executions/close.ts'
import { noteSuspect, tidySuspects } from '../../commands/suspects/note.ts'
import { suspectDeliveryId } from '../../db/suspects/writes.ts'
import { acceptMail } from '../setup/acceptedMail.ts'
import { createTestDatabase } from '../setup/database.ts'
import { design, insertFlow, mail, onEvent, recordEvent } from '../setup/flows.ts'
import { now, seedWorkspace } from '../setup/harness.ts'
import { uniqueName } from '../setup/unique.ts'

const { db } = await createTestDatabase()
const workspace = await seedWorkspace(db)
const deps = { db, now, wake: () => undefined }
await insertFlow(db, workspace, design({ start: onEvent('began'), m: mail('M') }, [['start', 'm']]))

async function newExecution(): Promise<string> {
  const event = { eventName: 'began', email: `${uniqueName('c')}@example.test` }
  const { executionIds } = await recordEvent(db, workspace.workspaceId, event)
  return executionIds[0] ?? ''
}
const note = (id: string, diedInRun: string | null, step = 'm') =>
  noteSuspect(deps, { kind: 'segment', id, step, diedInRun })
const rows = (id: string) =>
  db
    .selectFrom('suspects')
    .select(['workspace_id', 'step', 'deaths'])
    .where('id', '=', id)
    .execute()

test('each run of a process counts as one death, however many workers read its file', async () => {
  const id = await newExecution()
  expect(await note(id, null)).toBe(0)
  expect(await note(id, null)).toBeUndefined()
  expect(await note(id, 'run-1')).toBe(1)
  expect(await note(id, 'run-1')).toBeUndefined()
  expect(await note(id, null)).toBeUndefined()
  expect(await note(id, 'run-2', 'other')).toBe(2)
  const { workspaceId: workspace_id } = workspace
  expect(await rows(id)).toEqual([{ workspace_id, step: 'other', deaths: 2 }])
})

test('an execution that ends is no suspect, and cannot become one', async () => {
  const [id, live] = [await newExecution(), await newExecution()]
  await note(id, 'run-1')
  await note(live, 'run-1')
  await closeExecution(deps, id, { status: 'CANCELLED', code: 'terminated' })
  expect(await rows(id)).toEqual([])
  expect(await note(id, 'run-2')).toBeUndefined()
  expect(await note('exe_unknown', 'run-2')).toBeUndefined()
  expect(await rows(live)).toHaveLength(1)
})

test('one that was noted just as its execution ended is tidied away', async () => {
  const [id, live] = [await newExecution(), await newExecution()]
  await closeExecution(deps, id, { status: 'CANCELLED', code: 'terminated' })
  for (const one of [id, live]) {
    await db
      .insertInto('suspects')
      .values({
        kind: 'segment',
        id: one,
        workspace_id: workspace.workspaceId,
        step: 'm',
        noted_at: now(),
      })
      .execute()
  }
  await tidySuspects(deps)
  expect(await rows(id)).toEqual([])
  expect(await rows(live)).toHaveLength(1)
})

test('mail is a suspect while some of it waits or is under way, each of its deliveries by itself', async () => {
  const { workspaceId, domainId } = workspace
  const to = ['one@suspect.test', 'two@suspect.test']
  const email = await acceptMail({ db, workspaceId, domainId }, { to, text: 'Hello' })
  const deliveries = await db
    .selectFrom('deliveries')
    .select('id')
    .where('email_id', '=', email)
    .orderBy('recipient')
    .execute()
  const [first, second] = deliveries.map((delivery) => suspectDeliveryId(email, delivery.id))
  if (first === undefined || second === undefined) throw new Error('there are two deliveries')
  const noteMail = (kind: 'email' | 'delivery', id: string, diedInRun: string | null) =>
    noteSuspect(deps, { kind, id, step: 'compose', diedInRun })
  expect(await noteMail('email', email, null)).toBe(0)
  expect(await noteMail('email', email, 'run-1')).toBe(1)
  expect(await noteMail('email', email, 'run-1')).toBeUndefined()
  for (const id of [first, second]) expect(await noteMail('delivery', id, 'run-1')).toBe(1)
  expect(await rows(second)).toEqual([{ workspace_id: workspaceId, step: 'compose', deaths: 1 }])

  const settle = (ids: number[]) =>
    db
      .updateTable('deliveries')
      .set({ state: 'bounced', settled_at: now() })
      .where('id', 'in', ids)
      .execute()
  await settle(deliveries.slice(0, 1).map(({ id }) => id))
  await tidySuspects(deps)
  expect([await rows(first), (await rows(second)).length, (await rows(email)).length]).toEqual([
    [],
    1,
    1,
  ])
  expect(await noteMail('delivery', first, 'run-2')).toBeUndefined()
  await settle(deliveries.slice(1).map(({ id }) => id))
  await tidySuspects(deps)
  expect([await rows(second), await rows(email)]).toEqual([[], []])
  expect(await noteMail('email', email, 'run-2')).toBeUndefined()
})
