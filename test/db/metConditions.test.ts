// How much the conditions may hold that each event of a workspace meets, so that a process keeps them and reads them once.
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { updateSegment } from '../../commands/segments/update.ts'
import { transact } from '../../commands/transact.ts'
import type { Trx } from '../../db/connect.ts'
import { listTriggers, triggerKey } from '../../db/events/triggers.ts'
import { isRefusal } from '../../rules/refusals.ts'
import { noteQueries } from '../setup/askedQueries.ts'
import { createSegmentWorld, large, startsAt } from '../setup/contactSegments.ts'
import { createTestDatabase } from '../setup/database.ts'
import { design, insertFlow, onEvent } from '../setup/flows.ts'
import { uniqueName } from '../setup/unique.ts'

const { db, pool } = await createTestDatabase()
const { db: listening, asked } = noteQueries(pool)

const inSegment = (segment_id: string) => ({ type: 'segment', segment_id, member: true })

/** How many of the statements that were asked since the last call have this in them. */
function countAsked(part: string): number {
  return asked.splice(0).filter(({ sql: text }) => text.includes(part)).length
}

test('segments that are kept are read once for all events', async () => {
  const { segment, set, post, workspace } = await createSegmentWorld(listening)
  const parts: string[] = []
  for (let n = 0; n < 20; n++) parts.push(await segment(large(240)))
  const activated: boolean[] = []
  for (const ids of [parts.slice(0, 7), parts, parts]) {
    const id = await segment({ type: 'or', rules: ids.map(inSegment) })
    const given = startsAt('segment_entered', id)
    const answer = await set(await insertFlow(db, workspace, given), given)
    activated.push(!isRefusal(answer))
  }
  const email = `${uniqueName('c')}@example.test`
  await post(email, 'seen')
  countAsked('')
  for (let n = 0; n < 10; n++) await post(email, 'seen')
  expect(countAsked('with recursive named')).toBe(0)
  expect(activated).toEqual([true, false, false])
})

test('filters of an event are read once for all events', async () => {
  const { set, post, workspace } = await createSegmentWorld(listening)
  const event_name = uniqueName('paid')
  const given = design(
    { start: ['trigger', { kind: 'event', event_name, filter: large(240) }], end: ['exit', {}] },
    [['start', 'end']],
  )
  const answers: unknown[] = []
  for (let n = 0; n < 72; n++)
    answers.push(await set(await insertFlow(db, workspace, given), given))
  const email = `${uniqueName('c')}@example.test`
  // The first one makes the contact, so it meets other names too.
  for (let n = 0; n < 2; n++) await post(email, event_name)
  countAsked('')
  for (let n = 0; n < 10; n++) await post(email, event_name)
  expect(countAsked('t.filter')).toBe(0)
  expect(answers.filter((answer) => !isRefusal(answer))).toHaveLength(8)
  expect(answers.at(-1)).toMatchObject({
    code: 'invalid_design',
    problems: [{ code: 'too_large', path: 'nodes' }],
  })
})

test('filters of changed properties are read once for all events, whatever the names of these', async () => {
  const { set, post, workspace } = await createSegmentWorld(listening)
  const names = Array.from({ length: 10 }, () => uniqueName('paid'))
  const given = design(
    {
      start: ['trigger', { kind: 'property_changed', path: 'plan', filter: large(240) }],
      end: ['exit', {}],
    },
    [['start', 'end']],
  )
  for (let n = 0; n < 8; n++) {
    expect(isRefusal(await set(await insertFlow(db, workspace, given), given))).toBe(false)
  }
  const email = `${uniqueName('c')}@example.test`
  const postAll = async (round: string) => {
    for (const name of names) {
      await post(email, name, { contact_properties: { plan: `${round} ${name}` } })
    }
  }
  await postAll('first')
  countAsked('')
  await postAll('second')
  expect(countAsked('t.filter')).toBe(0)
})

test('a trigger that comes to another name meanwhile is seen under one of the two, in the order of designs', async () => {
  const { set, deps, workspace, workspaceId } = await createSegmentWorld(listening)
  const [before, after, other] = ['before', 'after', 'other'].map(uniqueName) as [
    string,
    string,
    string,
  ]
  const beginning = (event_name: string) =>
    design({ start: onEvent(event_name), end: ['exit', {}] }, [['start', 'end']])
  const id = await insertFlow(db, workspace, beginning(before))
  const second = await insertFlow(db, workspace, beginning(other))
  const inTrx = <T>(work: (trx: Trx) => Promise<T>) => transact(deps, ({ db: trx }) => work(trx))
  const listed = async (key: string | null, names: string[]) => {
    const [rows] = await inTrx((trx) => listTriggers(trx, workspaceId, [{ names, key }]))
    return rows?.map(({ workflow_id, event_name }) => ({ workflow_id, event_name }))
  }
  const findKey = () =>
    inTrx(async (trx) => {
      const key = triggerKey(workspaceId, sql`${[before, after, other]}::text[]`)
      return (await sql<{ key: string }>`select (${key}) as key`.execute(trx)).rows[0]?.key ?? null
    })
  const key = await findKey()
  // Known before it changes: of that name none.
  expect(await listed(key, [after])).toEqual([])
  const moved = design({ first: onEvent(other), start: onEvent(after), end: ['exit', {}] }, [
    ['first', 'end'],
    ['start', 'end'],
  ])
  await set(id, moved)
  const all = [
    { workflow_id: id, event_name: other },
    { workflow_id: id, event_name: after },
    { workflow_id: second, event_name: other },
  ]
  expect(await listed(key, [after, before, other])).toEqual(all)
  expect(await listed(await findKey(), [after, before, other])).toEqual(all)
})

test('a workflow of a workspace that has more already goes on, and may be changed but not made larger', async () => {
  const { set, workspace, workspaceId } = await createSegmentWorld(listening)
  const event_name = uniqueName('paid')
  const withFilter = (kib: number) =>
    design(
      {
        start: ['trigger', { kind: 'event', event_name, filter: large(kib) }],
        end: ['exit', {}],
      },
      [['start', 'end']],
    )
  const id = await insertFlow(db, workspace, withFilter(10))
  expect(isRefusal(await set(id, withFilter(10)))).toBe(false)
  // As a release before has let others become.
  for (let n = 0; n < 10; n++) {
    const other = await insertFlow(db, workspace, withFilter(240))
    await db
      .updateTable('workflow_triggers')
      .set({ filter: JSON.stringify(large(240)) })
      .where('workspace_id', '=', workspaceId)
      .where('workflow_id', '=', other)
      .execute()
  }
  for (const kib of [10, 9]) expect(isRefusal(await set(id, withFilter(kib)))).toBe(false)
  expect(await set(id, withFilter(11))).toMatchObject({ code: 'invalid_design' })
  expect(isRefusal(await set(id, null))).toBe(false)
})

test('the condition of a segment that is kept is not made larger than that', async () => {
  const { segment, set, change, deps, workspace, workspaceId } = await createSegmentWorld(listening)
  const parts: string[] = []
  for (let n = 0; n < 7; n++) parts.push(await segment(large(240)))
  const id = await segment({ type: 'or', rules: parts.map(inSegment) })
  const given = startsAt('segment_entered', id)
  await set(await insertFlow(db, workspace, given), given)
  const added = await segment(large(240))
  const second = await segment(large(240))
  const condition = (ids: string[]) => ({ type: 'or', rules: ids.map(inSegment) })
  await change(id, condition([...parts, added]))
  const wider = { id, condition: condition([...parts, added, second]) }
  expect(await updateSegment(deps, workspaceId, wider)).toMatchObject({
    code: 'segment_condition_invalid',
    problems: [{ code: 'too_large' }],
  })
})
