// How much the conditions may hold that each event of a workspace meets, so that a process keeps them and reads them once.
import { Kysely, PostgresDialect } from 'kysely'
import { expect, test } from 'vitest'
import { updateSegment } from '../../commands/segments/update.ts'
import type { Database } from '../../db/schema.ts'
import { isRefusal } from '../../rules/refusals.ts'
import { createSegmentWorld, startsAt } from '../setup/contactSegments.ts'
import { createTestDatabase } from '../setup/database.ts'
import { design, insertFlow } from '../setup/flows.ts'
import { uniqueName } from '../setup/unique.ts'

const { db, pool } = await createTestDatabase()
const asked: string[] = []
const listening = new Kysely<Database>({
  dialect: new PostgresDialect({ pool }),
  log: ({ query }) => void asked.push(query.sql),
})

/** A condition of some hundreds of KiB. */
const large = (kib: number) => ({
  type: 'rule',
  field: 'properties.plan',
  operator: 'in',
  value: Array.from({ length: kib }, (_, n) => String(n).padStart(1_020, 'x')),
})
const inSegment = (segment_id: string) => ({ type: 'segment', segment_id, member: true })

/** How many of the statements that were asked since the last call have this in them. */
function countAsked(part: string): number {
  return asked.splice(0).filter((text) => text.includes(part)).length
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
