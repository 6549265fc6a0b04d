// Nodes that add the contact to an audience and remove them: memberships, counts, events, and who left before.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { transact } from '../../commands/transact.ts'
import { foldAudienceChanges } from '../../db/audiences/changes.ts'
import { findAudience } from '../../db/audiences/reads.ts'
import { deleteAudience, insertAudience } from '../../db/audiences/writes.ts'
import type { Trx } from '../../db/connect.ts'
import { insertOptOuts } from '../../db/opt-outs/writes.ts'
import { addressMacOf } from '../setup/addressMac.ts'
import { createTestDatabase } from '../setup/database.ts'
import { type Engine, startEngine } from '../setup/engine.ts'
import { design, onEvent } from '../setup/flows.ts'
import { newId, now } from '../setup/harness.ts'
import { uniqueName } from '../setup/unique.ts'

const database = await createTestDatabase()
const { db } = database
let engine: Engine

beforeAll(async () => {
  engine = await startEngine(database)
})
afterAll(() => engine?.stop())

const trx = <T>(work: (inTrx: { db: Trx }) => Promise<T>) =>
  transact.one({ db, wake: () => undefined }, work)

async function newAudience(): Promise<string> {
  const id = newId('audience')
  const row = { id, name: 'News', created_by: engine.userId, created_at: now(), updated_at: now() }
  await trx((deps) => insertAudience(deps.db, engine.workspaceId, row))
  return id
}

const joins = (audience_id: string, data: object = {}) =>
  design(
    {
      start: onEvent('x'),
      add: ['add_to_audience', { audience_id, ...data }],
      isIn: ['condition', { condition: { type: 'audience', audience_id, member: true } }],
      end: ['exit', { outcome: 'member' }],
      no: ['exit', { outcome: 'none' }],
    },
    [
      ['start', 'add'],
      ['add', 'isIn'],
      ['isIn', 'end', 'true'],
      ['isIn', 'no', 'false'],
    ],
  )

const leaves = (audience_id: string) =>
  design(
    { start: onEvent('x'), gone: ['remove_from_audience', { audience_id }], end: ['exit', {}] },
    [
      ['start', 'gone'],
      ['gone', 'end'],
    ],
  )

const countsOf = async (id: string) => {
  const found = await findAudience(db, engine.workspaceId, id)
  return found && { contacts: found.contact_count, unsubscribers: found.unsubscribers }
}

const whyOf = async (id: string, nodeId: string) => {
  const step = await db
    .selectFrom('execution_steps')
    .select('why')
    .where('execution_id', '=', id)
    .where('node_id', '=', nodeId)
    .executeTakeFirstOrThrow()
  return step.why
}

const eventsOf = async (email: string) => {
  const rows = await db
    .selectFrom('automation_events')
    .select(['event_name', 'depth'])
    .where('email', '=', email)
    .where('event_name', 'like', 'audience.%')
    .orderBy('id')
    .execute()
  return rows.map(({ event_name, depth }) => `${event_name} ${depth}`)
}

test('a contact joins once and is removed once; counts, conditions and events follow', async () => {
  const audience = await newAudience()
  const first = await engine.run(joins(audience))
  expect(await engine.ended(first.id, 'COMPLETED')).toMatchObject({ outcome: 'member' })
  const again = await engine.run(joins(audience), first.email)
  await engine.ended(again.id, 'COMPLETED')
  expect(await whyOf(again.id, 'add')).toBe('unchanged')
  expect(await countsOf(audience)).toEqual({ contacts: 1, unsubscribers: 0 })
  const gone = await engine.run(leaves(audience), first.email)
  await engine.ended(gone.id, 'COMPLETED')
  const goneAgain = await engine.run(leaves(audience), first.email)
  await engine.ended(goneAgain.id, 'COMPLETED')
  expect(await whyOf(goneAgain.id, 'gone')).toBe('unchanged')
  expect(await countsOf(audience)).toEqual({ contacts: 0, unsubscribers: 0 })
  expect(await eventsOf(first.email)).toEqual(['audience.joined 1', 'audience.left 1'])
})

test('who left the audience is added unsubscribed, and being removed is no leaving', async () => {
  const audience = await newAudience()
  const email = `${uniqueName('c')}@example.test`
  const mac = await addressMacOf(db)
  await trx((deps) =>
    insertOptOuts(deps.db, engine.workspaceId, [
      {
        id: newId('optOut'),
        scope: 'audience',
        target_id: audience,
        address_hmac: mac(engine.workspaceId, email),
        source: 'link',
        unconfirmed_email_id: null,
        created_at: now(),
      },
    ]),
  )
  const { id } = await engine.run(joins(audience), email)
  await engine.ended(id, 'COMPLETED')
  expect(await countsOf(audience)).toEqual({ contacts: 1, unsubscribers: 1 })
  const other = await engine.run(joins(audience))
  await engine.ended(other.id, 'COMPLETED')
  const gone = await engine.run(leaves(audience), other.email)
  await engine.ended(gone.id, 'COMPLETED')
  const back = await engine.run(joins(audience), other.email)
  await engine.ended(back.id, 'COMPLETED')
  expect(await countsOf(audience)).toEqual({ contacts: 2, unsubscribers: 1 })
})

test('many join at once while somebody holds the audience, and folding changes no count', async () => {
  const audience = await newAudience()
  const runs = await trx(async (deps) => {
    await deps.db
      .selectFrom('audiences')
      .select('id')
      .where('id', '=', audience)
      .forNoKeyUpdate()
      .execute()
    const started = await Promise.all(Array.from({ length: 12 }, () => engine.run(joins(audience))))
    for (const { id } of started) await engine.ended(id, 'COMPLETED')
    return started
  })
  expect(runs).toHaveLength(12)
  expect(await countsOf(audience)).toEqual({ contacts: 12, unsubscribers: 0 })
  const folded = await Promise.all([1, 2, 3].map(() => trx((deps) => foldAudienceChanges(deps.db))))
  expect(folded.reduce((sum, one) => sum + one)).toBeGreaterThanOrEqual(12)
  expect(await db.selectFrom('audience_changes').select('id').execute()).toEqual([])
  expect(await countsOf(audience)).toEqual({ contacts: 12, unsubscribers: 0 })
})

test('an audience that was deleted meanwhile fails the step', async () => {
  const audience = await newAudience()
  await trx((deps) => deleteAudience(deps.db, engine.workspaceId, audience, now()))
  const { id } = await engine.run(joins(audience))
  const ended = await engine.ended(id, 'FAILED')
  expect(ended.error).toBe('add: unknown_audience')
})

test('a wait for what the node before it has recorded is over at once, and one for what it has not goes on', async () => {
  const audience = await newAudience()
  const counted = (event_name: string) => ({
    type: 'event_count',
    event_name,
    operator: 'gte',
    value: 1,
  })
  const waitsAfter = (type: string, event_name: string) =>
    design(
      {
        start: onEvent('x'),
        change: [type, { audience_id: audience }],
        wait: ['wait_for_condition', { condition: counted(event_name) }],
        end: ['exit', { outcome: 'met' }],
      },
      [
        ['start', 'change'],
        ['change', 'wait'],
        ['wait', 'end', 'met'],
      ],
    )
  const waitsOf = (id: string) =>
    db.selectFrom('event_waits').select('node_id').where('execution_id', '=', id).execute()

  const joined = await engine.run(waitsAfter('add_to_audience', 'audience.joined'))
  expect(await engine.ended(joined.id, 'COMPLETED')).toMatchObject({ outcome: 'met' })
  expect(await waitsOf(joined.id)).toEqual([])
  const left = await engine.run(waitsAfter('remove_from_audience', 'audience.left'), joined.email)
  expect(await engine.ended(left.id, 'COMPLETED')).toMatchObject({ outcome: 'met' })
  expect(await waitsOf(left.id)).toEqual([])
  const unchanged = await engine.run(waitsAfter('remove_from_audience', 'audience.left'))
  await engine.waiting(unchanged.id, 'wait')
  expect(await waitsOf(unchanged.id)).toEqual([{ node_id: 'wait' }])
})
