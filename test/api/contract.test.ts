// The check that stands behind every request of these tests: an answer that the description does not promise throws.
import { expect, it } from 'vitest'
import { createTestApi } from '../setup/api.ts'

const api = await createTestApi()
const { request } = api.app

/** Asks for the emails where the application answers so. */
async function ask(method: string, status: number, body: unknown): Promise<unknown> {
  api.app.request = () => Response.json(body, { status })
  try {
    return await api.request(method, '/v1/emails?cursor=x')
  } finally {
    api.app.request = request
  }
}

it('passes what is described', async () => {
  await api.request('GET', '/v1/emails')
  await ask('GET', 200, { emails: [], count: 0, cursor: null })
  await ask('GET', 400, { message: 'The cursor is not valid here', code: 'invalid_cursor' })
  // The text is the contract's, and comes without a code.
  await ask('POST', 400, { message: 'from field is required' })
  // No operation, so nothing is promised.
  await ask('DELETE', 405, {})
})

it.each([
  ['a status', 'GET', 404, { message: 'x', code: 'not_found' }, 'the status is not described'],
  ['a key', 'GET', 200, { emails: [], count: 0, cursor: null, more: 1 }, 'additional properties'],
  ['a type', 'GET', 200, { emails: [], count: '0', cursor: null }, 'must be integer'],
  ['a missing key', 'GET', 200, { emails: [], count: 0 }, "must have required property 'cursor'"],
  ['a code', 'GET', 400, { message: 'x', code: 'invalid_email' }, 'must be equal to one of'],
  ['a missing code', 'GET', 400, { message: 'x' }, "must have required property 'code'"],
  ['the other shape', 'GET', 400, { error: 'x', code: 'invalid_cursor' }, "property 'message'"],
  ['an empty text', 'POST', 400, { message: '' }, 'an error without a text'],
] as const)('refuses %s that is not described', async (_, method, status, body, fault) => {
  const place = `${method} /v1/emails?cursor=x: ${status} is not as described`
  const thrown = await ask(method, status, body).catch((err: Error) => err.message)
  expect(thrown).toContain(place)
  expect(thrown).toContain(fault)
})
