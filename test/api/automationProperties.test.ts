// Operation 17 against a second implementation of its rules: random changes, the order of keys, spellings of an
// address, limits.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Json } from '../../rules/json.ts'
import { limits } from '../../rules/limits.ts'
import { createTestApi } from '../setup/api.ts'
import { uniqueName } from '../setup/unique.ts'

const api = await createTestApi()

const contact = (spelling: string) => `/v1/automation/contacts/${spelling}`
const createContact = async (email: string, contact_properties: object = {}) => {
  const event = { event_name: 'seen', email, contact_properties }
  expect((await api.request('POST', '/v1/automation/events', event)).status).toBe(202)
}
const newContact = async (properties: object = {}) => {
  const email = `${uniqueName('c')}@example.test`
  await createContact(email, properties)
  return email
}
const read = async (email: string) => (await api.request('GET', contact(email))).body
const patch = (email: string, body: unknown, headers: Record<string, string> = {}) =>
  api.request('PATCH', contact(email), body, headers)

type Tree = Map<string, Tree | Json>

/** The expected properties, as maps, so that no key has a special meaning for JavaScript. */
function merge(stored: Tree, entries: [string, Json][]): Tree {
  const merged = new Map(stored)
  for (const [key, value] of entries) {
    const before = stored.get(key)
    if (value === null) merged.delete(key)
    else if (typeof value === 'object' && !Array.isArray(value)) {
      merged.set(key, merge(before instanceof Map ? before : new Map(), Object.entries(value)))
    } else merged.set(key, value)
  }
  return merged
}

/** JSON with sorted keys, also inside arrays. */
function canonical(value: Tree | Json): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const entries = value instanceof Map ? [...value] : Object.entries(value)
  const parts = entries.map(([key, one]) => `${JSON.stringify(key)}:${canonical(one)}`)
  return `{${parts.sort().join()}}`
}

const key = fc.constantFrom(
  'a',
  'b',
  'c',
  '1',
  '0',
  '10',
  '',
  'a.b',
  '__proto__',
  'constructor',
  'é',
)
const leaf = fc.oneof(
  fc.constant(null),
  fc.boolean(),
  fc.integer(),
  fc.string(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
)
const { value } = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    leaf,
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(key, tie('value'), { maxKeys: 4, noNullPrototype: true }),
  ),
}))
const change = fc.uniqueArray(fc.tuple(key, value), {
  minLength: 1,
  maxLength: 5,
  selector: ([name]) => name,
})

describe('the merge', () => {
  it('does what the rules say, and names the keys of the request in its order', async () => {
    const property = fc.asyncProperty(
      fc.array(change, { minLength: 1, maxLength: 4 }),
      async (changes) => {
        const email = await newContact()
        let stored: Tree = new Map()
        for (const entries of changes) {
          const members = entries.map(
            ([name, one]) => `${JSON.stringify(name)}:${JSON.stringify(one)}`,
          )
          const answer = await patch(email, `{"properties":{${members.join()}}}`)
          expect([answer.status, answer.body]).toEqual([
            200,
            {
              message: expect.any(String),
              email,
              updated_properties: entries.map(([name]) => name),
            },
          ])
          stored = merge(stored, entries)
        }
        const { text } = await api.request('GET', contact(email))
        expect(canonical(JSON.parse(text).properties)).toBe(canonical(stored))
      },
    )
    const seed = Date.now() % 2 ** 31
    await fc.assert(property, { seed, numRuns: 60, interruptAfterTimeLimit: 8_000 })
  })

  it('is the same for contact_properties', async () => {
    const email = await newContact({ a: { b: 1, c: [1, 2] }, d: 1 })
    await createContact(email, { a: { b: null, c: [3] }, d: null, e: {} })
    expect((await read(email))['properties']).toEqual({ a: { c: [3] }, e: {} })
  })

  it('changes only updated_at besides the properties', async () => {
    const email = await newContact({ a: 1 })
    const { updated_at: before, properties: _, ...rest } = await read(email)
    await patch(email, { properties: { a: 2 } })
    const { updated_at: after, properties, ...others } = await read(email)
    expect([others, properties]).toEqual([rest, { a: 2 }])
    expect(Number(after)).toBeGreaterThanOrEqual(Number(before))
  })

  it('refuses what would make the contact too large, and leaves it as it was', async () => {
    const half = 'x'.repeat(limits.propertiesBytesMax / 2)
    const email = await newContact({ a: half })
    const answer = await patch(email, { properties: { b: half } })
    expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_request' } })
    expect(Object.keys((await read(email))['properties'] as object)).toEqual(['a'])
    expect((await patch(email, { properties: { a: null, b: half } })).status).toBe(200)
  })
})

describe('the address', () => {
  it.each([
    ['a+b', ['a+b', 'a%2Bb', 'A%2bB'], ['a%252Bb', 'a%20b', 'a b']],
    ['50%off', ['50%25off', '50%25OFF'], ['50%2525off']],
    ['a%2Bb', ['a%252Bb'], ['a%2Bb']],
    ['in/out', ['in%2Fout', 'IN%2fout'], ['in%252Fout']],
    ["o'neil", ["o'neil", 'o%27neil'], []],
    ['a?b=c#d', ['a%3Fb=c%23d', 'a%3Fb%3Dc%23d'], []],
  ])('%s is read once', async (local, same, others) => {
    const domain = `${uniqueName('d')}.test`
    await createContact(`${local}@${domain}`)
    for (const spelling of same) {
      for (const at of ['@', '%40']) {
        const answer = await patch(`${spelling}${at}${domain.toUpperCase()}`, {
          properties: { x: 1 },
        })
        expect([spelling, answer.status, answer.body['email']]).toEqual([
          spelling,
          200,
          `${local.toLowerCase()}@${domain}`,
        ])
      }
    }
    for (const spelling of others) {
      const { status } = await patch(`${spelling}@${domain}`, { properties: { x: 1 } })
      expect([spelling, status === 404 || status === 400]).toEqual([spelling, true])
    }
  })

  it.each(['', '%20', '%09', '%20%20'])(
    'that is blank (%s) is required, for every operation',
    async (blank) => {
      for (const [method, more] of [
        ['GET', ''],
        ['PATCH', ''],
        ...(blank === '' ? [] : [['GET', '/executions'] as const, ['GET', '/events'] as const]),
      ] as const) {
        const answer = await api.request(
          method,
          contact(blank) + more,
          method === 'PATCH' ? '{' : undefined,
        )
        expect([method, more, answer.status, answer.body]).toEqual([
          method,
          more,
          400,
          { error: 'Email is required' },
        ])
      }
    },
  )
})

describe('the body', () => {
  it('that is missing is not JSON', async () => {
    const email = await newContact()
    const headers = { authorization: `Bearer ${api.key}` }
    const response = await api.app.request(contact(email), { method: 'PATCH', headers })
    expect([response.status, await response.json()]).toEqual([
      400,
      { error: 'Invalid JSON payload' },
    ])
  })

  it('cannot subscribe anybody: such keys are properties like all others', async () => {
    const audience = await api.request('POST', '/v1/audiences', { name: 'A' })
    const email = await newContact()
    const contacts = `/v1/audiences/${audience.body['id']}/contacts`
    await api.request('POST', contacts, { email, is_subscribed: false })
    const properties = { is_subscribed: true, unsubscribed: false, email: 'other@example.test' }
    expect((await patch(email, { properties, is_subscribed: true })).status).toBe(200)
    const { contacts: listed } = (await api.request('GET', contacts)).body
    expect(listed).toMatchObject([{ email, is_subscribed: false }])
    expect(await read(email)).toMatchObject({ email, properties })
  })
})
