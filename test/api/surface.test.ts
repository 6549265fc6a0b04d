// The HTTP surface of the application, for every route: keys, methods, ids, media types, sizes.
import { describe, expect, it } from 'vitest'
import { lacksAddress } from '../../api/http/missingAddress.ts'
import { listOperations } from '../../api/http/operation.ts'
import { limits } from '../../rules/limits.ts'
import { type Answer, createTestApi } from '../setup/api.ts'
import { sendChunks } from '../setup/chunks.ts'
import { expectGolden } from '../setup/golden.ts'
import {
  bodyOf,
  errorKey,
  fillPath,
  guardedRoutes,
  hasParameter,
  routesOf,
  type TestRoute,
} from '../setup/routes.ts'
import { seedTenant } from '../setup/tenant.ts'

const api = await createTestApi()
const own = await seedTenant(api, 'test')
const other = await seedTenant(api, 'other')
const routes = routesOf(api)
const guarded = guardedRoutes(api)
const paths = [...new Set(routes.map((route) => route.path))].map((path) => ({ path }))

const text = expect.stringMatching(/./)
const unknown = '0'.repeat(26)
const noSuch = (route: TestRoute) =>
  fillPath(route, own, {
    id: `${(own.ids[route.path.split('/')[2] ?? ''] ?? 'x').split('_')[0]}_${unknown}`,
    audienceId: `aud_${unknown}`,
    email: 'nobody@example.test',
    n: '999',
    name: 'NO_SUCH_KEY',
  })

/** A 403 for a key, whatever else is wrong with the request. */
const refusal = (code: string) => ({ status: 403, body: { message: text, code } })
const told = ({ status, body }: Answer<object>) => ({ status, body })
const errorBody = (path: string, code: string) => ({ [errorKey(path)]: text, code })

describe('golden files', () => {
  it('has these routes', () => {
    const lines = routes.map(({ method, path }) => `  ${JSON.stringify({ method, path })}`)
    expectGolden('routes.json', `[\n${lines.join(',\n')}\n]\n`)
  })

  it('has these rules at its routes; no route is without rules', () => {
    const operations = listOperations(api.app)
    const lines = operations.map((operation) => `  ${JSON.stringify(operation)}`).sort()
    expectGolden('operations.json', `[\n${lines.join(',\n')}\n]\n`)
    const named = operations.map(({ method, path }) => `${method} ${path}`)
    expect(named.sort()).toEqual(guarded.map(({ name }) => name).sort())
  })

  it('describes itself so', async () => {
    const { body } = await api.request('GET', '/v1/openapi.json', undefined, { authorization: '' })
    expectGolden('openapi.json', `${JSON.stringify(body, null, 2)}\n`)
    expect(body['openapi']).toBe('3.1.0')
  })

  it('describes every route that needs a key, and no other', async () => {
    const { body } = await api.request('GET', '/v1/openapi.json')
    const described = Object.entries(body['paths'] as Record<string, object>).flatMap(
      ([path, methods]) => Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    )
    const expected = guarded
      .filter((route) => !lacksAddress(route))
      .map(({ method, path }) => `${method} ${path.replace(/:(\w+)/g, '{$1}')}`)
    expect(described.sort()).toEqual(expected.sort())
  })
})

describe.each(guarded)('$name', (route) => {
  const { method, path } = route
  // Everything else in the requests is wrong too: the key is checked first.
  const body = method === 'GET' ? undefined : '{broken'
  const wrong = body ? { 'content-type': 'text/plain', 'content-length': '999999999' } : {}
  const askWith = (authorization: string) =>
    api.request(method, noSuch(route), body, { ...wrong, authorization })

  it.each([
    ['missing', ''],
    ['of another scheme', `Basic ${own.key}`],
    ['without a scheme', own.key],
    ['run together', `Bearer${own.key}`],
    ['empty', 'Bearer'],
    ['blank', 'Bearer  '],
  ])('refuses a header that is %s', async (_, header) => {
    expect(told(await askWith(header))).toEqual(refusal('invalid_authorization_header'))
  })

  it('refuses keys that are unknown, of a wrong form or revoked', async () => {
    const { token, keyId } = await api.createKey()
    await api.db
      .updateTable('api_keys')
      .set({ revoked_at: new Date() })
      .where('id', '=', keyId)
      .execute()
    const changed = own.key.slice(0, -1) + (own.key.endsWith('a') ? 'b' : 'a')
    for (const key of [changed, 'x', `${own.key} ${own.key}`, 'clé', token]) {
      expect([key, told(await askWith(`Bearer ${key}`))]).toEqual([key, refusal('invalid_api_key')])
    }
  })

  it('refuses a valid key without the permission', async () => {
    const allowed = {
      read_only: path.endsWith('/render') || (method === 'GET' && path !== '/v1/api-keys'),
      sending_access: [
        'POST /v1/emails',
        'POST /v1/emails/batch',
        'GET /v1/emails/:id',
        'PATCH /v1/emails/:id',
        'POST /v1/emails/:id/cancel',
      ].includes(route.name),
      events_only: path.startsWith('/v1/automation/events'),
    }
    for (const [permission, mayPass] of Object.entries(allowed)) {
      const { token } = await api.createKey({ permission: permission as keyof typeof allowed })
      const authorization = `Bearer ${token}`
      if (mayPass) {
        // An operation without a body describes no answer to a wrong one.
        const { status } = await api.request(method, noSuch(route), undefined, { authorization })
        expect([permission, status]).not.toEqual([permission, 403])
      } else {
        const answer = told(await askWith(authorization))
        expect([permission, answer]).toEqual([permission, refusal('restricted_api_key')])
      }
    }
  })
})

/** Its error texts are fixed by the contract and have no code. */
const PROPERTIES = 'PATCH /v1/automation/contacts/:email'

describe("another workspace's ids, and unknown ones", () => {
  // A PUT makes what is not there, in the own workspace.
  const naming = guarded.filter((route) => hasParameter(route) && route.method !== 'PUT')
  it.each(naming)('$name', async (route) => {
    const { method, path } = route
    for (const target of [fillPath(route, other), noSuch(route)]) {
      // An address is not an id: the other workspace's contact does not exist here.
      const answer = await api.request(method, target, bodyOf(route))
      expect([target, told(answer)]).toMatchObject([
        target,
        { status: 404, body: { [errorKey(path)]: text } },
      ])
      const bare = path.startsWith('/v1/executions/') || route.name === PROPERTIES
      expect(Object.keys(answer.body)).toEqual([errorKey(path), ...(bare ? [] : ['code'])])
    }
    if (method !== 'GET') return
    const headers = { authorization: `Bearer ${other.key}` }
    expect((await api.request('GET', fillPath(route, other), undefined, headers)).status).toBe(200)
  })
})

describe('bodies', () => {
  it.each(guarded.filter(bodyOf))('$name accepts only JSON, of a bounded size', async (route) => {
    const { method, path } = route
    const target = fillPath(route, own)
    const ask = (body: string, headers: Record<string, string>) =>
      api.request(method, target, body, { 'content-length': `${body.length}`, ...headers })
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'application/jsonx',
      '',
    ]) {
      const answer = await ask('{"a":1}', { 'content-type': type })
      expect([type, told(answer)]).toEqual([
        type,
        { status: 415, body: errorBody(path, 'unsupported_media_type') },
      ])
    }
    for (const broken of ['{', '', '{"a":1}x', 'undefined', "{'a':1}", '\uFEFF{"a":']) {
      const answer = await ask(broken, { 'content-type': 'Application/JSON; charset=utf-8' })
      const bare = route.name === PROPERTIES
      expect([broken, told(answer)]).toEqual([
        broken,
        {
          status: 400,
          body: {
            [errorKey(path)]: 'Invalid JSON payload',
            ...(bare ? {} : { code: 'invalid_json' }),
          },
        },
      ])
    }
    const max = path === '/v1/emails' ? limits.emailRequestBytesMax : limits.requestBytesMax
    const tooLarge = { status: 413, body: errorBody(path, 'body_too_large') }
    const stated = await ask('{}', { 'content-length': `${max + 1}` })
    expect(told(stated)).toEqual(tooLarge)
    expect((await ask('{}', { 'content-length': `${max}` })).status).not.toBe(413)
    if (path !== '/v1/emails')
      expect(await sendChunks(api, method, target, max + 1)).toEqual(tooLarge)
  })
})

const patternOf = ({ path }: TestRoute) => new RegExp(`^${path.replace(/:\w+/g, '[^/]+')}$`)

describe('methods and unknown paths', () => {
  it.each(paths)('$path answers 405 with Allow to every other method', async ({ path }) => {
    const target = path.startsWith('/v1/')
      ? fillPath({ name: '', method: '', path }, own)
      : path.replace(/:\w+/g, 'x')
    const known = routes.filter((route) => patternOf(route).test(target)).map((r) => r.method)
    const allowed = [...new Set([...known, ...(known.includes('GET') ? ['HEAD'] : [])])].sort()
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND']) {
      if (allowed.includes(method)) continue
      const answer = await api.request(method, target)
      expect([method, answer.status]).toEqual([method, 405])
      expect(answer.headers.get('allow')).toBe(allowed.join(', '))
      expect(answer.body).toEqual(errorBody(path, 'method_not_allowed'))
    }
  })

  it.each([
    '/v1',
    '/v1/',
    '/v1/nothing',
    '/v1/workflows/x/y/z',
    '/v1/executionsx',
    '/v1/automation',
    '/v1/emails/',
    '/v1/%65mails/x/y',
    '/v1/openapi.json/x',
  ])('%s is no route: a 403 without a key, a 404 with one', async (path) => {
    const without = await api.request('GET', path, undefined, { authorization: '' })
    expect(told(without)).toEqual(refusal('invalid_authorization_header'))
    const answer = await api.request('GET', path)
    expect(told(answer)).toEqual({ status: 404, body: errorBody(path, 'not_found') })
  })

  it('the description of the interface asks for no key, whatever the method', async () => {
    const ask = async (method: string) =>
      (await api.request(method, '/v1/openapi.json', undefined, { authorization: '' })).status
    expect([await ask('GET'), await ask('HEAD'), await ask('POST')]).toEqual([200, 200, 405])
  })

  it.each(['/nothing', '/u', '/avatars', '/v2/emails'])('%s is a 404', async (path) => {
    const answer = await api.request('GET', path, undefined, { authorization: '' })
    expect(told(answer)).toEqual({ status: 404, body: { message: text, code: 'not_found' } })
  })
})
