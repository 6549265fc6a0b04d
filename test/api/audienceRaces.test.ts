// Changes of an audience beside nodes of workflows, which take no lock of the audience: counts stay exact, and nothing fails.
import { expect, it } from 'vitest'
import { changeMembership } from '../../commands/audiences/byNode.ts'
import { deleteAudience } from '../../commands/audiences/delete.ts'
import { unsubscribeFromAudiences } from '../../commands/audiences/leaveAll.ts'
import { transact } from '../../commands/transact.ts'
import { lockContactIds } from '../../db/contacts/writes.ts'
import { createTestApi } from '../setup/api.ts'
import { forgetAll, rowsOf } from '../setup/deletedAudiences.ts'
import { untilWaiting } from '../setup/lockWaits.ts'

const api = await createTestApi()
const { db, deps, workspaceId } = api
const EMAIL = 'x@example.com'
const event = { event_name: 'x', email: EMAIL }
await api.request('POST', '/v1/automation/events', event)

const newAudience = async (isMember: boolean) => {
  const { body } = await api.request<{ id: string }>('POST', '/v1/audiences', { name: 'A' })
  const path = `/v1/audiences/${body.id}/contacts`
  if (isMember) await api.request('POST', path, { email: EMAIL })
  return { id: body.id, path }
}

/** The counts that the audience has, and the contacts that it has. */
async function counts(id: string) {
  const { body } = await api.request('GET', `/v1/audiences/${id}`)
  const rows = await db
    .selectFrom('audience_contacts')
    .select('is_subscribed')
    .where('audience_id', '=', id)
    .execute()
  return {
    said: [body['contact_count'], body['unsubscribers']],
    are: [rows.length, rows.filter((row) => !row.is_subscribed).length],
  }
}

/** Asks while a segment has changed the membership, which it commits once somebody waits for it. */
async function beside<T>(
  audienceId: string,
  change: 'join' | 'leave',
  ask: () => Promise<T>,
): Promise<T> {
  let asked: Promise<T> | undefined
  await transact({ ...deps, wake: () => undefined }, async (inTrx) => {
    await lockContactIds(inTrx.db, workspaceId, [EMAIL])
    const who = { audienceId, email: EMAIL, chainDepth: 0, byExecution: 'exe_x' }
    await changeMembership(inTrx, workspaceId, { ...who, change })
    asked = ask()
    await untilWaiting(db, 1)
  })
  if (!asked) throw new Error('nothing was asked')
  return asked
}

it('POST changes a contact whom a node is adding', async () => {
  const { id, path } = await newAudience(false)
  const answer = await beside(id, 'join', () =>
    api.request('POST', path, { email: EMAIL, first_name: 'X', is_subscribed: false }),
  )
  expect([answer.status, answer.body]).toMatchObject([200, { first_name: 'X' }])
  expect(await counts(id)).toEqual({ said: [1, 1], are: [1, 1] })
})

it('a batch changes one whom a node is adding, and adds the others', async () => {
  const { id, path } = await newAudience(false)
  const contacts = [{ email: 'a@example.com' }, { email: EMAIL }, { email: EMAIL }]
  const answer = await beside(id, 'join', () => api.request('POST', `${path}/batch`, { contacts }))
  expect([answer.status, answer.body]).toEqual([
    200,
    {
      contacts: [
        { email: 'a@example.com', created: true },
        { email: EMAIL, created: false },
        { email: EMAIL, created: false },
      ],
      errors: [],
    },
  ])
  expect(await counts(id)).toEqual({ said: [2, 0], are: [2, 0] })
})

it('POST adds a contact whom a node is removing', async () => {
  const { id, path } = await newAudience(true)
  const answer = await beside(id, 'leave', () => api.request('POST', path, { email: EMAIL }))
  expect(answer.status).toBe(201)
  expect(await counts(id)).toEqual({ said: [1, 0], are: [1, 0] })
})

it('DELETE finds no contact whom a node is removing', async () => {
  const { id, path } = await newAudience(true)
  const answer = await beside(id, 'leave', () => api.request('DELETE', `${path}/${EMAIL}`))
  expect(answer.status).toBe(404)
  expect(await counts(id)).toEqual({ said: [0, 0], are: [0, 0] })
})

it('PATCH finds no contact whom a node is removing', async () => {
  const { id, path } = await newAudience(true)
  const answer = await beside(id, 'leave', () =>
    api.request('PATCH', `${path}/${EMAIL}`, { is_subscribed: false }),
  )
  expect(answer.status).toBe(404)
  expect(await counts(id)).toEqual({ said: [0, 0], are: [0, 0] })
})

it('who leaves all audiences leaves none that a node is removing them from', async () => {
  const { id } = await newAudience(true)
  await beside(id, 'leave', () =>
    transact({ ...deps, wake: () => undefined }, (inTrx) =>
      unsubscribeFromAudiences(inTrx, workspaceId, { email: EMAIL, source: 'link' }, new Date()),
    ),
  )
  expect(await counts(id)).toEqual({ said: [0, 0], are: [0, 0] })
})

it('who joins or leaves is locked before their row, so a node beside it is no deadlock', async () => {
  const { id, path } = await newAudience(true)
  for (const method of ['DELETE', 'POST'] as const) {
    let asked: ReturnType<typeof api.request> | undefined
    await transact({ ...deps, wake: () => undefined }, async (inTrx) => {
      await lockContactIds(inTrx.db, workspaceId, [EMAIL])
      asked =
        method === 'POST'
          ? api.request(method, path, { email: EMAIL })
          : api.request(method, `${path}/${EMAIL}`)
      await untilWaiting(db, 1)
      const change = method === 'POST' ? 'join' : 'leave'
      const who = { audienceId: id, email: EMAIL, chainDepth: 0, byExecution: 'exe_x' }
      const changed = await changeMembership(inTrx, workspaceId, { ...who, change })
      expect(changed).toBe('changed')
    })
    expect((await asked)?.status).toBe(method === 'POST' ? 200 : 404)
  }
  expect(await counts(id)).toEqual({ said: [1, 0], are: [1, 0] })
})

it('who deletes an audience that a node is adding to waits for it, so the contact goes with the others', async () => {
  const { id } = await newAudience(false)
  const answer = await beside(id, 'join', () => api.request('DELETE', `/v1/audiences/${id}`))
  expect(answer.status).toBe(204)
  expect(await rowsOf(db, id)).toEqual([1, 1])
  await forgetAll(deps)
  expect(await rowsOf(db, id)).toEqual([0, 0])
})

/** Asks while somebody has deleted the audience, which they commit once somebody waits for it. */
async function besideDelete<T>(id: string, ask: () => Promise<T>): Promise<T> {
  let asked: Promise<T> | undefined
  await transact({ ...deps, wake: () => undefined }, async (inTrx) => {
    await deleteAudience(inTrx, workspaceId, { id })
    asked = ask()
    await untilWaiting(db, 1)
  })
  if (!asked) throw new Error('nothing was asked')
  return asked
}

it.each(['join', 'leave'] as const)(
  'a node finds no audience that is being deleted: %s',
  async (change) => {
    const { id } = await newAudience(change === 'leave')
    const events = () =>
      db.selectFrom('automation_events').select('id').where('email', '=', EMAIL).execute()
    const before = await events()
    const found = await besideDelete(id, () =>
      transact({ ...deps, wake: () => undefined }, async (inTrx) => {
        await lockContactIds(inTrx.db, workspaceId, [EMAIL])
        const who = { audienceId: id, email: EMAIL, chainDepth: 0, byExecution: 'exe_x' }
        return changeMembership(inTrx, workspaceId, { ...who, change })
      }),
    )
    expect(found).toBe('unknown_audience')
    expect(await events()).toEqual(before)
    expect(await rowsOf(db, id)).toEqual([change === 'leave' ? 1 : 0, 1])
    await forgetAll(deps)
    expect(await rowsOf(db, id)).toEqual([0, 0])
  },
)

it('no request finds an audience that is being deleted, and none leaves a contact', async () => {
  const requests = [
    ['POST', '/contacts', { email: 'new@example.com' }],
    ['POST', '/contacts/batch', { contacts: [{ email: 'new@example.com' }] }],
    ['PATCH', `/contacts/${EMAIL}`, { first_name: 'X' }],
    ['DELETE', `/contacts/${EMAIL}`, undefined],
    ['PATCH', '', { name: 'B' }],
    ['DELETE', '', undefined],
  ] as const
  for (const [method, path, body] of requests) {
    const { id } = await newAudience(true)
    const asking = () => api.request(method, `/v1/audiences/${id}${path}`, body)
    const { status } = await besideDelete(id, asking)
    expect([method, path, status]).toEqual([method, path, 404])
    const own = db.selectFrom('audiences').select('name').where('id', '=', id)
    expect(await own.execute()).toEqual([{ name: 'A' }])
    expect(await rowsOf(db, id)).toEqual([1, 1])
    await forgetAll(deps)
    expect(await rowsOf(db, id)).toEqual([0, 0])
  }
})

it('who deletes an audience waits for a request that adds to it, and marks what that has written', async () => {
  const { id, path } = await newAudience(false)
  let deleting: ReturnType<typeof api.request> | undefined
  let adding: ReturnType<typeof api.request> | undefined
  await transact({ ...deps, wake: () => undefined }, async (inTrx) => {
    await lockContactIds(inTrx.db, workspaceId, [EMAIL])
    adding = api.request('POST', path, { email: EMAIL })
    await untilWaiting(db, 1)
    deleting = api.request('DELETE', `/v1/audiences/${id}`)
    await untilWaiting(db, 2)
  })
  expect([(await adding)?.status, (await deleting)?.status]).toEqual([201, 204])
  expect((await api.request('GET', `/v1/audiences/${id}`)).status).toBe(404)
  expect(await rowsOf(db, id)).toEqual([1, 1])
  await forgetAll(deps)
  expect(await rowsOf(db, id)).toEqual([0, 0])
})
