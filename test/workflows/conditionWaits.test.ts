// Waits for a condition: met at once, by a change of the contact, an event, a mail, time alone; or out of time.
import { expect, test } from 'vitest'
import type { Json } from '../../rules/json.ts'
import { createApiWithEngine } from '../setup/apiEngine.ts'
import { design, mail, onEvent } from '../setup/flows.ts'
import { openMail } from '../setup/openedMail.ts'
import { uniqueName } from '../setup/unique.ts'

const { api, engine, flow, post, patch, stepLines, newContact } = await createApiWithEngine()

const rule = (field: string, operator: string, value?: Json) => ({
  type: 'rule',
  field,
  operator,
  ...(value === undefined ? {} : { value }),
})
const isPro = rule('properties.plan', 'eq', 'pro')

/** Starts an execution that sends a mail and then waits for a condition. */
async function start(condition: object, more: object = {}, properties: object = {}) {
  const eventName = uniqueName('event')
  const waiting = design(
    {
      start: onEvent(eventName),
      hello: mail('Hello'),
      wait: ['wait_for_condition', { condition, ...more }],
      met: ['exit', { outcome: 'met' }],
      late: ['exit', { outcome: 'late' }],
    },
    [
      ['start', 'hello'],
      ['hello', 'wait'],
      ['wait', 'met', 'met'],
      ['wait', 'late', 'timeout'],
    ],
  )
  await flow(waiting)
  const email = newContact()
  const body = { event_name: eventName, email, contact_properties: properties }
  const path = '/v1/automation/events'
  const answer = await api.request<{ executions: string[] }>('POST', path, body)
  engine().wake()
  const [id = ''] = answer.body.executions
  return { id, email }
}

/** The end of an execution, and its steps after the mail. */
async function endOf(id: string) {
  const { outcome } = await engine().ended(id, 'COMPLETED')
  return { outcome, steps: (await stepLines(id)).slice(2) }
}

test('met at once when it holds on entering', async () => {
  const { id } = await start(isPro, { timeout: 'P1D' }, { plan: 'pro' })
  expect(await endOf(id)).toEqual({
    outcome: 'met',
    steps: ['wait met properties.plan eq "pro" is true', 'met -'],
  })
})

test('met by a change of the contact, and by no other change', async () => {
  const { id, email } = await start(isPro)
  expect(await engine().waiting(id, 'wait')).toMatchObject({ waitUntil: null })
  await patch(email, { plan: 'free' })
  await patch(email, { plan: 'pro' })
  expect(await endOf(id)).toEqual({ outcome: 'met', steps: ['wait met', 'met -'] })
})

test('met by an event that it counts', async () => {
  const twice = { type: 'event_count', event_name: 'came.in', operator: 'gte', value: 2 }
  const { id, email } = await start(twice, { timeout: 'P1D' })
  await engine().waiting(id, 'wait')
  await post('came.in', email)
  expect((await engine().row(id)).ended_status).toBeNull()
  await post('came.in', email)
  expect(await endOf(id)).toEqual({ outcome: 'met', steps: ['wait met', 'met -'] })
})

test('met by the properties that an event brings', async () => {
  const { id, email } = await start(isPro)
  await engine().waiting(id, 'wait')
  const event = { event_name: 'anything', email, contact_properties: { plan: 'pro' } }
  await api.request('POST', '/v1/automation/events', event)
  expect((await endOf(id)).outcome).toBe('met')
})

test('met when its own mail is opened', async () => {
  const opened = { type: 'email_activity', node_id: 'hello', status: 'opened' }
  const { id } = await start(opened, { timeout: 'P1D' })
  await engine().waiting(id, 'wait')
  await openMail(api, { executionId: id, nodeId: 'hello' })
  expect(await endOf(id)).toEqual({ outcome: 'met', steps: ['wait met', 'met -'] })
})

test('met when the contact joins an audience', async () => {
  const made = await api.request<{ id: string }>('POST', '/v1/audiences', { name: 'Buyers' })
  const { id: audience_id } = made.body
  const { id, email } = await start({ type: 'audience', audience_id, member: true })
  await engine().waiting(id, 'wait')
  await api.request('POST', `/v1/audiences/${audience_id}/contacts`, { email })
  engine().wake()
  expect((await endOf(id)).outcome).toBe('met')
})

test('out of time it takes the timeout, and a later change does nothing', async () => {
  const { id, email } = await start(isPro, { timeout: 'PT1S' })
  expect(await endOf(id)).toEqual({ outcome: 'late', steps: ['wait timeout', 'late -'] })
  await patch(email, { plan: 'pro' })
  expect(await stepLines(id)).toHaveLength(4)
})

const SPAN_MS = 1_500

test.each([
  ['older_than', rule('properties.seen', 'older_than', SPAN_MS)],
  ['not within_last', { type: 'not', rules: [rule('properties.seen', 'within_last', SPAN_MS)] }],
])('met by time alone: %s', async (_name, condition) => {
  const seen = Date.now()
  const { id } = await start(condition, { timeout: 'P1D' }, { seen })
  expect((await endOf(id)).outcome).toBe('met')
  const last = await api.db
    .selectFrom('execution_steps')
    .select('at')
    .where('execution_id', '=', id)
    .where('node_id', '=', 'met')
    .executeTakeFirstOrThrow()
  expect(last.at.getTime()).toBeGreaterThan(seen + SPAN_MS)
})

test('met by time alone after a date that came during the wait', async () => {
  const { id, email } = await start(rule('properties.seen', 'older_than', SPAN_MS))
  await engine().waiting(id, 'wait')
  await patch(email, { seen: Date.now() })
  expect((await endOf(id)).outcome).toBe('met')
})

test('a change moves the time at which it is met', async () => {
  const old = rule('properties.seen', 'older_than', 'P30D')
  const { id, email } = await start(old, {}, { seen: Date.now() })
  const { waitUntil } = await engine().waiting(id, 'wait')
  expect(waitUntil).toBeGreaterThan(Date.now())
  await patch(email, { seen: 0 })
  expect((await endOf(id)).outcome).toBe('met')
})

// 9999 stands for "never" in many systems; the second has a year that no timestamp of Postgres is written with.
test.each(['9999-12-31', 8.6e15, Date.now() + 1e9 + 0.5])(
  'a date of the contact at the end of time is waited for: %s',
  async (seen) => {
    const { id, email } = await start(rule('properties.seen', 'older_than', 'P30D'), {}, { seen })
    const { waitUntil } = await engine().waiting(id, 'wait')
    expect(waitUntil).toBeGreaterThan(Date.now())
    await patch(email, { seen: 0 })
    expect((await endOf(id)).outcome).toBe('met')
  },
)
