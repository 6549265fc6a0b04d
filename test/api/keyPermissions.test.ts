// What a key may ask by its permission.
import { expect, it } from 'vitest'
import { createTestApi } from '../setup/api.ts'

const api = await createTestApi()

it.each([
  ['read_only', 'GET', '/v1/nothing', 404],
  ['read_only', 'HEAD', '/v1/workflows/x/y/z', 404],
  ['read_only', 'POST', '/v1/nothing', 403],
  ['read_only', 'PUT', '/v1/emails', 403],
  ['sending_access', 'GET', '/v1/emails/x/y', 404],
  ['sending_access', 'PUT', '/v1/emails', 405],
  ['sending_access', 'GET', '/v1/emailsx', 403],
  ['sending_access', 'PUT', '/v1/audiences', 403],
  ['sending_access', 'HEAD', '/v1/emails', 403],
  ['sending_access', 'OPTIONS', '/v1/emails', 405],
  ['sending_access', 'OPTIONS', '/v1/audiences', 403],
  ['read_only', 'HEAD', '/v1/api-keys', 403],
  ['read_only', 'GET', '/v1/api-keys/x', 403],
  ['events_only', 'GET', '/v1/automation/events', 403],
  ['events_only', 'GET', '/v1/nothing', 403],
  ['full_access', 'PUT', '/v1/automation/contacts/', 405],
] as const)('a key that has %s: %s %s is a %i', async (permission, method, path, status) => {
  const { token } = await api.createKey({ permission })
  const answer = await api.request(method, path, undefined, { authorization: `Bearer ${token}` })
  expect(answer.status).toBe(status)
})
