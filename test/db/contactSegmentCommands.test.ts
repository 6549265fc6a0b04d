// The commands of segments: what they refuse, cycles among them, and that a segment in use stays.
import { describe, expect, test } from 'vitest'
import { createSegment } from '../../commands/segments/create.ts'
import { deleteSegment } from '../../commands/segments/delete.ts'
import { updateSegment } from '../../commands/segments/update.ts'
import { createSegmentWorld, listKnownOf } from '../setup/contactSegments.ts'
import { createTestDatabase } from '../setup/database.ts'
import { design, insertFlow, onEvent } from '../setup/flows.ts'

const { db } = await createTestDatabase()
const isPro = { type: 'rule', field: 'properties.plan', operator: 'eq', value: 'pro' }
const inside = (segment_id: string) => ({ type: 'segment', segment_id, member: true })

test('a condition that is none of a segment is refused, with its places', async () => {
  const { deps, workspaceId } = await createSegmentWorld(db)
  const other = await createSegmentWorld(db)
  const foreign = await other.segment(isPro)
  const problemsOf = async (condition: unknown) => {
    const answer = await createSegment(deps, workspaceId, { name: 'S', condition })
    if (typeof answer === 'string' || answer.code !== 'segment_condition_invalid') return answer
    return answer.problems.map(({ path, code }) => `${path} ${code}`)
  }
  const rules = [
    { ...isPro, field: 'event.a' },
    { type: 'email_activity', node_id: 'any', status: 'opened' },
    inside(foreign),
    { type: 'audience', audience_id: 'aud_1', member: true },
  ]
  expect(await problemsOf({ type: 'and', rules })).toEqual([
    'condition.rules.0.field unknown_field',
    'condition.rules.1 unknown_field',
    'condition.rules.2.segment_id unknown_segment',
    'condition.rules.3.audience_id unknown_audience',
  ])
  // It would change by its own changes, without end.
  const own = ['contact.segment_entered', 'contact.segment_left'].map((event_name) => ({
    type: 'event_count',
    event_name,
    operator: 'eq',
    value: 0,
    within_ms: 1_000,
  }))
  expect(await problemsOf({ type: 'or', rules: own })).toEqual([
    'condition.rules.0.event_name bad_value',
    'condition.rules.1.event_name bad_value',
  ])
  expect(await problemsOf(undefined)).toEqual(['condition bad_value'])
  expect(await problemsOf({})).toEqual(['condition empty_condition'])
  expect(await problemsOf({ ...isPro, value: '\0' })).toEqual(['condition bad_value'])
})

describe('a segment that names itself', () => {
  test('is refused, by way of others too', async () => {
    const { change, segment, deps, workspaceId } = await createSegmentWorld(db)
    const a = await segment(isPro)
    const b = await segment(inside(a))
    const c = await segment({ type: 'not', rules: [inside(b)] })
    const cycle = (condition: object) => updateSegment(deps, workspaceId, { id: a, condition })
    expect(await cycle(inside(a))).toMatchObject({ code: 'segment_cycle', by: [] })
    expect(await cycle(inside(b))).toMatchObject({ code: 'segment_cycle', by: [b] })
    const wide = { type: 'or', rules: [isPro, inside(c)] }
    expect(await cycle(wide)).toMatchObject({ code: 'segment_cycle', by: [b, c].sort() })
    await change(b, isPro)
    await change(a, inside(b))
  })

  test('is refused when two changes at once would make it', async () => {
    const { segment, deps, workspaceId } = await createSegmentWorld(db)
    const [a, b] = [await segment(isPro), await segment(isPro)]
    const answers = await Promise.all([
      updateSegment(deps, workspaceId, { id: a, condition: inside(b) }),
      updateSegment(deps, workspaceId, { id: b, condition: inside(a) }),
    ])
    expect(answers.filter((answer) => answer === undefined)).toHaveLength(1)
    expect(answers.find((answer) => answer !== undefined)).toMatchObject({ code: 'segment_cycle' })
  })
})

describe('deleting', () => {
  test('a segment that another one names is refused, and one that nothing names is gone', async () => {
    const { segment, deps, workspaceId } = await createSegmentWorld(db)
    const a = await segment(isPro)
    const b = await segment(inside(a))
    const remove = (id: string) => deleteSegment(deps, workspaceId, { id })
    expect(await remove(a)).toMatchObject({ code: 'segment_in_use', by: 'segment', id: b })
    expect(await remove(b)).toBeUndefined()
    expect(await remove(a)).toBeUndefined()
    expect(await remove(a)).toMatchObject({ code: 'segment_not_found' })
    expect(await listKnownOf(db, workspaceId)).toEqual([])
  })

  test('a segment that a workflow begins at, or asks about, is refused while it may run', async () => {
    const { segment, begin, set, fill, post, patch, deps, workspace, workspaceId } =
      await createSegmentWorld(db)
    const id = await segment(isPro)
    const remove = () => deleteSegment(deps, workspaceId, { id })
    const workflowId = await begin('segment_entered', id)
    expect(await remove()).toMatchObject({ code: 'segment_in_use', by: 'workflow', id: workflowId })
    await fill()
    await post('ada@example.test', 'seen')
    await patch('ada@example.test', { plan: 'pro' })
    const archive = (one: string) =>
      db.updateTable('workflows').set({ archived_at: new Date() }).where('id', '=', one).execute()
    await set(workflowId, null)
    await archive(workflowId)
    // Its execution still runs.
    expect(await remove()).toMatchObject({ code: 'segment_in_use', id: workflowId })
    const at = new Date()
    await db
      .updateTable('executions')
      .set({ ended_status: 'COMPLETED', completed_at: at })
      .execute()
    const asking = await insertFlow(
      db,
      workspace,
      design(
        {
          start: onEvent('seen'),
          only: ['filter', { condition: { type: 'not', rules: [inside(id)] } }],
          end: ['exit', {}],
        },
        [
          ['start', 'only'],
          ['only', 'end'],
        ],
      ),
    )
    expect(await remove()).toMatchObject({ code: 'segment_in_use', id: asking })
    await archive(asking)
    expect(await remove()).toBeUndefined()
    // What was known of its members goes too.
    await fill()
    const rows = db.selectFrom('segment_members').select('contact_id')
    expect(await rows.where('segment_id', '=', id).execute()).toEqual([])
  })
})
