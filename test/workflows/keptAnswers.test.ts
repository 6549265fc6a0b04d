// What a node has kept of an answer is read by later waits, by goals, and after Temporal has lost the execution.
import { expect, test } from 'vitest'
import { createApiWithEngine } from '../setup/apiEngine.ts'
import { design, mail, onEvent } from '../setup/flows.ts'
import { createHttpServer, json } from '../setup/httpServer.ts'
import { uniqueName } from '../setup/unique.ts'

const { engine, flow, post, patch, newContact } = await createApiWithEngine()
const server = await createHttpServer()
server.answer('/order', json(200, { id: 'o1', plan: 'pro' }))
const rule = (field: string, value: string) => ({ type: 'rule', field, operator: 'eq', value })
const ask: [string, Record<string, unknown>] = [
  'http_request',
  { method: 'GET', url: `${server.url}/order`, store_as: 'order' },
]

test('by the filter of a wait for an event, and by a condition that it waits for', async () => {
  const eventName = uniqueName('event')
  const paid = uniqueName('paid')
  const isPro = rule('steps.order.body.plan', 'pro')
  await flow(
    design(
      {
        start: onEvent(eventName),
        ask,
        paid: [
          'wait_for_event',
          { event_name: paid, match: [{ event_path: 'id', equals_path: 'steps.order.body.id' }] },
        ],
        held: [
          'wait_for_condition',
          { condition: { type: 'and', rules: [isPro, rule('properties.ready', 'yes')] } },
        ],
        end: ['exit', {}],
      },
      [
        ['start', 'ask'],
        ['ask', 'paid', 'success'],
        ['ask', 'end', 'error'],
        ['paid', 'held', 'received'],
        ['held', 'end', 'met'],
      ],
    ),
  )
  const email = newContact()
  const [id = ''] = await post(eventName, email)
  await engine().waiting(id, 'paid')
  await post(paid, email, { id: 'o2' })
  await post(paid, email, { id: 'o1' })
  await engine().waiting(id, 'held')
  await patch(email, { ready: 'yes' })
  await engine().ended(id, 'COMPLETED')
  expect(await engine().steps(id)).toEqual([
    'start=default',
    'ask=success',
    'paid=received',
    'held=met',
    'end=null',
  ])
}, 120_000)

test('by a goal while it waits', async () => {
  const eventName = uniqueName('event')
  const condition = {
    type: 'and',
    rules: [rule('steps.order.body.plan', 'pro'), rule('properties.plan', 'pro')],
  }
  await flow(
    design(
      {
        start: onEvent(eventName),
        ask,
        wait: ['wait_for_event', { event_name: 'never.comes' }],
        bought: ['goal', { condition }],
        thanks: mail('Thanks for {{ steps.order.body.id }}'),
        end: ['exit', {}],
      },
      [
        ['start', 'ask'],
        ['ask', 'wait', 'success'],
        ['ask', 'end', 'error'],
        ['wait', 'end', 'received'],
        ['bought', 'thanks'],
        ['thanks', 'end'],
      ],
    ),
  )
  const email = newContact()
  const [id = ''] = await post(eventName, email)
  await engine().waiting(id, 'wait')
  await patch(email, { plan: 'pro' })
  await engine().ended(id, 'COMPLETED')
  expect(await engine().subjects(id)).toEqual(['Thanks for o1'])
}, 120_000)

test('a goal that was reached before a call is not reached again after it', async () => {
  const eventName = uniqueName('event')
  server.answer('/lap', json(200, {}))
  await flow(
    design(
      {
        start: onEvent(eventName),
        wait: ['wait_for_event', { event_name: 'never.comes' }],
        bought: ['goal', { condition: rule('properties.plan', 'pro') }],
        ask: ['http_request', { method: 'GET', url: `${server.url}/lap` }],
        end: ['exit', {}],
      },
      [
        ['start', 'wait'],
        ['wait', 'end', 'received'],
        ['bought', 'ask'],
        ['ask', 'end', 'success'],
        ['ask', 'end', 'error'],
      ],
    ),
  )
  const email = newContact()
  const [id = ''] = await post(eventName, email)
  await engine().waiting(id, 'wait')
  await patch(email, { plan: 'pro' })
  await engine().ended(id, 'COMPLETED')
  expect(await engine().steps(id)).toEqual([
    'start=default',
    'wait=null',
    'bought=default',
    'ask=success',
    'end=null',
  ])
  expect(server.came('/lap')).toHaveLength(1)
}, 120_000)
