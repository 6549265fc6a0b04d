// What a schedule starts by the clock: each member once for each time, however its pages are repeated, held up or stopped.
// Long because each of the ways in which pages are cut is one case over the same clock.
import { sql } from 'kysely'
import pg from 'pg'
import { beforeEach, expect, test } from 'vitest'
import { type ScheduleTurn, turnSchedule } from '../../commands/schedules/turn.ts'
import { addressMacOf } from '../setup/addressMac.ts'
import { createTestDatabase } from '../setup/database.ts'
import { eventually } from '../setup/eventually.ts'
import { newId, seedWorkspace } from '../setup/harness.ts'
import {
  insertAudience,
  insertScheduled,
  memberEmail,
  scheduled,
  setSchedule,
} from '../setup/schedules.ts'

const { db, url } = await createTestDatabase()
const workspace = await seedWorkspace(db)
const { workspaceId } = workspace
const addressMac = await addressMacOf(db)
const clock = { now: new Date(0) }
const now = () => clock.now
const deps = { db, newId, now, addressMac, wake: () => undefined }

const setClock = (text: string) => {
  clock.now = new Date(text)
}
beforeEach(() => setClock('2026-03-02T08:00:00Z'))

const hourly = { cron: '0 * * * *' }
const turn = (workflowId: string) => turnSchedule(deps, { workflowId, nodeId: 'start' })

/** Turns until nothing is due. @returns what it waits for */
async function turnAll(workflowId: string): Promise<ScheduleTurn> {
  for (;;) {
    const found = await turn(workflowId)
    if (found.kind !== 'started') return found
  }
}

/** `email time` of each execution, in order. */
async function started(workflowId: string): Promise<string[]> {
  const rows = await db
    .selectFrom('executions')
    .select(['email', 'scheduled_at'])
    .where('workflow_id', '=', workflowId)
    .orderBy('scheduled_at')
    .orderBy('email')
    .execute()
  return rows.map((row) => `${row.email} ${row.scheduled_at?.toISOString().slice(11, 16)}`)
}
const all = (members: number, ...times: string[]) =>
  times.flatMap((time) => Array.from({ length: members }, (_, n) => `${memberEmail(n)} ${time}`))

async function make(members: number, data: object = hourly) {
  const audience_id = await insertAudience(db, workspace, members)
  const id = await insertScheduled(db, workspace, { ...data, audience_id }, now)
  return { id, audience_id }
}

test('1,000 members are started once each at each time, by two that work on it at once', async () => {
  const { id } = await make(1_000)
  expect(await turnAll(id)).toEqual({ kind: 'wait', until: new Date('2026-03-02T09:00:00Z') })
  expect(await started(id)).toEqual([])
  setClock('2026-03-02T09:00:00Z')
  await Promise.all([turnAll(id), turnAll(id)])
  setClock('2026-03-02T10:00:01Z')
  expect(await turnAll(id)).toEqual({ kind: 'wait', until: new Date('2026-03-02T11:00:00Z') })
  expect(await started(id)).toEqual(all(1_000, '09:00', '10:00'))
  const outbox = await db
    .selectFrom('outbox')
    .select('execution_id')
    .distinct()
    .where('workflow_id', '=', id)
    .where('kind', '=', 'start')
    .execute()
  expect(outbox).toHaveLength(2_000)
  const [row] = await db
    .selectFrom('executions')
    .select(['properties', 'trigger_node_id', 'version'])
    .where('workflow_id', '=', id)
    .orderBy('scheduled_at')
    .limit(1)
    .execute()
  expect(row).toEqual({
    properties: { scheduled_at: Date.parse('2026-03-02T09:00:00Z') },
    trigger_node_id: 'start',
    version: 1,
  })
})

test('a member who leaves and comes back behind the page is started once', async () => {
  const { id, audience_id } = await make(60)
  setClock('2026-03-02T09:00:00Z')
  await turn(id)
  const moved = { email: 'z@example.test' }
  await db
    .updateTable('audience_contacts')
    .set(moved)
    .where('audience_id', '=', audience_id)
    .where('email', '=', memberEmail(0))
    .execute()
  // As when the address of a contact changes.
  await db.updateTable('contacts').set(moved).where('email', '=', memberEmail(0)).execute()
  await turnAll(id)
  expect(await started(id)).toEqual(all(60, '09:00'))
  await db.deleteFrom('contacts').where('email', '=', moved.email).execute()
})

test('a pause ends it in the middle of its members, and the next activation begins anew', async () => {
  const { id, audience_id } = await make(120)
  setClock('2026-03-02T09:00:00Z')
  await turn(id)
  const first = await started(id)
  expect(first).toEqual(all(50, '09:00'))
  await setSchedule(db, workspace, id, { data: null, now })
  expect(await turnAll(id)).toEqual({ kind: 'over' })
  expect(await started(id)).toEqual(first)
  setClock('2026-03-02T09:10:00Z')
  await setSchedule(db, workspace, id, { data: { ...hourly, audience_id }, now })
  expect(await turnAll(id)).toEqual({ kind: 'wait', until: new Date('2026-03-02T10:00:00Z') })
  expect(await started(id)).toEqual(first)
})

test('a new version with the same times goes on where it is; with other times it begins anew', async () => {
  const { id, audience_id } = await make(60)
  setClock('2026-03-02T09:00:00Z')
  await turn(id)
  const change = (data: object, version: number) =>
    setSchedule(db, workspace, id, { data: { ...data, audience_id }, now, version })
  await db
    .insertInto('workflow_versions')
    .values(
      [2, 3].map((version) => ({
        workflow_id: id,
        version,
        workspace_id: workspaceId,
        design: JSON.stringify(scheduled({ ...hourly, audience_id })),
        created_by: workspace.userId,
        created_at: now(),
      })),
    )
    .execute()
  await change(hourly, 2)
  await turnAll(id)
  expect(await started(id)).toEqual(all(60, '09:00'))
  const versions = db.selectFrom('executions').select('version').where('workflow_id', '=', id)
  const found = await versions.orderBy('email').execute()
  expect(found.map(({ version }) => version)).toEqual([...Array(50).fill(1), ...Array(10).fill(2)])

  setClock('2026-03-02T10:00:00Z')
  await turn(id)
  await change({ cron: '30 * * * *' }, 3)
  expect(await turnAll(id)).toEqual({ kind: 'wait', until: new Date('2026-03-02T10:30:00Z') })
  expect(await started(id)).toEqual([...all(60, '09:00'), ...all(50, '10:00')])
})

test('after an outage the latest missed time alone is caught up, and only when it is under an hour late', async () => {
  const { id, audience_id } = await make(2)
  setClock('2026-03-02T12:30:00Z')
  await turnAll(id)
  expect(await started(id)).toEqual(all(2, '12:00'))
  const daily = await insertScheduled(
    db,
    workspace,
    { cron: '0 9 * * *', audience_id },
    () => new Date('2026-03-02T08:00:00Z'),
  )
  expect(await turnAll(daily)).toEqual({ kind: 'wait', until: new Date('2026-03-03T09:00:00Z') })
  expect(await started(daily)).toEqual([])
})

test('a time that comes while members are started waits for them, however long they take', async () => {
  const { id } = await make(120, { cron: '0 9,10 * * *' })
  setClock('2026-03-02T09:00:00Z')
  for (const at of ['09:00', '09:50', '10:40', '11:30']) {
    setClock(`2026-03-02T${at}:00Z`)
    await turn(id)
  }
  expect(await started(id)).toEqual([...all(120, '09:00'), ...all(50, '10:00')])
  await turnAll(id)
  expect(await started(id)).toEqual(all(120, '09:00', '10:00'))
})

test('members of a time that an outage cut go on, and what came in the outage is late', async () => {
  const { id } = await make(120, { cron: '0 9,10 * * *' })
  setClock('2026-03-02T09:00:00Z')
  await turn(id)
  setClock('2026-03-02T14:00:00Z')
  expect(await turnAll(id)).toEqual({ kind: 'wait', until: new Date('2026-03-03T09:00:00Z') })
  expect(await started(id)).toEqual(all(120, '09:00'))
})

test('once: it has no time left afterwards', async () => {
  const { id } = await make(3, { at: '2026-03-02T09:00', timezone: 'Europe/Berlin' })
  setClock('2026-03-02T08:00:00Z')
  expect(await turnAll(id)).toEqual({ kind: 'over' })
  setClock('2026-03-09T08:00:00Z')
  expect(await turnAll(id)).toEqual({ kind: 'over' })
})

const leave = (email: string, scope: 'workflow' | 'audience', target_id: string) =>
  db
    .insertInto('opt_outs')
    .values({
      id: newId('optOut'),
      workspace_id: workspaceId,
      scope,
      target_id,
      address_hmac: addressMac(workspaceId, email),
      source: 'api',
      created_at: now(),
    })
    .execute()

test('who has left the audience and was brought back by a list is passed over', async () => {
  const { id, audience_id } = await make(3)
  // A list brings back the row, and takes back no opt-out.
  await leave(memberEmail(1), 'audience', audience_id)
  setClock('2026-03-02T09:00:00Z')
  await turnAll(id)
  expect(await started(id)).toEqual([`${memberEmail(0)} 09:00`, `${memberEmail(2)} 09:00`])
})

test('who has unsubscribed, left the workflow, fails the filter or may not enter again is passed over', async () => {
  const audience_id = await insertAudience(db, workspace, 5)
  const filter = {
    type: 'and',
    rules: [
      { type: 'rule', field: 'contact.email', operator: 'neq', value: memberEmail(2) },
      {
        type: 'rule',
        field: 'event.scheduled_at',
        operator: 'after',
        value: '2026-03-02T08:30:00Z',
      },
      { type: 'audience', audience_id, member: true },
    ],
  }
  const data = { ...hourly, audience_id, filter, re_entry: { mode: 'once' } }
  const id = await insertScheduled(db, workspace, data, now)
  await db
    .updateTable('audience_contacts')
    .set({ is_subscribed: false })
    .where('audience_id', '=', audience_id)
    .where('email', '=', memberEmail(0))
    .execute()
  await leave(memberEmail(1), 'workflow', id)
  for (const hour of ['09', '10']) {
    setClock(`2026-03-02T${hour}:00:00Z`)
    await turnAll(id)
  }
  expect(await started(id)).toEqual([`${memberEmail(3)} 09:00`, `${memberEmail(4)} 09:00`])
})

test('a contact that somebody holds is waited for alone: the others before it are started, and a pause is not held up', async () => {
  const { id } = await make(10)
  setClock('2026-03-02T09:00:00Z')
  // The contacts are there.
  await make(10).then((other) => turnAll(other.id))
  const holder = new pg.Client({ connectionString: url })
  await holder.connect()
  await holder.query('begin')
  await holder.query('select from contacts where workspace_id = $1 and email = $2 for update', [
    workspaceId,
    memberEmail(4),
  ])
  await turn(id)
  expect(await started(id)).toEqual(all(4, '09:00'))
  const waiting = turn(id)
  await eventually(async () => {
    const { rows } = await sql`select from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`.execute(db)
    expect(rows).toHaveLength(1)
  })
  await setSchedule(db, workspace, id, { data: null, now })
  await holder.query('commit')
  await holder.end()
  await waiting
  expect(await turnAll(id)).toEqual({ kind: 'over' })
  expect(await started(id)).toEqual(all(4, '09:00'))
})

test('a member who leaves the audience while they are waited for is not started', async () => {
  const { id, audience_id } = await make(3)
  setClock('2026-03-02T09:00:00Z')
  const holder = new pg.Client({ connectionString: url })
  await holder.connect()
  await holder.query('begin')
  await holder.query('select from contacts where workspace_id = $1 and email = $2 for update', [
    workspaceId,
    memberEmail(0),
  ])
  const change =
    'update audience_contacts set is_subscribed = false where audience_id = $1 and email = $2'
  await holder.query(change, [audience_id, memberEmail(0)])
  const waiting = turn(id)
  await eventually(async () => {
    const { rows } = await sql`select from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`.execute(db)
    expect(rows).toHaveLength(1)
  })
  await holder.query('commit')
  await holder.end()
  await waiting
  await turnAll(id)
  expect(await started(id)).toEqual(all(3, '09:00').slice(1))
})
