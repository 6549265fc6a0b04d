// Wrong input for every route: each gets a 4xx that names the place, in the error shape of the route, and nothing
// is written.
import { describe, expect, it } from 'vitest'
import { createApp } from '../../api/http/app.ts'
import type { CursorScope } from '../../api/http/cursor.ts'
import { errorCodeNames } from '../../api/http/errorCodes.ts'
import { isSecretName } from '../../rules/secretNames.ts'
import { createTestApi } from '../setup/api.ts'
import { badBodies } from '../setup/badBodies.ts'
import { type Operation, readOperations } from '../setup/openapi.ts'
import { bodyOf, errorKey, fillPath } from '../setup/routes.ts'
import { describeTables } from '../setup/tables.ts'
import { seedTenant } from '../setup/tenant.ts'

const api = await createTestApi()
const own = await seedTenant(api, 'test')
const other = await seedTenant(api, 'other')
const operations = await readOperations(api)

/** Bodies that a route accepts although the schema alone does not show it. */
const LONG = new Set(['html', 'text'])

/** Refusals whose text the contract fixes; they have nothing else. */
const bareTexts =
  /^((from|to|subject) field is required|Invalid email format( in from field)?|properties (must be an object|cannot be empty)|template_id cannot be used together with html|Too many recipients: .*|Execution not found|Contact not found\. Send an event first.*)$/

const known = new Set<unknown>(errorCodeNames)

/** The text of an error, after its shape was checked. */
function textOf(path: string, body: Record<string, unknown>): string {
  const { [errorKey(path)]: text, code, ...rest } = body
  expect(typeof text).toBe('string')
  const isBare = bareTexts.test(String(text)) && !path.startsWith('/v1/audiences')
  if (!isBare) expect([text, code]).toEqual([text, expect.toSatisfy((c) => known.has(c))])
  else expect(code).toBeUndefined()
  expect(
    Object.keys(rest).filter(
      (key) => !['problems', 'errors', 'field', 'line', 'column'].includes(key),
    ),
  ).toEqual([])
  return String(text)
}

const unchanged = async (before: string) => expect(await describeTables(api.db)).toBe(before)
const withBody = operations.flatMap((operation) => {
  const valid = bodyOf(operation)
  return operation.body && valid ? [{ ...operation, schema: operation.body, valid }] : []
})

describe('bodies', () => {
  it.each(withBody)('$name', async (operation) => {
    const { name, method, path, schema, valid } = operation
    const before = await describeTables(api.db)
    const faults: string[] = []
    for (const { what, field, text } of badBodies(schema, valid, LONG)) {
      const answer = await api.request(method, fillPath(operation, own), text)
      // These operations report faults of their input in a 2xx answer.
      const { valid: isValid, contacts, events } = answer.body
      const isEmpty = (list: unknown) => Array.isArray(list) && list.length === 0
      if (isValid === false || isEmpty(contacts) || isEmpty(events)) continue
      const said = answer.status === 400 ? textOf(path, answer.body) : ''
      if (answer.status !== 400 || (/wrong type/.test(what) && !said.includes(field))) {
        faults.push(`${what}: ${answer.status} ${answer.text.slice(0, 200)}`)
      }
    }
    expect(faults, name).toEqual([])
    await unchanged(before)
  })
})

const badIds = [
  'x',
  '%00',
  'a%00b',
  '%ED%A0%80',
  '%zz',
  '%F0%9F%92%A9',
  '..%2F..',
  '%27%20or%201=1--',
  '__proto__',
  'x'.repeat(5_000),
  ['exe', '0'.repeat(26)].join('_'),
  `${'0'.repeat(26)}`,
]
const badNumbers = ['0', '-1', '1.5', '1e3', '%00', 'x', '2147483648', '9'.repeat(40)]

describe('ids in paths', () => {
  const withIds = operations.filter(({ path }) => path.includes('/:'))
  it.each(withIds)('$name', async (operation) => {
    const { method, path } = operation
    const before = await describeTables(api.db)
    const names = operation.parameters.filter((one) => one.in === 'path').map((one) => one.name)
    for (const name of names) {
      const isOfSecret = path.includes('/secrets/:name')
      const badNames = badIds.filter((id) => !(isOfSecret && isSecretName(id)))
      for (const bad of name === 'n' ? badNumbers : badNames) {
        const target = fillPath(operation, own, { [name]: bad })
        const answer = await api.request(method, target, bodyOf(operation))
        // An address in a path may be malformed or unknown, and the name of a secret too.
        const allowed = name === 'email' || isOfSecret ? [400, 404] : [404]
        expect([target, answer.text, allowed.includes(answer.status)]).toEqual([
          target,
          answer.text,
          true,
        ])
        textOf(path, answer.body)
      }
    }
    await unchanged(before)
  })
})

const lists = operations.filter(
  ({ method, parameters }) => method === 'GET' && parameters.some(({ name }) => name === 'cursor'),
)

describe('queries', () => {
  const withQuery = operations.filter(({ parameters }) =>
    parameters.some((one) => one.in === 'query'),
  )
  it.each(withQuery)('$name', async (operation) => {
    for (const { name } of operation.parameters.filter((one) => one.in === 'query')) {
      for (const bad of [
        '',
        'NOPE',
        '%00',
        '%zz',
        'é',
        'x'.repeat(10_000),
        `a&${name}=b`,
        'completed',
      ]) {
        const target = `${fillPath(operation, own)}?${name}=${bad}`
        const answer = await api.request('GET', target)
        const isCursor = name === 'cursor' && !bad.includes('&')
        expect([target, answer.status]).toEqual([target, 400])
        expect([target, textOf(operation.path, answer.body), answer.body['code']]).toEqual([
          target,
          isCursor
            ? expect.stringMatching(/^cursor must be one that this list gave/)
            : expect.stringMatching(new RegExp(`^${name} must be `)),
          isCursor ? 'invalid_cursor' : 'invalid_request',
        ])
      }
    }
  })
})

/** Records the scopes for which the application really opens cursors. */
async function sealedScopes(operation: Operation, query: string, tenant: typeof own) {
  const scopes: CursorScope[] = []
  const cursors = {
    ...api.deps.cursors,
    open<T>(scope: CursorScope, cursor: string | undefined): T | null {
      scopes.push(scope)
      return api.deps.cursors.open<T>(scope, cursor)
    },
  }
  const app = createApp({ ...api.deps, cursors })
  const headers = { authorization: `Bearer ${tenant.key}` }
  const response = await app.request(fillPath(operation, tenant) + query, { headers })
  expect([operation.name, response.status]).toEqual([operation.name, 200])
  return scopes
}

describe('sealed cursors', async () => {
  const sealed: { label: string; operation: Operation; query: string; cursor: string }[] = []
  const strangers: typeof sealed = []
  for (const operation of lists) {
    const statuses = operation.parameters.some(({ name }) => name === 'status')
    const filters = statuses ? ['', ...STATUS_OF(operation).map((one) => `?status=${one}`)] : ['']
    for (const query of filters) {
      for (const tenant of [own, other]) {
        for (const scope of await sealedScopes(operation, query, tenant)) {
          const cursor = encodeURIComponent(api.deps.cursors.seal(scope, null))
          const label = `${operation.name}${query}`
          ;(tenant === own ? sealed : strangers).push({ label, operation, query, cursor })
        }
      }
    }
  }
  const ask = async ({ operation, query }: (typeof sealed)[number], cursor: string) => {
    const joint = query === '' ? '?' : '&'
    return api.request('GET', `${fillPath(operation, own)}${query}${joint}cursor=${cursor}`)
  }

  it('are those of all lists but three, of which one has some with a filter', () => {
    const plain = sealed.filter(({ query }) => query === '')
    const namesOf = (some: typeof sealed) => new Set(some.map(({ operation }) => operation.name))
    expect(namesOf(plain).size).toBe(lists.length - 3)
    expect([...namesOf(sealed)].filter((name) => !namesOf(plain).has(name))).toEqual([
      'GET /v1/emails',
    ])
  })

  it.each(sealed)('$label accepts only its own', async (list) => {
    expect((await ask(list, list.cursor)).status).toBe(200)
    const flipped = list.cursor.replace(/^./, (first) => (first === 'A' ? 'B' : 'A'))
    const foreign = [...sealed, ...strangers].filter(({ cursor }) => cursor !== list.cursor)
    const wrong = [
      ['forged', flipped],
      ['longer', `${list.cursor}AAAA`],
      ['shorter', list.cursor.slice(0, -4)],
      ['padded', `${list.cursor}%3D`],
      ['an id', own.ids['emails'] ?? ''],
      ...foreign.map(({ label, cursor }) => [`of ${label}`, cursor]),
    ]
    for (const [what, cursor = ''] of wrong) {
      const answer = await ask(list, cursor)
      expect([what, answer.status, answer.body['code']]).toEqual([what, 400, 'invalid_cursor'])
    }
  })
})

function STATUS_OF({ parameters }: Operation): string[] {
  return (parameters.find(({ name }) => name === 'status')?.schema.enum ?? []) as string[]
}
