// A change that lets a rule of time turn before a wait is looked at: the wait goes on as since it began, and is looked at by then.
import { beforeAll, expect, test } from 'vitest'
import { findRestart } from '../../db/executions/lost.ts'
import type { Json } from '../../rules/json.ts'
import { createApiWithEngine } from '../setup/apiEngine.ts'
import { design, onEvent } from '../setup/flows.ts'
import { uniqueName } from '../setup/unique.ts'

const DAY_MS = 86_400_000
const { api, engine, flow, post, patch, newContact } = await createApiWithEngine()
// The segments are run here, one by one.
beforeAll(() => engine().stopStarter())

const rule = (field: string, operator: string, value?: Json) => ({
  type: 'rule',
  field,
  operator,
  ...(value === undefined ? {} : { value }),
})
const isOld = rule('properties.seen', 'older_than', 'P1D')
const quietly = { type: 'event_count', event_name: 'look.seen', operator: 'eq', value: 0 }
const isQuiet = { ...quietly, within_ms: DAY_MS }

const run = (executionId: string, segment: number) => engine().runSegment({ executionId, segment })

/** An execution that waits at that node. @returns its first result too */
async function waitAt(
  node: [string, Record<string, unknown>],
  settings: Record<string, unknown>,
  handles: string[],
) {
  const eventName = uniqueName('event')
  const wired = handles.map((handle): [string, string, string] => ['wait', 'end', handle])
  const made = design({ start: onEvent(eventName), wait: node, end: ['exit', {}] }, [
    ['start', 'wait'],
    ...wired,
  ])
  await flow({ ...made, settings })
  const email = newContact()
  await post('look.first', email)
  const [id = ''] = await post(eventName, email)
  const { next } = await run(id, 0)
  await api.db.deleteFrom('outbox').where('execution_id', '=', id).execute()
  return { id, email, next }
}

const signals = async (id: string) =>
  (
    await api.db
      .selectFrom('outbox')
      .select('kind')
      .where('execution_id', '=', id)
      .where('kind', '=', 'signal')
      .execute()
  ).length

const exits = { exit_conditions: [isOld] }
const event = { event_name: 'look.came', timeout: 'P7D' }

test.each<[string, [string, Record<string, unknown>], Record<string, unknown>, string[]]>([
  ['a delay', ['delay', { duration: 'P7D' }], exits, ['default']],
  ['a wait for an event', ['wait_for_event', event], exits, ['received', 'timeout']],
  [
    'a wait for a condition',
    ['wait_for_condition', { condition: isOld, timeout: 'P7D' }],
    {},
    ['met', 'timeout'],
  ],
])('a date that comes during %s', async (_, node, settings, handles) => {
  const { id, email, next } = await waitAt(node, settings, handles)
  expect(next).toMatchObject({ kind: 'wait', since: expect.any(Number) })
  await patch(email, { other: 1 })
  expect(await signals(id)).toBe(0)

  const seen = Date.now()
  await patch(email, { seen })
  expect(await signals(id)).toBe(1)
  // Once is enough.
  await patch(email, { other: 2 })
  expect(await signals(id)).toBe(1)

  const { next: looked } = await run(id, 1)
  const since = 'since' in next ? next.since : null
  expect(looked).toEqual({
    kind: 'wait',
    nodeId: 'wait',
    until: seen + DAY_MS + 1,
    since,
    again: true,
  })
  expect(await engine().steps(id)).toEqual(['start=default', 'wait=null'])
  await patch(email, { other: 3 })
  expect(await signals(id)).toBe(1)
})

test('an event that is counted during a wait for a condition', async () => {
  const condition = { type: 'and', rules: [isQuiet, rule('properties.go', 'is_true')] }
  const { id, email, next } = await waitAt(['wait_for_condition', { condition }], {}, ['met'])
  expect(next).toMatchObject({ until: null })
  await post('look.seen', email)
  expect(await signals(id)).toBe(0)
  await patch(email, { go: true })
  expect(await signals(id)).toBe(1)
  const { next: looked } = await run(id, 1)
  const until = 'until' in looked ? (looked.until ?? 0) : 0
  expect(Math.abs(until - Date.now() - DAY_MS)).toBeLessThan(60_000)
})

test('what comes before that look still ends the wait', async () => {
  const { id, email } = await waitAt(['wait_for_event', event], exits, ['received', 'timeout'])
  await patch(email, { seen: Date.now() })
  await post('look.came', email)
  expect(await run(id, 1)).toMatchObject({ next: { kind: 'end' }, step: 'end' })
  expect(await engine().steps(id)).toEqual(['start=default', 'wait=received', 'end=null'])
})

test('it is not lost where Temporal loses its data before it', async () => {
  const { id, email } = await waitAt(['delay', { duration: 'P7D' }], exits, ['default'])
  const { workspace_id } = await engine().row(id)
  const isOver = async () => {
    await api.db.deleteFrom('outbox').where('execution_id', '=', id).execute()
    return (await findRestart(api.db, workspace_id, id))?.is_over
  }
  expect(await isOver()).toBe(false)
  await patch(email, { seen: Date.now() })
  expect(await isOver()).toBe(true)
  await run(id, 1)
  expect(await isOver()).toBe(false)
})
