// `on_pause: hold`: while the workflow is paused executions stop before their next node. What arrives meanwhile is not lost, what
// interrupts them acts, and when the workflow is active again they go on, or are cancelled.
import { expect, test } from 'vitest'
import { takeUnsubscribe } from '../../commands/unsubscribes/takeMail.ts'
import { addressMacOf } from '../setup/addressMac.ts'
import { createApiWithEngine } from '../setup/apiEngine.ts'
import { eventually } from '../setup/eventually.ts'
import { design, mail, onEvent, type TestDesign } from '../setup/flows.ts'
import { newId, now } from '../setup/harness.ts'
import { uniqueName } from '../setup/unique.ts'

const { api, engine, flow, post, patch, stepLines, newContact } = await createApiWithEngine()
const SOON = { deadline_ms: 60_000 }
const is = (field: string) => ({ type: 'rule', field, operator: 'is_true' })

const arrows: [string, string, string?][] = [
  ['start', 'wait'],
  ['wait', 'hello', 'received'],
  ['hello', 'end'],
]
/** Waits for the event `name.go`, and greets. */
const greets = (name: string, settings: object = {}): TestDesign => ({
  ...design(
    {
      start: onEvent(name),
      wait: ['wait_for_event', { event_name: `${name}.go` }],
      hello: mail('Hello'),
      end: ['exit', { outcome: 'greeted' }],
    },
    arrows,
  ),
  settings: { on_pause: 'hold', ...settings },
})

/** The same, after a marketing mail. */
function withNews(name: string): TestDesign {
  const { nodes, edges, settings } = greets(name)
  const [type, data] = mail('News')
  const others = edges.filter(({ source }) => source !== 'start')
  const first = { id: 'n1', source: 'start', target: 'news' }
  const second = { id: 'n2', source: 'news', target: 'wait' }
  return {
    nodes: [...nodes, { id: 'news', type, data }],
    edges: [...others, first, second],
    settings: { ...settings },
  }
}

async function setStatus(workflowId: string, change: object) {
  const answer = await api.request('PATCH', `/v1/workflows/${workflowId}`, change)
  expect(answer.status, answer.text).toBe(200)
}
const pause = (workflowId: string) => setStatus(workflowId, { status: 'paused' })
const resume = (workflowId: string, held?: string) =>
  setStatus(workflowId, { status: 'active', ...(held ? { held } : {}) })

/** Executions that wait for `name.go`. */
async function startAll(
  count: number,
  made: (name: string) => TestDesign = (name) => greets(name),
) {
  const name = uniqueName('event')
  const workflowId = await flow(made(name))
  const people = []
  for (let i = 0; i < count; i++) {
    const email = newContact()
    const [id = ''] = await post(name, email)
    people.push({ email, id })
  }
  for (const { id } of people) await engine().waiting(id, 'wait')
  return { name, workflowId, people }
}

/** Executions of a paused workflow that are held before the mail. */
async function hold(count: number, made?: (name: string) => TestDesign) {
  const started = await startAll(count, made)
  await pause(started.workflowId)
  for (const { email } of started.people) await post(`${started.name}.go`, email)
  for (const { id } of started.people) await engine().waiting(id, 'hello')
  return started
}

const read = async (id: string) => (await api.request('GET', `/v1/executions/${id}`)).body
const heldLines = ['start default', 'wait received', 'hello - held']
const lines = async (id: string) =>
  (await stepLines(id)).map((line) => line.replace(/^start default .*/, 'start default'))

test('an event that comes while it is paused leads to the hold; released it goes on, and each effect is once', async () => {
  const { workflowId, people } = await hold(1)
  const [{ id } = { id: '' }] = people
  expect(await read(id)).toMatchObject({ status: 'WAITING', current_step_id: 'hello' })
  expect(await lines(id)).toEqual(heldLines)
  expect(await engine().subjects(id)).toEqual([])

  await resume(workflowId)
  expect(await engine().ended(id, 'COMPLETED')).toMatchObject({ outcome: 'greeted', step_count: 4 })
  expect(await lines(id)).toEqual(['start default', 'wait received', 'hello default', 'end -'])
  expect(await engine().subjects(id)).toEqual(['Hello'])
  expect(await engine().steps(id)).toHaveLength(4)
})

test('a timer that fires while it is paused leads to the hold', async () => {
  const name = uniqueName('event')
  const workflowId = await flow({
    ...design(
      {
        start: onEvent(name),
        wait: ['wait_until', { property_path: 'properties.renewal' }],
        hello: mail('Hello'),
        end: ['exit', {}],
      },
      [
        ['start', 'wait'],
        ['wait', 'hello'],
        ['hello', 'end'],
      ],
    ),
    settings: { on_pause: 'hold' },
  })
  const email = newContact()
  await post('hello.first', email)
  await patch(email, { renewal: Date.now() + 86_400_000 })
  const [id = ''] = await post(name, email)
  await engine().waiting(id, 'wait')
  await pause(workflowId)
  await patch(email, { renewal: Date.now() + 500 })
  await engine().waiting(id, 'hello')
  expect((await lines(id)).slice(1)).toEqual(['wait default', 'hello - held'])
  expect(await engine().subjects(id)).toEqual([])
  await resume(workflowId)
  await engine().ended(id, 'COMPLETED')
  expect(await engine().subjects(id)).toEqual(['Hello'])
})

test('cancel ends what is held with the reason, and what is not held goes on', async () => {
  const { name, workflowId, people } = await startAll(3)
  await pause(workflowId)
  for (const { email } of people.slice(0, 2)) await post(`${name}.go`, email)
  for (const { id } of people.slice(0, 2)) await engine().waiting(id, 'hello')
  await resume(workflowId, 'cancel')
  for (const { id } of people.slice(0, 2)) {
    await engine().ended(id, 'CANCELLED')
    expect(await read(id)).toMatchObject({ status: 'CANCELLED', cancellation_reason: 'held' })
    expect(await engine().subjects(id)).toEqual([])
  }
  const last = people[2] ?? { id: '', email: '' }
  await post(`${name}.go`, last.email)
  await engine().ended(last.id, 'COMPLETED')
})

test('an exit condition, the longest duration and an unsubscription act while it is held', async () => {
  const exits = (name: string) => greets(name, { exit_conditions: [is('properties.gone')] })
  const [byExit, byTime, byLeaving] = await Promise.all([
    hold(1, exits),
    hold(1, (name) => greets(name, { max_duration_ms: 20_000 })),
    hold(1, withNews),
  ])
  const idOf = ({ people }: typeof byExit) => people[0]?.id ?? ''
  await patch(byExit.people[0]?.email ?? '', { gone: true })
  expect(await engine().ended(idOf(byExit), 'COMPLETED')).toMatchObject({ outcome: 'exited' })
  expect(await lines(idOf(byExit))).toEqual([...heldLines.slice(0, 2), 'hello - exited'])
  const sent = api.db.selectFrom('emails').select('unsubscribe_token')
  const news = await sent.where('execution_id', '=', idOf(byLeaving)).executeTakeFirstOrThrow()
  const addressMac = await addressMacOf(api.db)
  const deps = { db: api.db, now, newId, addressMac, wake: () => engine().wake() }
  expect(await takeUnsubscribe(deps, news.unsubscribe_token ?? '')).toBe(true)
  expect(await engine().ended(idOf(byLeaving), 'CANCELLED')).toMatchObject({
    cancellation_reason: 'unsubscribed',
  })
  await eventually(async () => {
    expect(await engine().row(idOf(byTime))).toMatchObject({ outcome: 'max_duration' })
  }, SOON)
})

test('a goal is reached while it is held, and the execution is held behind it', async () => {
  const { workflowId, people } = await hold(1, (name) => {
    const given = greets(name)
    const data = { condition: is('properties.bought') }
    return {
      ...given,
      nodes: [...given.nodes, { id: 'bought', type: 'goal', data }],
      edges: [...given.edges, { id: 'g', source: 'bought', target: 'end' }],
    }
  })
  const [{ id, email } = { id: '', email: '' }] = people
  await patch(email, { bought: true })
  await engine().waiting(id, 'end')
  expect((await lines(id)).slice(2)).toEqual(['hello - goal', 'bought default goal', 'end - held'])
  await resume(workflowId)
  await engine().ended(id, 'COMPLETED')
  expect(await engine().subjects(id)).toEqual([])
})

test.each<[string, object, string[], number]>([
  [
    'a goal',
    {},
    ['start default', 'wait received', 'hello - goal', 'done default goal', 'thanks -'],
    5,
  ],
  [
    'an exit condition',
    { exit_conditions: [is('properties.done')] },
    ['start default', 'wait received', 'hello - exited'],
    3,
  ],
])(
  'a release before a send that %s takes away keeps the step at which it was held',
  async (_, settings, expected, count) => {
    const { workflowId, people } = await hold(1, (name) => {
      const made = greets(name, settings)
      const goal = { id: 'done', type: 'goal', data: { condition: is('properties.done') } }
      const thanks = { id: 'thanks', type: 'exit', data: { outcome: 'done' } }
      const edge = { id: 'd', source: 'done', target: 'thanks' }
      return { ...made, nodes: [...made.nodes, goal, thanks], edges: [...made.edges, edge] }
    })
    const [{ id, email } = { id: '', email: '' }] = people
    // It tells of the past, so it wakes nothing, and is found at the release.
    await api.request('POST', '/v1/automation/events', {
      event_name: 'told.later',
      email,
      historical: true,
      contact_properties: { done: true },
    })
    await resume(workflowId)
    expect(await engine().ended(id, 'COMPLETED')).toMatchObject({ step_count: count })
    expect(await lines(id)).toEqual(expected)
    expect(await engine().subjects(id)).toEqual([])
  },
)

test('an archived workflow holds nothing, since nobody could make it active', async () => {
  const { workflowId, people } = await hold(1)
  expect((await api.request('DELETE', `/v1/workflows/${workflowId}`)).status).toBe(204)
  await engine().ended(people[0]?.id ?? '', 'COMPLETED')
})

test('held goes with the status active alone', async () => {
  const workflowId = await flow(greets(uniqueName('event')))
  for (const change of [
    { status: 'paused', held: 'cancel' },
    { held: 'release', name: 'Flow' },
  ]) {
    const answer = await api.request('PATCH', `/v1/workflows/${workflowId}`, change)
    expect(answer.status).toBe(400)
    expect(answer.text).toContain('held')
  }
})
