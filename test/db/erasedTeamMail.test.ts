// What the job of an erasure does with mail to the team about the contact: page by page, and also of what ends while it looks.
import { sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import { readPlace } from '../../commands/contacts/erasePlace.ts'
import { runJobPage } from '../../commands/jobs/runPage.ts'
import { createTestApi } from '../setup/api.ts'
import { noteQueries } from '../setup/askedQueries.ts'
import { createLeavers, type Leaver } from '../setup/leavers.ts'
import { carryOnErasing, traces } from '../setup/traces.ts'
import { uniqueName } from '../setup/unique.ts'

const api = await createTestApi()
const { db, deps } = api
const leavers = await createLeavers(api)

const erase = async ({ email }: Leaver) => {
  const path = `/v1/automation/contacts/${encodeURIComponent(email)}`
  expect((await api.request('DELETE', path)).status).toBe(204)
}
const newestJob = async () => {
  const { rows } = await sql<{ id: string; place: string | null }>`
    select id, place from jobs where kind = 'erasure' order by id desc limit 1`.execute(db)
  const [row] = rows
  if (!row) throw new Error('there is no job')
  return { id: row.id, at: readPlace(deps, row.place).team }
}
const toTeam = (one: Leaver) =>
  leavers.mail(one, 'transactional', { team: [`${uniqueName('team')}@sender.test`] })
const blanked = async ({ executionId }: Leaver) => {
  const { rows } = await sql<{ id: string }>`
    select id from emails where execution_id = ${executionId} and subject = '' order by id`.execute(
    db,
  )
  return rows.map(({ id }) => id)
}

test('each page of the job begins behind the one before', async () => {
  const one = await leavers.leaver()
  const all: string[] = []
  for (let n = 0; n < 230; n++) all.push((await toTeam(one)).emailId)
  await erase(one)
  const { id } = await newestJob()
  const pages: [number, unknown][] = []
  while ((await newestJob()).at !== '-') {
    const before = (await blanked(one)).length
    await runJobPage(deps, { id })
    const now = await blanked(one)
    expect(now).toEqual(all.slice(0, now.length))
    const { at } = await newestJob()
    if (now.length > before) pages.push([now.length, typeof at === 'string' ? at : at?.mail])
  }
  expect(pages).toEqual([
    [100, all[99]],
    [200, all[199]],
    [230, '-'],
  ])
  expect(await carryOnErasing(deps)).toBe('completed')
  expect(await traces(db, one.email)).toEqual([])
})

test('mail that the team gets while a page looks at all that is left is blanked too', async () => {
  const one = await leavers.leaver()
  const { emailId, deliveryId } = await toTeam(one)
  expect((await leavers.claim()).map(({ id }) => id)).toContain(deliveryId)
  await erase(one)
  expect(await carryOnErasing(deps)).toBe('running')
  // A page forgets what waits in the outbox between its looks at mail.
  await sql`
    create function settle_meanwhile() returns trigger language plpgsql as $$
    begin
      update deliveries set state = 'data_sent' where email_id = '${sql.raw(emailId)}' and state = 'sending';
      update deliveries set state = 'delivered', settled_at = now(), lease_until = null, lease_token = null
        where email_id = '${sql.raw(emailId)}' and state = 'data_sent';
      return null;
    end $$`.execute(db)
  await sql`create trigger settle_meanwhile after delete on outbox for each statement execute function settle_meanwhile()`.execute(
    db,
  )
  onTestFinished(async () => {
    await sql`drop trigger settle_meanwhile on outbox`.execute(db)
  })
  await carryOnErasing(deps)
  expect(await leavers.outcome(deliveryId)).toBe('delivered')
  expect(await carryOnErasing(deps)).toBe('completed')
  expect(await blanked(one)).toEqual([emailId])
})

test('pages of tags leave mail to the team to the last, and are begun anew for what came meanwhile', async () => {
  const { db: watched, asked } = noteQueries(api.pool)
  const one = await leavers.leaver()
  await toTeam(one)
  await sql`
    insert into email_stats (workspace_id, kind, hour, domain_id, value, accepted)
    select ${api.workspaceId}, 'tag', 1, 'dom_1', 'tag ' || n, 1 from generate_series(1, 3500) n`.execute(
    db,
  )
  await erase(one)
  const { id } = await newestJob()
  /** Where a page has come to among the tags, whether the job is over, and whether it has read all mail to the team. */
  const page = async () => {
    const before = asked.length
    const { more } = await runJobPage({ ...deps, db: watched }, { id })
    const { rows } = await sql<{ place: string | null }>`
      select place from jobs where id = ${id}`.execute(db)
    const looks = asked.slice(before).filter((sent) => /executions x join emails m/.test(sent.sql))
    return {
      value: readPlace(deps, rows[0]?.place ?? null).tag?.value,
      hasLooked: looks.length > 0,
      isOver: !more,
    }
  }
  let first = await page()
  while (first.value === undefined) first = await page()
  expect(first.hasLooked).toBe(true)
  // Nothing writes such mail any more; the last page looks all the same.
  const late = await toTeam(one)
  await sql`update deliveries set state = 'cancelled', settled_at = now() where id = ${late.deliveryId}`.execute(
    db,
  )
  // Begun since the first page, so none waits for it.
  const open = await db.startTransaction().execute()
  await sql`select 1`.execute(open)
  const looked: boolean[] = []
  for (let at = first; at.value !== undefined && looked.length < 10; looked.push(at.hasLooked))
    at = await page()
  await open.commit().execute()
  expect(looked).toEqual([false, false, true])
  expect(await blanked(one)).not.toContain(late.emailId)
  expect(await carryOnErasing(deps)).toBe('completed')
  expect(await blanked(one)).toContain(late.emailId)
})
