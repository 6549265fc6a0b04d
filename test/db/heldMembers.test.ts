// Members of a schedule whom somebody holds while it comes to them: those before them are started, and they are when their turn comes.
import { sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import { turnSchedule } from '../../commands/schedules/turn.ts'
import { workerSettings } from '../../db/settings.ts'
import { addressMacOf } from '../setup/addressMac.ts'
import { createTestDatabase } from '../setup/database.ts'
import { eventually } from '../setup/eventually.ts'
import { newId, seedWorkspace } from '../setup/harness.ts'
import { insertAudience, insertScheduled, memberEmail } from '../setup/schedules.ts'

const { db } = await createTestDatabase({ settings: workerSettings })
const workspace = await seedWorkspace(db)
const clock = { now: new Date('2026-03-02T08:00:00Z') }
const deps = {
  ...{ db, newId, now: () => clock.now, wake: () => undefined },
  addressMac: await addressMacOf(db),
}

/** A workflow with a schedule whose time has come. */
async function due(members: number): Promise<string> {
  clock.now = new Date('2026-03-02T08:00:00Z')
  await db.deleteFrom('contacts').execute()
  const audience_id = await insertAudience(db, workspace, members)
  const data = { cron: '0 * * * *', audience_id }
  const id = await insertScheduled(db, workspace, data, deps.now)
  clock.now = new Date('2026-03-02T09:00:00Z')
  return id
}
const turn = (workflowId: string) => turnSchedule(deps, { workflowId, nodeId: 'start' })
const started = async (workflowId: string) => {
  const starts = db.selectFrom('executions').select('email').where('workflow_id', '=', workflowId)
  return (await starts.orderBy('email').execute()).map(({ email }) => email)
}
/** A transaction that has made a contact of the member, or has locked it. */
async function hold(email: string) {
  const held = await db.startTransaction().execute()
  onTestFinished(async () => void (held.isCommitted || (await held.rollback().execute())))
  await sql`insert into contacts (id, workspace_id, email, first_seen, last_seen, last_event, created_at, updated_at)
    values (${newId('contact')}, ${workspace.workspaceId}, ${email}, now(), now(), '', now(), now())
    on conflict (workspace_id, email) do update set last_event = 'held'`.execute(held)
  return () => held.commit().execute()
}

test('a member whom an open import has made a contact keeps nobody before them, and no connection for long', async () => {
  const id = await due(3)
  const end = await hold(memberEmail(1))
  let pages = 0
  let isOpen = true
  const turning = (async () => {
    for (; isOpen && pages < 3; pages++) await turn(id)
  })()
  await eventually(async () => expect(await started(id)).toEqual([memberEmail(0)]))
  // Each of the pages gives up by itself, while the import goes on.
  await eventually(() => expect(pages).toBeGreaterThan(1))
  isOpen = false
  await end()
  await turning
  while ((await turn(id)).kind === 'started') {}
  expect(await started(id)).toEqual([0, 1, 2].map(memberEmail))
})

test('a member behind whom others queue for over a second is waited for the longer, the longer nothing has moved', async () => {
  const id = await due(2)
  const make = await hold(memberEmail(0))
  await make()
  const end = await hold(memberEmail(0))
  const past = await turn(id)
  expect([past.kind, await started(id)]).toEqual(['started', []])
  clock.now = new Date('2026-03-02T09:01:00Z')
  const turning = turn(id)
  await eventually(async () => {
    const { rows } =
      await sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
      and query_start < clock_timestamp() - interval '1.5 s'`.execute(db)
    expect(rows).toHaveLength(1)
  })
  await end()
  expect((await turning).kind).toBe('started')
  expect(await started(id)).toEqual([memberEmail(0)])
})
