// Paths of contacts whose address is empty: refused as a blank one is, whatever comes after it.
import { expect, it } from 'vitest'
import { createTestApi } from '../setup/api.ts'

const api = await createTestApi()

it.each([
  ['GET', '/'],
  ['DELETE', '/'],
  ['GET', '//executions'],
  ['GET', '//events'],
  ['GET', '/%20/executions'],
  ['GET', '/%20/events'],
])('refuses %s of no address in %s', async (method, path) => {
  const answer = await api.request(method, `/v1/automation/contacts${path}`)
  expect([answer.status, answer.body]).toEqual([400, { error: 'Email is required' }])
})
