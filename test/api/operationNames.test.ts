// The names of operations, from which generators of clients make the names of methods.
import { expect, it } from 'vitest'
import { createTestApi } from '../setup/api.ts'

const api = await createTestApi()
const { body } = await api.request('GET', '/v1/openapi.json')
const operations = Object.entries(body['paths'] as Record<string, object>).flatMap(
  ([path, methods]) =>
    Object.entries(methods).map(([method, described]) => ({
      name: `${method.toUpperCase()} ${path}`,
      operationId: (described as { operationId?: string }).operationId,
    })),
)

it('has a name for every operation, a verb and the resource', () => {
  expect(operations.length).toBeGreaterThan(0)
  const without = operations.filter(
    ({ operationId }) => !/^[a-z]+([A-Z][a-z]+)+$/.test(operationId ?? ''),
  )
  expect(without).toEqual([])
})

it('has each name once', () => {
  const names = operations.map(({ operationId }) => operationId)
  expect(names.filter((name, i) => names.indexOf(name) !== i)).toEqual([])
})

it('begins a name with what the method does, or with the verb that the path ends with', () => {
  const verbs: Record<string, RegExp> = {
    GET: /^(get|list)[A-Z]/,
    PUT: /^put[A-Z]/,
    PATCH: /^update[A-Z]/,
    DELETE: /^delete[A-Z]/,
  }
  const wrong = operations.filter(({ name, operationId = '' }) => {
    const [method = '', path = ''] = name.split(' ')
    // `/{id}/rotate-secret` is a verb of the resource before it; `/batch` and a path that ends with a resource are not.
    const [, ending] = /\}\/([a-z]+)[a-z-]*$/.exec(path) ?? []
    const isVerb = method === 'POST' && ending && !ending.endsWith('s')
    return !(
      isVerb ? new RegExp(`^${ending}[A-Z]`) : (verbs[method] ?? /^(create|send)[A-Z]/)
    ).test(operationId)
  })
  expect(wrong).toEqual([])
})

it.each([
  ['POST /v1/emails', 'sendEmail'],
  ['GET /v1/emails', 'listEmails'],
  ['GET /v1/emails/{id}', 'getEmail'],
])('names %s as the client does: %s', (name, operationId) => {
  expect(operations).toContainEqual({ name, operationId })
})
