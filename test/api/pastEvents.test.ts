// Which events tell of the past, to the millisecond: they start nothing.
import { expect, test } from 'vitest'
import { limits } from '../../rules/limits.ts'
import { createTestApi } from '../setup/api.ts'
import { uniqueName } from '../setup/unique.ts'
import { createWorkflowClient, exitDesign } from '../setup/workflowClient.ts'

const now_ms = Date.now()
const api = await createTestApi({ now: () => new Date(now_ms) })
const { create } = createWorkflowClient(api)
const eventName = uniqueName('begun')
await create({ status: 'active', design: exitDesign(eventName) })

const HOUR_MS = 3_600_000

test.each([
  ['now', 0, {}, 1],
  ['an hour ahead', HOUR_MS, {}, 1],
  ['exactly 72 hours ago', -72 * HOUR_MS, {}, 1],
  ['a millisecond more than 72 hours ago', -72 * HOUR_MS - 1, {}, 0],
  ['long ago, said to be no history', -limits.eventBehindMsMax * 10, { historical: false }, 0],
  ['now, said to be history', 0, { historical: true }, 0],
  ['an hour ahead, said to be history', HOUR_MS, { historical: true }, 0],
])('an event of %s is recorded and starts so much', async (_name, after_ms, more, count) => {
  const email = `${uniqueName('c')}@example.test`
  const event = { event_name: eventName, email, timestamp: now_ms + after_ms, ...more }
  const path = '/v1/automation/events'
  const { body } = await api.request<{ executions: string[] }>('POST', path, event)
  expect(body.executions).toHaveLength(count)
  const contact = await api.request('GET', `/v1/automation/contacts/${email}`)
  expect(contact.body).toMatchObject({ event_count: 1, first_seen: now_ms + after_ms })
  const again = await api.request<{ executions: string[] }>('POST', path, event)
  expect(again.body.executions).toHaveLength(count)
})
