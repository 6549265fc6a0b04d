// What interrupts an execution: exit conditions, goals, and its longest duration.
// Long because all that interrupts goes by the same few designs.
import { describe, expect, test } from 'vitest'
import { createApiWithEngine } from '../setup/apiEngine.ts'
import { design, mail, onEvent, type TestDesign } from '../setup/flows.ts'
import { uniqueName } from '../setup/unique.ts'

const { api, engine, flow, post, patch, stepLines, newContact } = await createApiWithEngine()

const is = (field: string) => ({ type: 'rule', field, operator: 'is_true' })

/** Starts an execution of a design whose trigger is `start`. */
async function start(made: (eventName: string) => TestDesign, properties: object = {}) {
  const eventName = uniqueName('event')
  await flow(made(eventName))
  const email = newContact()
  const [id = ''] = await post(eventName, email, properties)
  return { id, email }
}

/** A cart mail after a day, unless the goal comes first: then thanks, a wait, and the end. */
const cart =
  (goal: Record<string, unknown>, settings: object = {}) =>
  (eventName: string) => ({
    ...design(
      {
        start: onEvent(eventName),
        day: ['delay', { duration: 'P1D' }],
        cart: mail('Your cart'),
        bought: ['goal', goal],
        thanks: mail('Thanks'),
        week: ['delay', { duration: 'P7D' }],
        end: ['exit', { outcome: 'bought' }],
      },
      [
        ['start', 'day'],
        ['day', 'cart'],
        ['cart', 'bought'],
        ['bought', 'thanks'],
        ['thanks', 'week'],
        ['week', 'end'],
      ],
    ),
    settings: { ...settings },
  })

const outOfTheDelay = [
  'start default',
  'day - goal',
  'bought default goal',
  'thanks default',
  'week -',
]

describe('a goal', () => {
  test('by a condition takes an execution out of a delay, once', async () => {
    const { id, email } = await start(cart({ condition: is('properties.bought') }))
    await engine().waiting(id, 'day')
    await patch(email, { bought: true })
    await engine().waiting(id, 'week')
    // The condition holds still, and each change is looked at.
    await patch(email, { more: 1 })
    await patch(email, { more: 2 })
    const lines = (await stepLines(id)).map((line) => line.replace(/^start .*/, 'start default'))
    expect(lines).toEqual(outOfTheDelay)
    expect(await engine().subjects(id)).toEqual(['Thanks'])
    expect((await engine().row(id)).ended_status).toBeNull()
  })

  test('by an event takes an execution out of a delay, once', async () => {
    const { id, email } = await start(cart({ event_name: 'goal.bought' }))
    await engine().waiting(id, 'day')
    await post('goal.other', email)
    await post('goal.bought', email)
    await engine().waiting(id, 'week')
    await post('goal.bought', email)
    const lines = (await stepLines(id)).map((line) => line.replace(/^start .*/, 'start default'))
    expect(lines).toEqual(outOfTheDelay)
    expect(await engine().subjects(id)).toEqual(['Thanks'])
  })

  test('that holds on entering is reached before the first node', async () => {
    const { id } = await start(cart({ condition: is('event.bought') }), { bought: true })
    await engine().waiting(id, 'week')
    expect((await stepLines(id)).slice(1)).toEqual([
      'bought default goal',
      'thanks default',
      'week -',
    ])
  })

  const until = (goal: string) =>
    [
      {
        day: ['delay', { duration: 'P1D' }],
        late: ['exit', { outcome: 'late' }],
        bought: ['goal', { event_name: goal }],
        week: ['delay', { duration: 'P7D' }],
      },
      [
        ['start', 'day'],
        ['day', 'late'],
        ['bought', 'week'],
        ['week', 'late'],
      ],
    ] satisfies [Parameters<typeof design>[0], Parameters<typeof design>[1]]

  test.each<['before' | 'after', string]>([
    ['before', 'day'],
    ['after', 'week'],
  ])('by an event of the same batch %s the one that starts the execution', async (place, at) => {
    const [begins, bought] = [uniqueName('begins'), uniqueName('bought')]
    const [nodes, arrows] = until(bought)
    await flow(design({ start: onEvent(begins), ...nodes }, arrows))
    const email = newContact()
    const names = place === 'before' ? [bought, begins] : [begins, bought]
    const events = names.map((event_name) => ({ event_name, email }))
    type Batch = { events: { executions?: string[] }[] }
    const { body } = await api.request<Batch>('POST', '/v1/automation/events/batch', { events })
    engine().wake()
    const [id = ''] = body.events.flatMap(({ executions = [] }) => executions)
    await engine().waiting(id, at)
  })

  test('is not reached by the event whose properties started the execution', async () => {
    const changes = uniqueName('changes')
    const [nodes, arrows] = until(changes)
    const onPlan: [string, object] = ['trigger', { kind: 'property_changed', path: 'plan' }]
    await flow(design({ start: onPlan as ReturnType<typeof onEvent>, ...nodes }, arrows))
    const email = newContact()
    await post('goal.first', email)
    const body = { event_name: changes, email, contact_properties: { plan: 'pro' } }
    const path = '/v1/automation/events'
    const answer = await api.request<{ executions: string[] }>('POST', path, body)
    engine().wake()
    const [id = ''] = answer.body.executions
    await engine().waiting(id, 'day')
    await post(changes, email)
    await engine().waiting(id, 'week')
  })

  test('comes before the wait of the execution that the same event would end', async () => {
    const { id, email } = await start((eventName) =>
      design(
        {
          start: onEvent(eventName),
          wait: ['wait_for_event', { event_name: 'both.wait' }],
          received: mail('Received'),
          bought: ['goal', { event_name: 'both.wait' }],
          end: ['exit', {}],
        },
        [
          ['start', 'wait'],
          ['wait', 'received', 'received'],
          ['received', 'end'],
          ['bought', 'end'],
        ],
      ),
    )
    await engine().waiting(id, 'wait')
    await post('both.wait', email)
    await engine().ended(id, 'COMPLETED')
    expect((await stepLines(id)).slice(1)).toEqual(['wait - goal', 'bought default goal', 'end -'])
    expect(await engine().subjects(id)).toEqual([])
  })

  test('is reached by an event that a node of the execution sends', async () => {
    const { id } = await start((eventName) =>
      design(
        {
          start: onEvent(eventName),
          say: ['send_event', { event_name: 'own.goal' }],
          hello: mail('Hello'),
          bought: ['goal', { event_name: 'own.goal' }],
          end: ['exit', {}],
        },
        [
          ['start', 'say'],
          ['say', 'hello'],
          ['hello', 'end'],
          ['bought', 'end'],
        ],
      ),
    )
    await engine().ended(id, 'COMPLETED')
    expect((await stepLines(id)).slice(1)).toEqual([
      'say default own.goal',
      'bought default goal',
      'end -',
    ])
    expect(await engine().subjects(id)).toEqual([])
  })

  test('in line is passed, and does not take the execution back', async () => {
    const { id, email } = await start((eventName) =>
      design(
        {
          start: onEvent(eventName),
          bought: ['goal', { event_name: 'line.bought' }],
          week: ['delay', { duration: 'P7D' }],
          end: ['exit', {}],
        },
        [
          ['start', 'bought'],
          ['bought', 'week'],
          ['week', 'end'],
        ],
      ),
    )
    await engine().waiting(id, 'week')
    await post('line.bought', email)
    expect((await stepLines(id)).slice(1)).toEqual(['bought default', 'week -'])
  })
})

describe('an exit condition', () => {
  const exits = { exit_conditions: [is('properties.gone'), is('properties.bought')] }

  test('ends an execution out of a delay, before a goal that holds too', async () => {
    const { id, email } = await start(cart({ condition: is('properties.bought') }, exits))
    await engine().waiting(id, 'day')
    await patch(email, { bought: true })
    expect(await engine().ended(id, 'COMPLETED')).toMatchObject({ outcome: 'exited' })
    expect((await stepLines(id)).slice(1)).toEqual(['day - exited'])
    expect(await engine().subjects(id)).toEqual([])
  })

  test('is looked at before a send', async () => {
    const { id } = await start((eventName) => ({
      ...design(
        {
          start: onEvent(eventName),
          gone: ['update_contact', { set: { gone: true } }],
          hello: mail('Hello'),
          end: ['exit', {}],
        },
        [
          ['start', 'gone'],
          ['gone', 'hello'],
          ['hello', 'end'],
        ],
      ),
      settings: exits,
    }))
    expect(await engine().ended(id, 'COMPLETED')).toMatchObject({ outcome: 'exited' })
    expect(await engine().subjects(id)).toEqual([])
  })
})

test('the longest duration ends an execution in a delay, at its moment', async () => {
  const max_duration_ms = 1_500
  const { id } = await start(cart({ event_name: 'never.comes' }, { max_duration_ms }))
  const ended = await engine().ended(id, 'COMPLETED')
  expect(ended).toMatchObject({ outcome: 'max_duration', step_count: 2 })
  const took = (ended.completed_at?.getTime() ?? 0) - ended.created_at.getTime()
  expect(took).toBeGreaterThanOrEqual(max_duration_ms)
  expect((await stepLines(id)).slice(1)).toEqual(['day - max_duration'])
  expect(await engine().subjects(id)).toEqual([])
})
