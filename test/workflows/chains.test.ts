// What goes round without end: workflows that answer each other, and a loop in which no time passes.
import { expect, test } from 'vitest'
import { createApiWithEngine } from '../setup/apiEngine.ts'
import { eventually } from '../setup/eventually.ts'
import { design, mail, onEvent } from '../setup/flows.ts'
import { uniqueName } from '../setup/unique.ts'

const { api, engine, flow, post, stepLines, newContact } = await createApiWithEngine()

const executionsOf = (email: string) =>
  api.db
    .selectFrom('executions')
    .select(['id', 'chain_depth', 'ended_status', 'error'])
    .where('email', '=', email)
    .orderBy('chain_depth')
    .execute()

const subjectsTo = async (email: string) => {
  const found = await api.db
    .selectFrom('emails')
    .innerJoin('executions', 'executions.id', 'emails.execution_id')
    .select('emails.subject')
    .where('executions.email', '=', email)
    .execute()
  return found.map(({ subject }) => subject)
}

/** Sends a mail and then an event. */
const answers = (hears: string, says: string, subject: string) =>
  design(
    {
      start: onEvent(hears),
      hello: mail(subject),
      answer: ['send_event', { event_name: says }],
      end: ['exit', {}],
    },
    [
      ['start', 'hello'],
      ['hello', 'answer'],
      ['answer', 'end'],
    ],
  )

test('two workflows that answer each other stop at the tenth effect', async () => {
  const [ping, pong] = [uniqueName('ping'), uniqueName('pong')]
  await flow(answers(ping, pong, 'Ping'))
  await flow(answers(pong, ping, 'Pong'))
  const email = newContact()
  await post(ping, email)
  const rows = await eventually(async () => {
    const found = await executionsOf(email)
    if (!found.some(({ ended_status }) => ended_status === 'FAILED')) throw new Error('none failed')
    return found
  })
  expect(rows.map(({ chain_depth }) => chain_depth)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
  const last = rows.at(-1)
  expect(last).toMatchObject({ ended_status: 'FAILED', error: 'answer: chain_too_deep' })
  expect(await stepLines(last?.id ?? '')).toContain('answer - chain_too_deep')
  expect(rows.filter(({ ended_status }) => ended_status === 'COMPLETED')).toHaveLength(10)
  expect(await subjectsTo(email)).toHaveLength(11)
})

/** Answers by a changed property. */
const counts = (path: string, other: string) =>
  design(
    {
      start: ['trigger', { kind: 'property_changed', path }],
      hello: mail(path),
      count: ['update_contact', { increment: { [other]: 1 } }],
      end: ['exit', {}],
    },
    [
      ['start', 'hello'],
      ['hello', 'count'],
      ['count', 'end'],
    ],
  )

test('workflows that change a property for each other stop at the tenth effect', async () => {
  const [one, two] = ['loops.one', 'loops.two']
  await flow(counts(one, two))
  await flow(counts(two, one))
  const email = newContact()
  await post('known', email)
  await api.request('PATCH', `/v1/automation/contacts/${email}`, {
    properties: { loops: { one: 1 } },
  })
  engine().wake()
  const rows = await eventually(async () => {
    const found = await executionsOf(email)
    if (!found.some(({ ended_status }) => ended_status === 'FAILED')) throw new Error('none failed')
    return found
  })
  expect(rows.at(-1)).toMatchObject({ chain_depth: 10, error: 'count: chain_too_deep' })
  expect(await subjectsTo(email)).toHaveLength(11)
})

test('workflows that start each other after a pause stop after a hundred entries in an hour', async () => {
  const eventName = uniqueName('again')
  await flow(
    design(
      {
        start: onEvent(eventName),
        pause: ['delay', { ms: 1 }],
        hello: mail('Again'),
        answer: ['send_event', { event_name: eventName }],
        end: ['exit', {}],
      },
      [
        ['start', 'pause'],
        ['pause', 'hello'],
        ['hello', 'answer'],
        ['answer', 'end'],
      ],
    ),
  )
  const email = newContact()
  const body = { event_name: eventName, email }
  // Most of the entries are made at once, by hand.
  for (let i = 0; i < 95; i++) await api.request('POST', '/v1/automation/events', body)
  engine().wake()
  const rows = await eventually(async () => {
    const found = await executionsOf(email)
    if (found.some(({ ended_status }) => ended_status === null)) throw new Error('some still run')
    return found
  })
  expect(rows).toHaveLength(100)
  expect(await subjectsTo(email)).toHaveLength(100)
  expect(await post(eventName, email)).toEqual([])
})

const isTrue = { type: 'rule', field: 'properties.on', operator: 'not_exists' }
const loop = (eventName: string) =>
  design(
    {
      start: onEvent(eventName),
      hello: mail('Hello'),
      pause: ['delay', { ms: 50 }],
      wait: ['wait_for_condition', { condition: isTrue }],
      count: ['update_contact', { increment: { rounds: 1 } }],
      again: mail('Round {{ properties.rounds }}'),
      say: ['send_event', { event_name: 'round.done' }],
    },
    [
      ['start', 'hello'],
      ['hello', 'pause'],
      ['pause', 'wait'],
      ['wait', 'count', 'met'],
      ['count', 'again'],
      ['again', 'say'],
      ['say', 'wait'],
    ],
  )

test('a loop whose condition stays true is refused when the workflow becomes active', async () => {
  const body = { name: 'Loop', status: 'active', design: loop('loops') }
  const answer = await api.request('POST', '/v1/workflows', body)
  expect(answer.status).toBe(400)
  expect(answer.text).toContain('loop_without_wait')
})

test('a loop whose condition stays true ends FAILED, and nothing of that segment is kept', async () => {
  const { id, email } = await engine().run(loop('x'))
  const { error } = await engine().ended(id, 'FAILED')
  expect(error).toMatch(/^loop_without_time: wait was entered twice/)
  expect(await engine().steps(id)).toEqual(['start=default', 'hello=default', 'pause=null'])
  expect(await engine().subjects(id)).toEqual(['Hello'])
  const [contact, events] = await Promise.all([
    api.db
      .selectFrom('contacts')
      .select('properties')
      .where('email', '=', email)
      .executeTakeFirst(),
    api.db
      .selectFrom('automation_events')
      .select('event_name')
      .where('email', '=', email)
      .where('event_name', '=', 'round.done')
      .execute(),
  ])
  expect({ properties: contact?.properties, events }).toEqual({ properties: {}, events: [] })
})

test('a goal that leads back into its own segment ends FAILED too', async () => {
  const eventName = uniqueName('event')
  await flow(
    design(
      {
        start: onEvent(eventName),
        mark: ['update_contact', { set: { marked: true } }],
        hello: mail('Hello'),
        marked: [
          'goal',
          { condition: { type: 'rule', field: 'properties.marked', operator: 'is_true' } },
        ],
        end: ['exit', {}],
      },
      [
        ['start', 'mark'],
        ['mark', 'hello'],
        ['hello', 'end'],
        ['marked', 'mark'],
      ],
    ),
  )
  const [id = ''] = await post(eventName, newContact())
  const { error } = await engine().ended(id, 'FAILED')
  expect(error).toMatch(/^loop_without_time: mark was entered twice/)
  expect(await stepLines(id)).toEqual([])
})
