// The properties of audience contacts: what they may be once they are merged, and how much of them a batch holds.
import { sql } from 'kysely'
import { beforeEach, expect, it } from 'vitest'
import { upsertAudienceContacts } from '../../commands/audiences/upsertContacts.ts'
import { limits } from '../../rules/limits.ts'
import { createTestApi } from '../setup/api.ts'

const api = await createTestApi()
const { db, workspaceId } = api
let audience: string
let path: string
const large = (key: string, bytes = 200_000) => ({ [key]: 'x'.repeat(bytes) })
const TOO_LARGE = `properties: merged into those of the contact, they must not exceed ${limits.propertiesBytesMax} bytes of JSON`

beforeEach(async () => {
  audience = (await api.request<{ id: string }>('POST', '/v1/audiences', { name: 'A' })).body.id
  path = `/v1/audiences/${audience}/contacts`
})

const stored = async (email: string) =>
  db
    .selectFrom('audience_contacts')
    .select(['first_name', 'properties', 'updated_at'])
    .where('audience_id', '=', audience)
    .where('email', '=', email)
    .executeTakeFirstOrThrow()

/** Adds contacts whose properties are large, without a request for each. */
const insertLarge = (count: number) =>
  sql`insert into audience_contacts (id, audience_id, workspace_id, email, properties, created_at, updated_at)
    select ${audience} || i, ${audience}, ${workspaceId}, 'c' || i || '@example.com',
      jsonb_build_object('k', repeat('x', 200000)), now(), now() from generate_series(1, ${count}::int) i`.execute(
    db,
  )

it('are refused where they are too large once they are merged, and nothing changes', async () => {
  await api.request('POST', path, { email: 'x@example.com', properties: large('a') })
  const before = await stored('x@example.com')
  const more = { first_name: 'X', properties: large('b') }
  for (const [method, where, body] of [
    ['POST', path, { email: 'x@example.com', ...more }],
    ['PATCH', `${path}/x@example.com`, more],
  ] as const) {
    const answer = await api.request(method, where, body)
    expect([answer.status, answer.body['message']]).toEqual([400, TOO_LARGE])
  }
  expect(await stored('x@example.com')).toEqual(before)
  const fits = { properties: { a: null, ...large('b') } }
  expect((await api.request('PATCH', `${path}/x@example.com`, fits)).status).toBe(200)
  expect((await stored('x@example.com')).properties).toEqual(large('b'))
})

it('of a batch are refused one by one, and the others are taken', async () => {
  await insertLarge(1)
  const contacts = [
    'nobody',
    { email: 'c1@example.com', first_name: 'A', properties: large('b') },
    { email: 'new@example.com', properties: large('a') },
    { email: 'new@example.com', properties: large('b') },
    { email: 'c1@example.com', last_name: 'B', properties: { plan: 'pro' } },
  ]
  const { status, body } = await api.request('POST', `${path}/batch`, { contacts })
  expect([status, body]).toEqual([
    200,
    {
      contacts: [
        { email: 'new@example.com', created: true },
        { email: 'c1@example.com', created: false },
      ],
      errors: [
        { index: 0, message: expect.any(String), code: 'invalid_request' },
        { index: 1, message: TOO_LARGE, code: 'invalid_request' },
        { index: 3, message: TOO_LARGE, code: 'invalid_request' },
      ],
    },
  ])
  expect(await stored('new@example.com')).toMatchObject({ properties: large('a') })
  expect(await stored('c1@example.com')).toMatchObject({
    first_name: null,
    properties: { ...large('k'), plan: 'pro' },
  })
})

it('are read by a batch only where it gives some, and never many large ones at once', async () => {
  const count = 60
  await insertLarge(count)
  /** Bytes of the properties that each statement has answered. */
  const read: number[] = []
  const watched = db.withPlugin({
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      read.push(JSON.stringify(result.rows.map((row) => row['properties'])).length)
      return result
    },
  })
  const batch = async (change: object) => {
    const contacts = Array.from({ length: count }, (_, i) => ({
      email: `c${i + 1}@example.com`,
      ...change,
    }))
    const input = { audienceId: audience, contacts, isSingle: false }
    read.length = 0
    return upsertAudienceContacts({ ...api.deps, db: watched }, workspaceId, input)
  }
  await batch({ first_name: 'A' })
  expect(Math.max(...read)).toBeLessThan(1_000)
  await batch({ properties: { plan: 'pro' } })
  expect(Math.max(...read)).toBeLessThan(5_000_000)
  expect(await stored('c60@example.com')).toMatchObject({
    first_name: 'A',
    properties: { ...large('k'), plan: 'pro' },
  })
})
