// Templates: what is refused, and where Liquid fails.
import { beforeAll, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../rules/json.ts'
import { createTestApi, type TestApi } from '../setup/api.ts'

let api: TestApi

beforeAll(async () => {
  api = await createTestApi()
})

const call = (method: string, path = '', body?: unknown) =>
  api.request<JsonObject & { id: string }>(method, `/v1/templates${path}`, body)
const create = async (body: object = {}) => (await call('POST', '', { name: 'T', ...body })).body

describe('refusals', () => {
  const bodies: [string, object, string][] = [
    ['no name', { name: undefined }, 'name is required'],
    ['an empty name', { name: '' }, 'name must not be empty'],
    ['a blank name', { name: ' ' }, 'name must not be blank'],
    ['a long name', { name: 'x'.repeat(256) }, 'name must not exceed 255 characters, has 256'],
    ['NUL in the name', { name: 'a\u0000' }, 'name must not hold a NUL character'],
    ['a number as html', { html: 5 }, 'html must be a string, not a number'],
    ['NUL in html', { html: '\u0000' }, 'html must not hold a NUL character'],
    ['a line of headers in from', { from: 'a@b.co\nX: y' }, 'from must be one address'],
    ['no address in reply_to', { reply_to: 'x' }, 'reply_to must be one address'],
    ['an alias with capitals', { alias: 'Ab' }, 'alias must be 1-64 of a-z 0-9 _ -'],
    ['an alias like an id', { alias: 'tpl_x' }, 'alias must be 1-64 of a-z 0-9 _ -'],
  ]
  it.each(bodies)('%s', async (_name, body, message) => {
    const { status, body: answer } = await call('POST', '', { name: 'T', ...body })
    expect(status).toBe(400)
    expect(answer).toMatchObject({
      code: 'invalid_request',
      message: expect.stringContaining(message),
    })
  })

  it('names line and column of a Liquid error', async () => {
    const answer = await call('POST', '', { name: 'T', html: 'a\n b {% if x %}' })
    expect([answer.status, answer.body]).toMatchObject([
      400,
      { code: 'invalid_template', field: 'html', line: 2, column: 4 },
    ])
    const { id } = await create({ subject: 'S' })
    const changed = await call('PATCH', `/${id}`, { subject: '{{ a | nofilter }' })
    expect(changed.body).toMatchObject({ code: 'invalid_template', field: 'subject', line: 1 })
    expect((await call('GET', `/${id}`)).body['subject']).toBe('S')
  })

  it('an empty change', async () => {
    const { id } = await create()
    expect((await call('PATCH', `/${id}`, { other: 1 })).status).toBe(400)
  })

  it.each([
    ['GET', ''],
    ['PATCH', ''],
    ['DELETE', ''],
    ['POST', '/publish'],
    ['POST', '/duplicate'],
    ['POST', '/render'],
  ])('%s of an unknown one%s, and of another workspace', async (method, tail) => {
    const foreign = await create({ html: 'x' })
    const { token } = await api.createKey({ workspaceName: 'other' })
    const body = method === 'PATCH' ? { name: 'x' } : tail === '/render' ? {} : undefined
    for (const id of ['none', '%00', 'tpl_00000000000000000000000000', foreign.id]) {
      const headers = { authorization: `Bearer ${token}` }
      const path = `/v1/templates/${id}${tail}`
      const answer = await api.request(method, path, body, headers)
      expect([answer.status, answer.body]).toMatchObject([404, { code: 'not_found' }])
    }
  })
})
