// A deleted audience is gone with the answer, for every operation and everything that names it, however many contacts it has.
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { createSegment } from '../../commands/segments/create.ts'
import { lockAudienceContacts } from '../../db/audiences/contactWrites.ts'
import type { Trx } from '../../db/connect.ts'
import { createTestApi } from '../setup/api.ts'
import { forgetAll, insertContacts, rowsOf } from '../setup/deletedAudiences.ts'
import { design, onEvent } from '../setup/flows.ts'

const MANY = 30_000
const api = await createTestApi()
const { db, deps, workspaceId } = api

const create = async (): Promise<string> =>
  String((await api.request('POST', '/v1/audiences', { name: 'A' })).body['id'])

/** What asks for an audience, with the answer of one that is there. */
const operations = [
  ['GET', '', undefined, 200],
  ['PATCH', '', { name: 'B' }, 200],
  ['GET', '/contacts', undefined, 200],
  ['POST', '/contacts', { email: 'a@example.com' }, 201],
  ['POST', '/contacts/batch', { contacts: [{ email: 'b@example.com' }] }, 200],
  ['PATCH', '/contacts/c000001@example.test', { first_name: 'A' }, 200],
  ['DELETE', '/contacts/c000002@example.test', undefined, 204],
  ['PATCH', '/contacts/', { first_name: 'A' }, 400],
  ['DELETE', '/contacts/', undefined, 400],
  ['DELETE', '', undefined, 204],
] as const

const askAll = async (id: string) => {
  const statuses: number[] = []
  for (const [method, path, body] of operations)
    statuses.push((await api.request(method, `/v1/audiences/${id}${path}`, body)).status)
  return statuses
}

/** What is said of designs and conditions that name it. */
async function namedBy(audience_id: string) {
  const condition = { type: 'audience', audience_id, member: true }
  const flow = design(
    { start: onEvent('x'), add: ['add_to_audience', { audience_id }], end: ['exit', {}] },
    [
      ['start', 'add'],
      ['add', 'end'],
    ],
  )
  const made = await api.request('POST', '/v1/workflows', {
    name: 'W',
    status: 'active',
    design: flow,
  })
  const segment = await createSegment(deps, workspaceId, { name: 'S', condition })
  return {
    design: [made.status, /unknown_audience/.test(made.text)],
    condition: /unknown_audience/.test(JSON.stringify(segment)),
  }
}

test('is answered without a look at its contacts, and is there for nobody any more', async () => {
  const id = await create()
  await insertContacts(db, workspaceId, id, MANY)
  expect(await namedBy(id)).toEqual({ design: [201, false], condition: false })
  // Whoever deletes contacts waits for who holds one of them.
  await db.transaction().execute(async (trx) => {
    await lockAudienceContacts(trx as Trx, workspaceId, id, ['c020000@example.test'])
    expect(await askAll(id)).toEqual(operations.map(([, , , status]) => status))
  })
  expect(await rowsOf(db, id)).toEqual([MANY + 1, 1])
  expect(await askAll(id)).toEqual(operations.map(() => 404))
  const listed = await api.request<{ audiences: { id: string }[] }>('GET', '/v1/audiences')
  expect(listed.body.audiences.map((one) => one.id)).not.toContain(id)
  expect(await namedBy(id)).toEqual({ design: [400, true], condition: true })
  await forgetAll(deps)
  expect(await rowsOf(db, id)).toEqual([0, 0])
  expect(await askAll(id)).toEqual(operations.map(() => 404))
})

test('its changes of counts go too, also those that nobody has folded', async () => {
  const id = await create()
  await sql`insert into audience_changes (audience_id, contacts, unsubscribers)
    select ${id}, 1, 0 from generate_series(1, 2500)`.execute(db)
  await api.request('DELETE', `/v1/audiences/${id}`)
  const left = db.selectFrom('audience_changes').select('id').where('audience_id', '=', id)
  // Whoever folds one is not waited for.
  await db.transaction().execute(async (trx) => {
    await sql`select from audience_changes where audience_id = ${id} order by id limit 1 for update`.execute(
      trx,
    )
    await forgetAll(deps)
    expect([(await left.execute()).length, await rowsOf(db, id)]).toEqual([1, [0, 1]])
  })
  await forgetAll(deps)
  expect([await left.execute(), await rowsOf(db, id)]).toEqual([[], [0, 0]])
})

test('other audiences keep their contacts, of other workspaces too', async () => {
  const [gone, stays] = [await create(), await create()]
  const { token, workspaceId: other } = await api.createKey({ workspaceName: 'other' })
  const headers = { authorization: `Bearer ${token}` }
  const { body } = await api.request('POST', '/v1/audiences', { name: 'A' }, headers)
  const theirs = String(body['id'])
  await insertContacts(db, workspaceId, gone, 10)
  await insertContacts(db, workspaceId, stays, 10)
  await insertContacts(db, other, theirs, 10)
  expect((await api.request('DELETE', `/v1/audiences/${theirs}`)).status).toBe(404)
  await api.request('DELETE', `/v1/audiences/${gone}`)
  await forgetAll(deps)
  const left = await Promise.all([gone, stays, theirs].map((id) => rowsOf(db, id)))
  expect(left).toEqual([
    [0, 0],
    [10, 1],
    [10, 1],
  ])
})
