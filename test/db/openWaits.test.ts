// What an event reads and locks of the waits of its contact.
import { randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { findReceivers } from '../../commands/events/receivers.ts'
import { transact } from '../../commands/transact.ts'
import type { Trx } from '../../db/connect.ts'
import { type ArrivedEvent, listCandidates } from '../../db/events/receivers.ts'
import type { Condition } from '../../rules/conditions/types.ts'
import { interruptsOf } from '../../rules/interrupts.ts'
import { noteQueries } from '../setup/askedQueries.ts'
import { createTestDatabase } from '../setup/database.ts'
import { eventually } from '../setup/eventually.ts'
import { design, insertFlow, onEvent, recordEvent } from '../setup/flows.ts'
import { seedWorkspace } from '../setup/harness.ts'
import { openSession } from '../setup/session.ts'
import { uniqueName } from '../setup/unique.ts'

const { db, pool, url } = await createTestDatabase()
const workspace = await seedWorkspace(db)
const { workspaceId } = workspace

/** Executions of one workflow for one contact, each in a wait that changes of the contact may end. */
async function insertWaiting(
  count: number,
  eventName: string,
  exit: Condition = { type: 'rule', field: 'properties.gone', operator: 'is_true' },
) {
  const name = uniqueName('began')
  const email = `${uniqueName('c')}@example.test`
  const graph = {
    ...design({ start: onEvent(name), wait: ['wait_for_event', { event_name: eventName }] }, [
      ['start', 'wait'],
    ]),
    settings: { exit_conditions: [exit] },
  }
  const workflowId = await insertFlow(db, workspace, graph)
  await db
    .updateTable('workflow_versions')
    .set({ interrupts: JSON.stringify(interruptsOf(graph)) })
    .where('workflow_id', '=', workflowId)
    .execute()
  const ids: string[] = []
  for (let i = 0; i < count; i++) {
    const { executionIds } = await recordEvent(db, workspaceId, { eventName: name, email })
    ids.push(...executionIds)
  }
  await insertWaits(ids, eventName)
  return { ids, email, contactId: await contactIdOf(email) }
}

async function contactIdOf(email: string): Promise<string> {
  const { id } = await db
    .selectFrom('contacts')
    .select('id')
    .where('email', '=', email)
    .executeTakeFirstOrThrow()
  return id
}

/** Another contact who waits in the workflow of `insertWaiting`. */
async function joinWaiting({ ids }: { ids: string[] }, eventName: string) {
  const email = `${uniqueName('c')}@example.test`
  const { name } = await db
    .selectFrom('executions as x')
    .innerJoin('automation_events as a', 'a.id', 'x.trigger_event_id')
    .select('a.event_name as name')
    .where('x.id', '=', ids[0] ?? '')
    .executeTakeFirstOrThrow()
  const { executionIds } = await recordEvent(db, workspaceId, { eventName: name, email })
  await insertWaits(executionIds, eventName)
  return { email, contactId: await contactIdOf(email) }
}

/** Lets executions wait for an event, or for any change. */
const insertWaits = (ids: readonly string[], eventName: string) =>
  sql`
    insert into event_waits (execution_id, segment, node_id, workspace_id, contact_id, event_name,
      watched, created_at)
    select id, 0, 'wait', workspace_id, contact_id, ${eventName}, true, now()
    from executions where id = any(${ids}::text[])`.execute(db)

/** An event of a contact. */
const eventOf = (
  eventName: string,
  { email, contactId }: { email: string; contactId: string },
): ArrivedEvent => ({
  eventName,
  email,
  properties: {},
  contact: { id: contactId, firstSeen: new Date(), properties: {}, before: {}, isNew: false },
  hmac: () => Buffer.alloc(16),
  now: new Date(),
})

test('what may interrupt the executions of a version is read once for all of their waits', async () => {
  const eventName = uniqueName('paid')
  const { email, contactId } = await insertWaiting(20, eventName)
  const [found] = await transact({ db, wake: () => undefined }, ({ db: trx }) =>
    listCandidates(trx, workspaceId, [eventOf(eventName, { email, contactId })]),
  )
  const waits = found?.waits ?? []
  expect(waits).toHaveLength(20)
  expect(waits[0]?.interrupts).toMatchObject({ exits: [{ field: 'properties.gone' }] })
  expect(new Set(waits.map(({ interrupts }) => interrupts)).size).toBe(1)
})

/** How many pages Postgres reads to find who may receive these events. */
async function pagesRead(events: ArrivedEvent[]): Promise<number> {
  const { db: listening, asked } = noteQueries(pool)
  await listCandidates(listening as unknown as Trx, workspaceId, events)
  const query = asked.find(({ sql: text }) => text.includes('interrupting as materialized'))
  if (!query) throw new Error('the statement of findConcerned was not sent')
  const { rows } = await pool.query(`explain (analyze, buffers, format json) ${query.sql}`, [
    ...query.parameters,
  ])
  const { Plan: plan } = rows[0]['QUERY PLAN'][0]
  return plan['Shared Hit Blocks'] + plan['Shared Read Blocks']
}

test('large exit conditions of a version are read once, however many waits and contacts they may end', async () => {
  // It takes some thirty pages, since it cannot be compressed, and is read for what it names and for its caller.
  const value = randomBytes(180_000).toString('base64')
  const exit: Condition = { type: 'rule', field: 'properties.gone', operator: 'eq', value }
  const eventName = uniqueName('paid')
  const [one, many] = [
    await insertWaiting(1, eventName, exit),
    await insertWaiting(41, eventName, exit),
  ]
  const ofOne = await pagesRead([eventOf(eventName, one)])
  expect(ofOne).toBeGreaterThan(60)
  // A few for the row of each wait and its execution.
  expect(await pagesRead([eventOf(eventName, many)])).toBeLessThan(ofOne + 40 * 20)
})

test('what interrupts a version is read once for all contacts of a group', async () => {
  const value = randomBytes(180_000).toString('base64')
  const exit: Condition = { type: 'rule', field: 'properties.gone', operator: 'eq', value }
  const eventName = uniqueName('paid')
  const first = await insertWaiting(1, eventName, exit)
  const others = await Promise.all(Array.from({ length: 10 }, () => joinWaiting(first, eventName)))
  const ofOne = await pagesRead([eventOf(eventName, first)])
  const all = [first, ...others].map((contact) => eventOf(eventName, contact))
  expect(await pagesRead(all)).toBeLessThan(ofOne + 10 * 30)
  const found = await transact({ db, wake: () => undefined }, ({ db: trx }) =>
    listCandidates(trx, workspaceId, all),
  )
  expect(found.map(({ waits }) => waits[0]?.interrupts?.exits)).toEqual(all.map(() => [exit]))
})

test.each<{ what: string; exit: Condition }>([
  { what: 'mail', exit: { type: 'email_activity', node_id: 'any', status: 'opened' } },
  { what: 'answers', exit: { type: 'rule', field: 'steps.crm.status', operator: 'is_true' } },
])('the $what of all executions whose conditions look at it is read at once', async ({ exit }) => {
  const asked = async (count: number) => {
    const eventName = uniqueName('paid')
    const { email, contactId } = await insertWaiting(count, eventName, exit)
    let statements = 0
    const counted = db.withPlugin({
      transformQuery({ node }) {
        statements += 1
        return node
      },
      transformResult: async ({ result }) => result,
    })
    const { waits } = await transact({ db: counted, wake: () => undefined }, ({ db: trx }) =>
      findReceivers(trx, workspaceId, {
        eventName,
        email,
        properties: {},
        contact: { id: contactId, firstSeen: new Date(), properties: {}, before: {}, isNew: false },
        hmac: () => Buffer.alloc(16),
        now: new Date(),
      }),
    )
    expect(waits).toHaveLength(count)
    return statements
  }
  expect(await asked(20)).toBe(await asked(2))
})

test('an event locks an execution before its wait, as a cancellation does', {
  timeout: 90_000,
}, async () => {
  const eventName = uniqueName('paid')
  const { ids, email } = await insertWaiting(1, eventName)
  await db
    .updateTable('executions')
    .set({ chain_depth: 3 })
    .where('id', '=', ids[0] ?? '')
    .execute()
  const cancelling = await openSession(url)
  await cancelling.run('begin')
  await cancelling.run(`select from executions where id = '${ids[0]}' for update`)
  const recording = recordEvent(db, workspaceId, { eventName, email })
  await eventually(async () => expect(await cancelling.waiting()).toBe(1), { deadline_ms: 60_000 })
  await cancelling.run(`select from event_waits where execution_id = '${ids[0]}' for update nowait`)
  await cancelling.run('rollback')
  await recording
  const [wait] = await db
    .selectFrom('event_waits')
    .select('consumed_by')
    .where('execution_id', '=', ids[0] ?? '')
    .execute()
  expect(wait?.consumed_by).not.toBeNull()
})
