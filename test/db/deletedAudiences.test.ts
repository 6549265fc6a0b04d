// What is left of deleted audiences goes page by page, beside everything else, and whoever dies in the middle is followed by another.
import { sql } from 'kysely'
import { beforeEach, expect, test } from 'vitest'
import { forgetAudiencePage, forgetDeleted } from '../../commands/audiences/forgetDeleted.ts'
import { transact } from '../../commands/transact.ts'
import { createLog } from '../../runtime/log.ts'
import { deletedAudiencesRound } from '../../worker/deletedAudiences.ts'
import { createTestApi } from '../setup/api.ts'
import { forgetAll, insertContacts, rowsOf } from '../setup/deletedAudiences.ts'
import { openSession } from '../setup/session.ts'

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

type Run = (text: string, values: unknown[]) => Promise<unknown>

/** A session that holds what a statement locks, until `end`. */
async function hold(statement: string, values: unknown[]) {
  const session = await openSession(api.url)
  await session.run('begin')
  await session.run(statement, values)
  return session
}

const holdFirst = (id: string) =>
  hold('select from audience_contacts where audience_id = $1 order by email limit 1 for update', [
    id,
  ])

test('a commit takes one page, and the row of the audience goes with the last', async () => {
  const id = await deleted(250)
  const [first, second] = ['c000100@example.test', 'c000200@example.test']
  expect(await pageOf(id)).toEqual({ deleted: 100, next: first, isGone: false })
  expect(await rowsOf(db, id)).toEqual([150, 1])
  expect(await pageOf(id, first)).toEqual({ deleted: 100, next: second, isGone: false })
  expect(await pageOf(id, second)).toEqual({ deleted: 50, next: '', isGone: true })
  expect(await rowsOf(db, id)).toEqual([0, 0])
  expect(await pageOf(id)).toBe('gone')
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
  // One that two have held for each other may wait for the next round, but not all of them.
  const left = (await Promise.all(ids.map((id) => rowsOf(db, id)))).map(
    ([contacts = 0]) => contacts,
  )
  expect(left.reduce((sum, contacts) => sum + contacts, 0)).toBeLessThan(730 + 1_210)
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

/** Postgres refuses to delete contacts of an audience. */
async function refuse(id: string): Promise<void> {
  await sql`create or replace function refuse() returns trigger language plpgsql as $$
    begin raise 'refused'; end $$`.execute(db)
  await sql`create trigger refuse before delete on audience_contacts for each row
    when (old.audience_id = ${sql.lit(id)}) execute function refuse()`.execute(db)
}

const refuseNone = () => sql`drop trigger refuse on audience_contacts`.execute(db)

test('one that fails keeps no other waiting, and is tried again in the next round', async () => {
  const [bad, good] = [await deleted(150), await deleted(150)]
  await refuse(bad)
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
  await refuseNone()
  await forgetAll(deps, { page: PAGE })
  expect(await rowsOf(db, bad)).toEqual([0, 0])
})

test('a round ends after a minute, and what is left goes on where it was; what has failed is tried again in a minute', async () => {
  const [bad, large] = [await deleted(150), await deleted(450)]
  await refuse(bad)
  const time = { ms: 0, turns: 0 }
  const places = new Map<string, string>()
  const failed = new Map<string, number>()
  const round = () =>
    deletedAudiencesRound(
      { ...deps, log: createLog('test', 'silent') },
      {
        ...{ isStopping: () => false, places, failed, page: PAGE, clock: () => time.ms },
        async pause() {
          time.turns += 1
          // One turn was that of the one that fails.
          if (time.turns === 3) time.ms += 60_000
        },
      },
    )
  await round()
  expect(time.turns).toBe(3)
  expect([...places]).toEqual([[large, 'c000200@example.test']])
  await refuseNone()
  // It failed when the round began, a minute ago.
  expect([...failed]).toEqual([[bad, 60_000]])
  time.ms -= 1
  await round()
  expect([await rowsOf(db, bad), await rowsOf(db, large)]).toEqual([
    [150, 1],
    [0, 0],
  ])
  time.ms += 1
  await round()
  expect(await rowsOf(db, bad)).toEqual([0, 0])
  expect([[...places], [...failed]]).toEqual([[], []])
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
  expect(await pageOf(id)).toBe('held')
  await forgetAll(deps, { page: PAGE })
  expect(await rowsOf(db, id)).toEqual([150, 1])
  await end()
  await forgetAll(deps, { page: PAGE })
  expect(await rowsOf(db, id)).toEqual([0, 0])
})

test.for([
  { held: 'a contact of it', by: holdFirst },
  {
    held: 'its row',
    by: (id: string) => hold('select from audiences where id = $1 for no key update', [id]),
  },
])('while somebody holds $held, later ones of its workspace go', async ({ by }) => {
  const [first, later] = [await deleted(1), await deleted(150)]
  await by(first)
  await forgetAll(deps, { page: PAGE })
  expect([await rowsOf(db, first), await rowsOf(db, later)]).toEqual([
    [1, 1],
    [0, 0],
  ])
})

test('a place is kept while another worker is at the audience, and goes with it', async () => {
  const id = await deleted(250)
  const places = new Map<string, string>()
  const round = (pages: number) => forgetAll(deps, { pages, page: PAGE, places })
  await round(1)
  const kept = [[id, 'c000100@example.test']]
  expect([...places]).toEqual(kept)
  const { end } = await hold('select from audiences where id = $1 for update', [id])
  await round(10)
  expect([...places]).toEqual(kept)
  await end()
  await round(10)
  expect([...places]).toEqual([])
  expect(await rowsOf(db, id)).toEqual([0, 0])
})

test('whom a process of the release before adds goes too, whenever that is', async () => {
  const id = await deleted(150)
  const inPool: Run = (text, values) => api.pool.query(text, values)
  const add = (run: Run, email: string) =>
    run(
      `insert into audience_contacts (id, audience_id, workspace_id, email, created_at, updated_at)
       values ($1, $2, $3, $4, now(), now())`,
      [`c_${email}`, id, workspaceId, email],
    )
  // Behind the last page, and in front of all that are gone already.
  await pageOf(id)
  await add(inPool, 'a@example.test')
  const { run, end } = await hold('select 1', [])
  await add(run, 'b@example.test')
  // One that is not committed yet: the audience stays for its contact.
  await forgetAll(deps, { page: PAGE })
  expect(await rowsOf(db, id)).toEqual([51, 1])
  await run('commit')
  await end()
  await forgetAll(deps, { page: PAGE })
  expect(await rowsOf(db, id)).toEqual([0, 0])
  await expect(add(inPool, 'c@example.test')).rejects.toThrow(/audience_id_fkey/)
})
