// What is left of deleted audiences goes page by page, beside everything else, and whoever dies in the middle is followed by another.
import { sql } from 'kysely'
import pg from 'pg'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { forgetAudiencePage, forgetDeleted } from '../../commands/audiences/forgetDeleted.ts'
import { transact } from '../../commands/transact.ts'
import { createTestApi } from '../setup/api.ts'
import { forgetAll, insertContacts, rowsOf } from '../setup/deletedAudiences.ts'

const PAGE = 100
const api = await createTestApi()
const { db, deps, workspaceId } = api

beforeEach(() => sql`delete from audiences`.execute(db))

/** A deleted audience that has so many contacts yet. */
async function deleted(contacts: number, of = { workspaceId, key: api.key }): Promise<string> {
  const headers = { authorization: `Bearer ${of.key}` }
  const { body } = await api.request('POST', '/v1/audiences', { name: 'A' }, headers)
  const id = String(body['id'])
  await insertContacts(db, of.workspaceId, id, contacts)
  const { status } = await api.request('DELETE', `/v1/audiences/${id}`, undefined, headers)
  expect(status).toBe(204)
  return id
}

const pageOf = (id: string, from = '') =>
  forgetAudiencePage(deps, workspaceId, { id, from, limit: PAGE })

/** A session that holds what a statement locks, until `end`. */
async function hold(statement: string, values: unknown[]) {
  const client = new pg.Client({ connectionString: api.url })
  await client.connect()
  onTestFinished(() => client.end())
  await client.query('begin')
  await client.query(statement, values)
  return { client, end: () => client.query('rollback') }
}

test('a commit takes one page, and the row of the audience goes with the last', async () => {
  const id = await deleted(250)
  const first = await pageOf(id)
  expect(first).toEqual({ deleted: 100, next: 'c000100@example.test', isGone: false })
  expect(await rowsOf(db, id)).toEqual([150, 1])
  const second = await pageOf(id, first?.next)
  expect(await pageOf(id, second?.next)).toEqual({ deleted: 50, next: '', isGone: true })
  expect(await rowsOf(db, id)).toEqual([0, 0])
  expect(await pageOf(id)).toBeUndefined()
})

test('a worker that dies takes back its page alone, and another one ends what is left', async () => {
  const id = await deleted(1_050)
  await forgetAll(deps, { pages: 3, page: PAGE })
  expect(await rowsOf(db, id)).toEqual([750, 1])
  const killed = transact(deps, async (inTrx) => {
    await forgetAudiencePage(inTrx, workspaceId, { id, from: '', limit: PAGE })
    await sql`select pg_terminate_backend(pg_backend_pid())`.execute(inTrx.db)
  })
  await expect(killed).rejects.toThrow()
  expect(await rowsOf(db, id)).toEqual([750, 1])
  await forgetAll(deps, { page: PAGE })
  expect(await rowsOf(db, id)).toEqual([0, 0])
})

test('several workers at once, of several audiences', async () => {
  const ids = [await deleted(730), await deleted(1_210), await deleted(0)]
  await Promise.all(Array.from({ length: 4 }, () => forgetAll(deps, { page: PAGE })))
  await forgetAll(deps, { page: PAGE })
  expect(await Promise.all(ids.map((id) => rowsOf(db, id)))).toEqual(ids.map(() => [0, 0]))
})

test('workspaces take turns, so one with much to delete keeps no other waiting', async () => {
  const others = await Promise.all(
    ['b', 'c'].map(async (workspaceName) => {
      const { token, workspaceId } = await api.createKey({ workspaceName })
      return { workspaceId, key: token }
    }),
  )
  const large = await deleted(2_000)
  const ids = []
  for (const of of others) ids.push(await deleted(150, of))
  // Two pages each.
  await forgetAll(deps, { pages: 6, page: PAGE })
  expect(await Promise.all(ids.map((id) => rowsOf(db, id)))).toEqual(ids.map(() => [0, 0]))
  expect(await rowsOf(db, large)).toEqual([1_800, 1])
})

test('one that fails keeps no other waiting, and is tried again in the next round', async () => {
  const [bad, good] = [await deleted(150), await deleted(150)]
  await sql`
    create function refuse() returns trigger language plpgsql as $$ begin raise 'refused'; end $$`.execute(
    db,
  )
  await sql`create trigger refuse before delete on audience_contacts for each row
    when (old.audience_id = ${sql.lit(bad)}) execute function refuse()`.execute(db)
  const failed: string[] = []
  await forgetDeleted(deps, {
    ...{ page: PAGE, isStopping: () => false, pause: async () => undefined },
    onFailure: (_err, { id }) => void failed.push(id),
  })
  expect(failed).toEqual([bad])
  expect([await rowsOf(db, bad), await rowsOf(db, good)]).toEqual([
    [150, 1],
    [0, 0],
  ])
  await sql`drop trigger refuse on audience_contacts`.execute(db)
  await forgetAll(deps, { page: PAGE })
  expect(await rowsOf(db, bad)).toEqual([0, 0])
})

test('who holds a contact is not waited for; what they held goes later', async () => {
  const id = await deleted(250)
  const { end } = await hold(
    'select from audience_contacts where audience_id = $1 and email = $2 for update',
    [id, 'c000007@example.test'],
  )
  await forgetAll(deps, { page: PAGE })
  expect(await rowsOf(db, id)).toEqual([1, 1])
  await end()
  await forgetAll(deps, { page: PAGE })
  expect(await rowsOf(db, id)).toEqual([0, 0])
})

test('who holds the audience is not waited for', async () => {
  const id = await deleted(150)
  const { end } = await hold('select from audiences where id = $1 for no key update', [id])
  expect(await pageOf(id)).toBeUndefined()
  await forgetAll(deps, { page: PAGE })
  expect(await rowsOf(db, id)).toEqual([150, 1])
  await end()
  await forgetAll(deps, { page: PAGE })
  expect(await rowsOf(db, id)).toEqual([0, 0])
})

test('whom a process of the release before adds goes too, whenever that is', async () => {
  const id = await deleted(150)
  const add = async (client: Pick<pg.Client, 'query'>, email: string) =>
    client.query(
      `insert into audience_contacts (id, audience_id, workspace_id, email, created_at, updated_at)
       values ($1, $2, $3, $4, now(), now())`,
      [`c_${email}`, id, workspaceId, email],
    )
  // Behind the last page, and in front of all that are gone already.
  await pageOf(id)
  await add(api.pool as never, 'a@example.test')
  const { client, end } = await hold('select 1', [])
  await add(client, 'b@example.test')
  // One that is not committed yet: the audience stays for its contact.
  await forgetAll(deps, { page: PAGE })
  expect(await rowsOf(db, id)).toEqual([51, 1])
  await client.query('commit')
  await end()
  await forgetAll(deps, { page: PAGE })
  expect(await rowsOf(db, id)).toEqual([0, 0])
  await expect(add(api.pool as never, 'c@example.test')).rejects.toThrow(/audience_id_fkey/)
})
