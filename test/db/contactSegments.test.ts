// Kept segments of contacts: who enters and leaves by a change, by time, by a changed condition, and while they are filled.
import { describe, expect, test } from 'vitest'
import { createSegmentWorld } from '../setup/contactSegments.ts'
import { createTestDatabase } from '../setup/database.ts'
import { uniqueName } from '../setup/unique.ts'

const { db } = await createTestDatabase()

const newContact = () => `${uniqueName('c')}@example.test`
const rule = (field: string, operator: string, value?: unknown) => ({
  type: 'rule',
  field,
  operator,
  ...(value === undefined ? {} : { value }),
})
const isPro = rule('properties.plan', 'eq', 'pro')
const HOUR = 3_600_000

test('entering and leaving start the workflows that begin there, and nothing else does', async () => {
  const { begin, fill, members, moves, patch, post, segment, starts } = await createSegmentWorld(db)
  const id = await segment(isPro)
  const entered = await begin('segment_entered', id)
  const left = await begin('segment_left', id)
  await fill()
  const email = newContact()
  const counts = async () => [await starts(entered, email), await starts(left, email)]
  await post(email, 'seen', { contact_properties: { plan: 'free' } })
  expect(await counts()).toEqual([0, 0])
  await patch(email, { plan: 'pro' })
  expect(await counts()).toEqual([1, 0])
  await patch(email, { other: 1 })
  await post(email, 'seen')
  expect(await counts()).toEqual([1, 0])
  await post(email, 'seen', { contact_properties: { plan: null } })
  expect(await counts()).toEqual([1, 1])
  expect(await moves(email)).toEqual([`entered ${id}`, `left ${id}`])
  expect(await members(id)).toEqual([])
})

test('who is new enters with their first event', async () => {
  const { begin, fill, post, segment, starts } = await createSegmentWorld(db)
  const id = await segment(isPro)
  const workflowId = await begin('segment_entered', id)
  await fill()
  const email = newContact()
  await post(email, 'seen', { contact_properties: { plan: 'pro' } })
  expect(await starts(workflowId, email)).toBe(1)
})

test('filling moves silently', async () => {
  const { begin, fill, members, moves, patch, post, segment } = await createSegmentWorld(db)
  const [before, meanwhile] = [newContact(), newContact()]
  await post(before, 'seen', { contact_properties: { plan: 'pro' } })
  await post(meanwhile, 'seen', { contact_properties: { plan: 'pro' } })
  const id = await segment(isPro)
  await begin('segment_entered', id)
  await patch(meanwhile, { other: 1 })
  await fill()
  expect(await members(id)).toEqual(expect.arrayContaining([before, meanwhile]))
  expect(await moves(before)).toEqual([])
  expect(await moves(meanwhile)).toEqual([])
})

test('who changes before the filling has come to them enters and leaves as they do', async () => {
  const { begin, fill, members, moves, patch, post, segment } = await createSegmentWorld(db)
  const [entering, leaving, counting] = [newContact(), newContact(), newContact()]
  await post(entering, 'seen', { contact_properties: { level: 1 } })
  await post(leaving, 'seen', { contact_properties: { level: 2 } })
  await post(counting, 'bought.it')
  const id = await segment({
    type: 'or',
    rules: [
      rule('properties.level', 'eq', 2),
      { type: 'event_count', event_name: 'bought.it', operator: 'gte', value: 2 },
    ],
  })
  await begin('segment_entered', id)
  await patch(entering, { level: 2 })
  await patch(leaving, { level: 3 })
  await post(counting, 'bought.it')
  expect(await moves(entering)).toEqual([`entered ${id}`])
  expect(await moves(leaving)).toEqual([`left ${id}`])
  expect(await moves(counting)).toEqual([`entered ${id}`])
  await fill()
  expect(await members(id)).toEqual([entering, counting].sort())
  await post(counting, 'bought.it')
  expect(await moves(counting)).toHaveLength(1)
})

describe('time alone', () => {
  test('lets in and out at the instant', async () => {
    const { begin, clock, fill, look, moves, post, segment } = await createSegmentWorld(db)
    const span = 24 * HOUR
    const id = await segment(rule('properties.seen_at', 'older_than', span))
    const within = await segment(rule('properties.seen_at', 'within_last', span))
    await begin('segment_entered', id)
    await begin('segment_left', within)
    await fill()
    const email = newContact()
    const seen = clock.ms
    await post(email, 'seen', { contact_properties: { seen_at: seen } })
    expect(await moves(email)).toEqual([`entered ${within}`])
    clock.ms = seen + span
    await look()
    expect(await moves(email)).toHaveLength(1)
    clock.ms = seen + span + 1
    await look()
    expect((await moves(email)).slice(1).sort()).toEqual([`entered ${id}`, `left ${within}`].sort())
    await look()
    expect(await moves(email)).toHaveLength(3)
  })

  test('is not turned back by an event whose clock is behind', async () => {
    const { begin, clock, fill, look, moves, post, segment } = await createSegmentWorld(db)
    const id = await segment(rule('properties.seen_at', 'older_than', HOUR))
    await begin('segment_entered', id)
    await begin('segment_left', id)
    await fill()
    const email = newContact()
    const seen = clock.ms
    await post(email, 'seen', { contact_properties: { seen_at: seen } })
    clock.ms = seen + HOUR + 1
    await look()
    clock.ms -= 10
    await post(email, 'seen', { contact_properties: { more: 1 } })
    clock.ms += 20
    await look()
    await post(email, 'seen', { contact_properties: { more: 2 } })
    expect(await moves(email)).toEqual([`entered ${id}`])
    // A change that does take them out is seen all the same.
    await post(email, 'seen', { contact_properties: { seen_at: clock.ms } })
    expect(await moves(email)).toEqual([`entered ${id}`, `left ${id}`])
  })

  test('counts for those who were found by filling', async () => {
    const { begin, clock, fill, look, moves, post, segment } = await createSegmentWorld(db)
    const email = newContact()
    const at = clock.ms
    await post(email, 'came.by')
    const within_ms = HOUR
    const id = await segment({
      type: 'event_count',
      event_name: 'came.by',
      operator: 'eq',
      value: 0,
      within_ms,
    })
    await begin('segment_entered', id)
    await fill()
    clock.ms = at + within_ms + 1
    await look()
    expect(await moves(email)).toEqual([`entered ${id}`])
  })
})

test('an event of the past moves silently', async () => {
  const { begin, fill, members, moves, post, segment, starts } = await createSegmentWorld(db)
  const id = await segment({
    type: 'event_count',
    event_name: 'order.old',
    operator: 'gte',
    value: 1,
  })
  const workflowId = await begin('segment_entered', id)
  await fill()
  const email = newContact()
  await post(email, 'seen')
  await post(email, 'order.old', { historical: true })
  expect(await members(id)).toEqual([email])
  expect(await moves(email)).toEqual([])
  await post(email, 'order.old')
  expect(await starts(workflowId, email)).toBe(0)
})

test('a changed condition moves silently, in segments that name it too', async () => {
  const { begin, change, fill, members, moves, patch, post, segment } = await createSegmentWorld(db)
  const [one, two] = [newContact(), newContact()]
  await post(one, 'seen', { contact_properties: { size: 1 } })
  await post(two, 'seen', { contact_properties: { size: 2 } })
  const inner = await segment(rule('properties.size', 'eq', 1))
  const outer = await segment({
    type: 'and',
    rules: [
      { type: 'segment', segment_id: inner, member: false },
      rule('properties.size', 'exists'),
    ],
  })
  await begin('segment_entered', inner)
  await begin('segment_entered', outer)
  await fill()
  expect([await members(inner), await members(outer)]).toEqual([[one], [two]])
  await change(inner, rule('properties.size', 'eq', 2))
  // Before it is filled anew, what somebody changes counts by the new condition.
  await patch(two, { size: 3 })
  expect((await moves(two)).sort()).toEqual([`entered ${outer}`, `left ${inner}`])
  await fill()
  expect([await members(inner), await members(outer)]).toEqual([[], [one, two].sort()])
  expect(await moves(one)).toEqual([])
})

test('members are forgotten when no active workflow begins there, and found again', async () => {
  const { begin, fill, members, post, segment, set, starts } = await createSegmentWorld(db)
  const email = newContact()
  await post(email, 'seen', { contact_properties: { plan: 'pro' } })
  const id = await segment(isPro)
  const workflowId = await begin('segment_entered', id)
  await fill()
  await set(workflowId, null)
  const left = newContact()
  await post(left, 'seen', { contact_properties: { plan: 'pro' } })
  await fill()
  const rows = await db
    .selectFrom('segment_members')
    .select('contact_id')
    .where('segment_id', '=', id)
  expect(await rows.execute()).toEqual([])
  const again = await begin('segment_entered', id)
  await fill()
  expect(await members(id)).toEqual(expect.arrayContaining([email, left]))
  expect([await starts(again, email), await starts(again, left)]).toEqual([0, 0])
})
