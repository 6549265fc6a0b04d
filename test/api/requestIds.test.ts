// The id of a request: the client's if it is valid, otherwise a new one; it is in every answer.
import { describe, expect, it } from 'vitest'
import { createTestApi } from '../setup/api.ts'

const api = await createTestApi()

describe('X-Request-Id', () => {
  const askWith = async (id: string, path = '/v1/emails') =>
    (await api.request('GET', path, undefined, { 'x-request-id': id })).headers.get('x-request-id')

  it.each(['a', 'req-1', '!~"#', 'x'.repeat(128)])('is returned: %s', async (id) => {
    expect(await askWith(id)).toBe(id)
  })

  it.each(['', 'x'.repeat(129), 'two words', 'é'])('is replaced by a new one: "%s"', async (id) => {
    const made = await askWith(id)
    expect(made).toMatch(/^req_[\w-]{16,}$/)
    expect(await askWith(id)).not.toBe(made)
  })

  it('is on every answer', async () => {
    for (const path of ['/v1/emails', '/v1/none', '/healthz', '/docs', '/u/x', '/avatars/x.svg']) {
      expect([path, await askWith('mine', path)]).toEqual([path, 'mine'])
    }
    const refused = await api.request('GET', '/v1/emails', undefined, { authorization: '' })
    expect(refused.headers.get('x-request-id')).toMatch(/^req_/)
    const wrong = await api.request('PUT', '/v1/emails', '{}')
    expect(wrong.headers.get('x-request-id')).toMatch(/^req_/)
  })
})
