// A key that is bound to one domain changes no template whose text goes out from another one.
import { describe, expect, it } from 'vitest'
import { createTestApi, insertTestDomain } from '../setup/api.ts'
import { createBoundKey, sending } from '../setup/boundKey.ts'

const api = await createTestApi()
const own = await insertTestDomain(api, 'own.test')
await insertTestDomain(api, 'other.test')
const { token } = await createBoundKey(api, own)

const as = (key: string) => (method: string, path: string, body?: unknown) =>
  api.request<Record<string, unknown>>(method, path, body, { authorization: `Bearer ${key}` })
const ask = as(token)
const full = as(api.key)

const person = 'ada@example.test'
const mine = sending({ from: 'a@own.test', text: 'Hi' })

describe('a template of mail of another domain', () => {
  const content = { subject: 'S', text: 'Theirs' }
  const writes = (name: string): [string, string, object?][] => [
    ['PATCH', `/v1/templates/${name}`, { from: null, alias: `${name}-new` }],
    ['PATCH', `/v1/templates/${name}`, { from: 'x@own.test', text: 'evil' }],
    ['PATCH', `/v1/templates/${name}`, { name: 'Renamed' }],
    ['POST', `/v1/templates/${name}/publish`],
    ['POST', `/v1/templates/${name}/duplicate`],
    ['DELETE', `/v1/templates/${name}`],
  ]
  const make = async (alias: string, more: object = {}) => {
    const made = await full('POST', '/v1/templates', { name: alias, alias, ...content, ...more })
    expect((await full('POST', `/v1/templates/${alias}/publish`)).status).toBe(200)
    return String(made.body['id'])
  }
  const activate = async (design: object) => {
    const made = await full('POST', '/v1/workflows', { name: 'F', status: 'active', design })
    expect([made.status, made.text]).toEqual([201, expect.any(String)])
    return String(made.body['workflow_id'])
  }
  const publishedText = async (name: string) =>
    (await full('GET', `/v1/templates/${name}`)).body['text']

  it('by the sender of its published version stays as it is', async () => {
    await make('published', { from: 'ceo@other.test' })
    expect((await full('PATCH', '/v1/templates/published', { from: null })).status).toBe(200)
    for (const [method, path, body] of writes('published')) {
      const answer = await ask(method, path, body)
      const told = [method, body, answer.status, answer.body['code']]
      expect(told).toEqual([method, body, 403, 'domain_not_found'])
    }
    expect(await publishedText('published')).toBe('Theirs')
    expect((await full('POST', '/v1/templates/published/publish')).status).toBe(200)
  })

  it.each([
    ['default_from', 'by-default', {}, { default_from: 'ceo@other.test' }],
    ['the from of a node', 'by-node', { from: 'ceo@other.test' }, {}],
  ])('by %s of an active workflow stays as it is', async (_, alias, data, settings) => {
    await make(alias)
    const workflow = await activate(sending({ template_id: alias, ...data }, settings))
    const message = `This API key may not send from other.test, from which the workflow ${workflow} sends this template`
    const refuseAll = async () => {
      for (const [method, path, body] of writes(alias)) {
        const answer = await ask(method, path, body)
        const told = [method, body, answer.status, answer.body]
        expect(told).toEqual([method, body, 403, { message, code: 'restricted_api_key' }])
      }
    }
    await refuseAll()
    const by = `/v1/workflows/${workflow}/executions`
    expect((await full('POST', by, { email: person })).status).toBe(201)
    // Stopping the workflow first is no way around it, nor is giving it another design: executions of the old one go on.
    const paused = await ask('PATCH', `/v1/workflows/${workflow}`, { status: 'paused' })
    expect(paused.status).toBe(200)
    await refuseAll()
    for (const [method, body] of [
      ['PATCH', { status: 'active', design: mine }],
      ['DELETE', undefined],
    ] as const) {
      const answer = await ask(method, `/v1/workflows/${workflow}`, body)
      expect([method, answer.status]).toEqual([method, expect.toBeOneOf([200, 204])])
      await refuseAll()
    }
    expect(await publishedText(alias)).toBe('Theirs')
  })

  it('gets no other template in its place', async () => {
    const id = await make('promo')
    await activate(sending({ template_id: 'promo' }, { default_from: 'ceo@other.test' }))
    expect((await full('PATCH', `/v1/templates/${id}`, { alias: null })).status).toBe(200)
    const evil = await make('evil')
    const renamed = await ask('PATCH', `/v1/templates/${evil}`, { alias: 'promo' })
    expect([renamed.status, renamed.body['code']]).toEqual([403, 'restricted_api_key'])
    const promo = { name: 'P', alias: 'promo', ...content }
    const made = await ask('POST', '/v1/templates', promo)
    expect([made.status, made.body['code']]).toEqual([403, 'restricted_api_key'])
    expect((await full('POST', '/v1/templates', promo)).status).toBe(201)
    const published = await ask('POST', '/v1/templates/promo/publish')
    expect([published.status, published.body['code']]).toEqual([403, 'restricted_api_key'])
  })

  it('may be changed where only workflows of the own domain send it', async () => {
    await make('shared')
    await activate(sending({ template_id: 'shared' }, { default_from: 'a@own.test' }))
    const changed = await ask('PATCH', '/v1/templates/shared', { text: 'New' })
    expect([changed.status, changed.body['text']]).toEqual([200, 'New'])
    expect((await ask('POST', '/v1/templates/shared/publish')).status).toBe(200)
    expect((await ask('POST', '/v1/templates/shared/duplicate')).status).toBe(201)
    const removed = await ask('DELETE', '/v1/templates/shared')
    expect([removed.status, removed.body['code']]).toEqual([409, 'template_in_use'])
  })
})
