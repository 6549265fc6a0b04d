// Folding the changes of counts locks audiences in the order of their ids, as everybody does: none ends another with a deadlock.
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { transact } from '../../commands/transact.ts'
import { foldAudienceChanges } from '../../db/audiences/changes.ts'
import { createTestApi } from '../setup/api.ts'
import { untilWaiting } from '../setup/lockWaits.ts'
import { openSession } from '../setup/session.ts'

const AUDIENCES = 40
const api = await createTestApi()
const { db, deps } = api

test('while the first one is locked, the others are free', async () => {
  const ids: string[] = []
  for (let n = 0; n < AUDIENCES; n++) {
    const { body } = await api.request<{ id: string }>('POST', '/v1/audiences', { name: `A${n}` })
    ids.push(body.id)
  }
  const [first = '', ...others] = ids
  // The last one changed first.
  await sql`
    insert into audience_changes (audience_id, contacts, unsubscribers)
    select g.id, 1, 0 from unnest(${ids.toReversed()}::text[]) as g(id)`.execute(db)
  // So that each is looked up by its id, and not all are read in order.
  await sql`
    insert into audiences (id, workspace_id, name, created_by, created_at, updated_at)
    select 'aud_' || n, workspace_id, name, created_by, created_at, updated_at
    from audiences cross join generate_series(1, 20000) n where id = ${first}`.execute(db)
  await sql`analyze audiences, audience_changes`.execute(db)
  const holder = await openSession(api.url)
  await holder.run('begin')
  await holder.run(`select from audiences where id = '${first}' for no key update`)
  const folding = transact.one(deps, ({ db: trx }) => foldAudienceChanges(trx))
  await untilWaiting(db, 1)
  const free = await sql<{ id: string }>`
    select id from audiences where id = any(${others}::text[]) order by id for no key update skip locked`.execute(
    db,
  )
  expect(free.rows.map(({ id }) => id)).toEqual(others)
  await holder.run('commit')
  expect(await folding).toBe(AUDIENCES)
  const counted = await sql`select from audiences where contact_count = 1`.execute(db)
  expect(counted.rows).toHaveLength(AUDIENCES)
})
