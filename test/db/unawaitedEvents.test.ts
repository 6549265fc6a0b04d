// Events that start and wake nothing are recorded by one statement; one that starts or wakes something never is, not even where that comes
// about while the statement waits for a contact.
// Long because each thing that may await an event has its own test.
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { ALONE, type GroupedEvent } from '../../commands/events/arrived.ts'
import { createEventGroups } from '../../commands/events/groups.ts'
import { postAutomationEvents } from '../../commands/events/postMany.ts'
import { recordUnawaited } from '../../commands/events/unawaited.ts'
import type { Db } from '../../db/connect.ts'
import { apiSettings } from '../../db/settings.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { isRefusal } from '../../rules/refusals.ts'
import { addressMacOf } from '../setup/addressMac.ts'
import { createSegmentWorld } from '../setup/contactSegments.ts'
import { countStatements } from '../setup/countStatements.ts'
import { createTestDatabase } from '../setup/database.ts'
import { eventually } from '../setup/eventually.ts'
import { design, insertFlow, onEvent, recordEvent } from '../setup/flows.ts'
import { newId, now, seedWorkspace } from '../setup/harness.ts'
import { openSession } from '../setup/session.ts'
import { runSql } from '../setup/template.ts'
import { uniqueName } from '../setup/unique.ts'

const { db, url } = await createTestDatabase({ poolSize: 8 })
/** A database whose transactions keep their first snapshot unless a connection says otherwise. */
async function createRepeatableRead(): Promise<[Db, string]> {
  const own = await createTestDatabase({ settings: apiSettings, poolSize: 4 })
  await runSql(
    own.url,
    `do $$ begin execute format('alter database %I set default_transaction_isolation to ''repeatable read''', current_database()); end $$`,
  )
  return [own.db, own.url]
}

const deps = { db, newId, now, addressMac: await addressMacOf(db), wake: () => undefined }

let made = 0
/** An event of a name that no other test has: a process remembers names. */
const eventOf = (change: Partial<GroupedEvent> = {}): GroupedEvent => ({
  eventId: null,
  eventName: uniqueName('happened'),
  // In the order in which they are made.
  email: `${String(++made).padStart(4, '0')}@example.test`,
  properties: { order: 7 },
  at: now(),
  contactProperties: null,
  createContact: true,
  ...change,
})
const postedOf = ({ eventName, email, properties, eventId }: GroupedEvent) => ({
  event_name: eventName,
  email,
  properties,
  ...(eventId === null ? {} : { event_id: eventId }),
})

const listStored = (workspaceId: WorkspaceId) =>
  db
    .selectFrom('automation_events')
    .select([
      'id',
      'event_id',
      'event_name',
      'email',
      'contact_id',
      'properties',
      'depth',
      'historical',
    ])
    .where('workspace_id', '=', workspaceId)
    .orderBy('email')
    .execute()

/** Records the first event alone and the others as a batch. @returns how many executions each event started, and the statements of all */
async function record(workspaceId: WorkspaceId, events: GroupedEvent[]) {
  const { db: counted, count } = countStatements(db)
  const [first, ...others] = events
  if (!first) throw new Error('no event was given')
  const alone = await createEventGroups({ ...deps, db: counted }).record(workspaceId, first, now())
  const batch = await postAutomationEvents(
    { ...deps, db: counted },
    workspaceId,
    others.map(postedOf),
  )
  const started = [alone, ...batch].map((one) => {
    if (isRefusal(one)) throw new Error(one.code)
    return one.executionIds.length
  })
  return { started, statements: count() }
}

/** Records an event of each of these names for somebody else, so that the process takes them for names that nobody awaits. */
async function showQuiet(workspaceId: WorkspaceId, events: readonly GroupedEvent[], on: Db = db) {
  const groups = createEventGroups({ ...deps, db: on })
  for (const { eventName } of events) {
    await groups.record(workspaceId, eventOf({ eventName, email: 'other@example.test' }), now())
  }
}

/** Makes a contact with an execution, which a wait belongs to. */
async function startFor(
  workspace: Awaited<ReturnType<typeof seedWorkspace>>,
  email: string,
  on: Db = db,
) {
  const begins = uniqueName('begins')
  const graph = design({ start: onEvent(begins), end: ['exit', {}] }, [['start', 'end']])
  await insertFlow(on, workspace, graph)
  const { contactId, executionIds } = await recordEvent(on, workspace.workspaceId, {
    eventName: begins,
    email,
  })
  return { contactId, executionId: executionIds[0] ?? '' }
}

/** A condition that holds for who has had such an event. */
const countOf = (event_name: string) => ({
  type: 'event_count',
  event_name,
  operator: 'gte',
  value: 1,
})

/** The `insert` of an open wait: for an event, or for any change that makes `countOf` hold. */
const insertWait = (
  workspaceId: WorkspaceId,
  { contactId, executionId }: Awaited<ReturnType<typeof startFor>>,
  such: { event_name: string } | { counts: string },
) => {
  const isWatched = 'counts' in such
  return sql`insert into event_waits (execution_id, segment, node_id, workspace_id, contact_id, event_name, watched, condition, created_at)
    values (${executionId}, 0, 'wait', ${workspaceId}, ${contactId}, ${isWatched ? null : such.event_name}, ${isWatched},
      ${isWatched ? JSON.stringify(countOf(such.counts)) : null}, now())`
}

/** What has ended the waits of a workspace, in the order of their contacts' addresses. */
const listEnds = async (workspaceId: WorkspaceId, on: Db = db) => {
  const rows = await on
    .selectFrom('event_waits')
    .innerJoin('contacts', 'contacts.id', 'event_waits.contact_id')
    .select(['email', 'consumed_by', 'ended_by'])
    .where('event_waits.workspace_id', '=', workspaceId)
    .orderBy('email')
    .execute()
  return rows.map(({ consumed_by, ended_by }) => (consumed_by ? 'event' : ended_by))
}

test.each([
  ['new contacts', false],
  ['known contacts', true],
])('an event and a batch that nobody awaits take one statement each: %s', async (_, areKnown) => {
  const { workspaceId } = await seedWorkspace(db)
  const events = [eventOf(), eventOf({ eventId: 'theirs' }), eventOf()]
  if (areKnown)
    for (const one of events)
      await recordEvent(db, workspaceId, { ...one, eventId: null, eventName: 'before' })
  await showQuiet(workspaceId, events)
  expect(await record(workspaceId, events)).toEqual({ started: [0, 0, 0], statements: 2 })
  const stored = (await listStored(workspaceId)).filter(
    (one) => one.event_name !== 'before' && one.email !== 'other@example.test',
  )
  const contacts = await db
    .selectFrom('contacts')
    .select(['id', 'email', 'event_count', 'last_event'])
    .where('workspace_id', '=', workspaceId)
    .where('email', '<>', 'other@example.test')
    .orderBy('email')
    .execute()
  expect(stored).toEqual(
    events.map(({ eventName, email, properties, eventId }, i) => ({
      id: stored[i]?.id,
      event_id: eventId ?? stored[i]?.id,
      event_name: eventName,
      email,
      contact_id: contacts[i]?.id,
      properties,
      depth: 0,
      historical: false,
    })),
  )
  expect(contacts.map(({ event_count, last_event }) => [event_count, last_event])).toEqual(
    events.map(({ eventName }) => [areKnown ? 2 : 1, eventName]),
  )
})

test('an event that a workflow begins at starts it, alone and in a batch', async () => {
  const workspace = await seedWorkspace(db)
  const events = [eventOf(), eventOf(), eventOf()]
  await showQuiet(workspace.workspaceId, events)
  for (const { eventName } of events) {
    await insertFlow(
      db,
      workspace,
      design({ start: onEvent(eventName), end: ['exit', {}] }, [['start', 'end']]),
    )
  }
  const { started } = await record(workspace.workspaceId, events)
  expect(started).toEqual([1, 1, 1])
})

test('a contact that is made starts what begins at new contacts, and a known one does not', async () => {
  const workspace = await seedWorkspace(db)
  const { workspaceId } = workspace
  const events = [eventOf(), eventOf(), eventOf()]
  const known = events.map((one) => ({ ...one, eventName: uniqueName('again') }))
  await showQuiet(workspaceId, [...events, ...known])
  const graph = design({ start: onEvent('contact.created'), end: ['exit', {}] }, [['start', 'end']])
  await insertFlow(db, workspace, graph)
  expect((await record(workspaceId, events)).started).toEqual([1, 1, 1])
  expect(await record(workspaceId, known)).toEqual({ started: [0, 0, 0], statements: 2 })
})

test.each([
  ['its event', 'event', ({ eventName }: GroupedEvent) => ({ event_name: eventName })],
  ['any change', 'condition', ({ eventName }: GroupedEvent) => ({ counts: eventName })],
] as const)('a contact that waits for %s is told, alone and in a batch', async (_, end, such) => {
  const workspace = await seedWorkspace(db)
  const { workspaceId } = workspace
  const events = [eventOf(), eventOf(), eventOf()]
  await showQuiet(workspaceId, events)
  for (const [i, one] of events.entries()) {
    const started = await startFor(workspace, one.email)
    // Of the batch one contact waits and the other does not.
    if (i !== 1) await insertWait(workspaceId, started, such(one)).execute(db)
  }
  await record(workspaceId, events)
  expect(await listEnds(workspaceId)).toEqual([end, end])
})

test.each([
  ['alone', 1],
  ['in a batch', 2],
])(
  'a name of which only contacts with large properties have had events, %s, is tried by the one statement too',
  async (_, count) => {
    const { workspaceId } = await seedWorkspace(db)
    const all = Array.from({ length: count + 2 }, () => eventOf())
    const { eventName } = all[0] ?? eventOf()
    const events = all.map((one) => ({ ...one, eventName }))
    const [first, next] = [events.slice(0, count), events.slice(count)]
    const contactProperties = { large: 'x'.repeat(30_000) }
    for (const one of events) {
      await recordEvent(db, workspaceId, { ...one, eventName: 'before', contactProperties })
    }
    const [alone] = first
    if (alone && count === 1) await createEventGroups(deps).record(workspaceId, alone, now())
    else await postAutomationEvents(deps, workspaceId, first.map(postedOf))
    expect(await tryBatch(workspaceId, next)).toEqual(['recorded', 1])
  },
)

test('a contact with large properties who waits for their event is told in a batch, and in a group in which somebody holds them', async () => {
  const workspace = await seedWorkspace(db)
  const { workspaceId } = workspace
  const events = [eventOf(), eventOf(), eventOf()]
  const [small, large, held] = events
  if (!small || !large || !held) throw new Error('no event')
  await showQuiet(workspaceId, events)
  const contactProperties = { large: 'x'.repeat(30_000) }
  for (const one of [large, held]) {
    await recordEvent(db, workspaceId, { ...one, eventName: 'before', contactProperties })
    const started = await startFor(workspace, one.email)
    await insertWait(workspaceId, started, { event_name: one.eventName }).execute(db)
  }
  const holder = await openSession(url)
  await holder.run(
    `begin; select from contacts where workspace_id = '${workspaceId}' and email = '${held.email}' for no key update`,
  )
  const posted = createEventGroups(deps).record(workspaceId, held, now())
  await postAutomationEvents(deps, workspaceId, [small, large].map(postedOf))
  expect(await listEnds(workspaceId)).toEqual(['event', null])
  await eventually(async () => expect(await holder.waiting()).toBe(1))
  await holder.run('commit')
  await posted
  expect(await listEnds(workspaceId)).toEqual(['event', 'event'])
})

test('a batch in which one contact waits for the event of another, and nobody for their own, takes one statement', async () => {
  const workspace = await seedWorkspace(db)
  const { workspaceId } = workspace
  const events = [eventOf(), eventOf()]
  const [one, other] = events
  if (!one || !other) throw new Error('no event')
  await showQuiet(workspaceId, events)
  const started = await startFor(workspace, one.email)
  await insertWait(workspaceId, started, { event_name: other.eventName }).execute(db)
  expect(await tryBatch(workspaceId, events)).toEqual(['recorded', 1])
  expect(await listEnds(workspaceId)).toEqual([null])
})

test.each([
  ['their own event', 2, 'not recorded'],
  ['the event of another', 1, 'recorded'],
] as const)(
  'in a group that passes over a contact whom somebody holds, one behind them who waits for %s',
  async (_, whose, what) => {
    const workspace = await seedWorkspace(db)
    const { workspaceId } = workspace
    const events = [eventOf(), eventOf(), eventOf()]
    const [held, , last] = events
    const eventName = events[whose]?.eventName
    if (!held || !last || !eventName) throw new Error('no event')
    await showQuiet(workspaceId, events)
    await recordEvent(db, workspaceId, { ...held, eventName: 'before' })
    const started = await startFor(workspace, last.email)
    await insertWait(workspaceId, started, { event_name: eventName }).execute(db)
    const stored = await listStored(workspaceId)
    const holder = await openSession(url)
    await holder.run(
      `begin; select from contacts where workspace_id = '${workspaceId}' and email = '${held.email}' for no key update`,
    )
    const group = events.map((event) => ({ event, now: now() }))
    const recorded = await recordUnawaited(deps, workspaceId, group, 'skip')
    await holder.run('commit')
    const written = (await listStored(workspaceId)).length - stored.length
    expect([recorded === undefined ? 'not recorded' : 'recorded', written]).toEqual([
      what,
      what === 'recorded' ? 2 : 0,
    ])
    expect(recorded?.map((one) => (one === ALONE ? null : one.email))).toEqual(
      what === 'recorded' ? [null, ...events.slice(1).map(({ email }) => email)] : undefined,
    )
    expect(await listEnds(workspaceId)).toEqual([null])
  },
)

test.each([
  ['read committed', [db, url]],
  // What the connections of the service do not take over.
  ['repeatable read', await createRepeatableRead()],
] as const)(
  'a wait that is registered while a batch waits for its contact is ended by it: %s by default',
  async (_, [db, url]) => {
    const workspace = await seedWorkspace(db)
    const { workspaceId } = workspace
    const events = [eventOf(), eventOf()]
    const [one] = events
    if (!one) throw new Error('no event')
    await showQuiet(workspaceId, events, db)
    const started = await startFor(workspace, one.email, db)
    const holder = await openSession(url)
    await holder.run(
      `begin; select from contacts where id = '${started.contactId}' for no key update`,
    )
    const posted = postAutomationEvents({ ...deps, db }, workspaceId, events.map(postedOf))
    await eventually(async () => expect(await holder.waiting()).toBe(1))
    const { sql: text, parameters } = insertWait(workspaceId, started, {
      event_name: one.eventName,
    }).compile(db)
    await holder.run(text, [...parameters])
    await holder.run('commit')
    expect((await posted).some(isRefusal)).toBe(false)
    expect(await listEnds(workspaceId, db)).toEqual(['event'])
  },
)

test('where segments are kept, contacts enter them by an event, alone and in a batch', async () => {
  const { workspaceId, begin, fill, segment, members } = await createSegmentWorld(db)
  const events = [0, 1, 2].map(() => eventOf({ eventName: 'counted' }))
  await showQuiet(workspaceId, events)
  const id = await segment(countOf('counted'))
  await begin('segment_entered', id)
  await fill()
  for (const one of events) await recordEvent(db, workspaceId, { ...one, eventName: 'before' })
  await record(workspaceId, events)
  // The three, and the contact whose event made the name a quiet one.
  expect(await members(id)).toHaveLength(4)
})

/** Tries a batch by the one statement. A statement that Postgres has undone is not counted. */
async function tryBatch(workspaceId: WorkspaceId, events: readonly GroupedEvent[]) {
  const { db: counted, count } = countStatements(db)
  const wave = events.map((event) => ({ event, now: now() }))
  const recorded = await recordUnawaited({ ...deps, db: counted }, workspaceId, wave, 'wait')
  return [recorded === undefined ? 'not recorded' : 'recorded', count()]
}
/** The same names for other contacts. */
const others = (events: readonly GroupedEvent[]) =>
  events.map(({ eventName }) => eventOf({ eventName }))

test('a batch with an event_id that was recorded before writes nothing by the one statement, which does not fail, and the next one of its names is tried so', async () => {
  const { workspaceId } = await seedWorkspace(db)
  const events = [eventOf(), eventOf({ eventId: 'theirs' })]
  const [, known] = events
  if (!known) throw new Error('no event')
  await recordEvent(db, workspaceId, known)
  await showQuiet(workspaceId, events)
  const stored = await listStored(workspaceId)
  expect(await tryBatch(workspaceId, events)).toEqual(['not recorded', 1])
  expect(await listStored(workspaceId)).toEqual(stored)
  expect(await tryBatch(workspaceId, others(events))).toEqual(['recorded', 1])
})

test('contacts with large properties cost nothing more, alone and in a batch', async () => {
  const { workspaceId } = await seedWorkspace(db)
  const events = [eventOf(), eventOf(), eventOf({ eventId: 'theirs' })]
  const large = { large: 'x'.repeat(30_000) }
  for (const one of events) {
    await recordEvent(db, workspaceId, { ...one, eventId: null, contactProperties: large })
  }
  await showQuiet(workspaceId, events)
  expect(await record(workspaceId, events)).toEqual({ started: [0, 0, 0], statements: 2 })
  const contacts = await db
    .selectFrom('contacts')
    .select(['properties', 'event_count'])
    .where('workspace_id', '=', workspaceId)
    .where('email', '<>', 'other@example.test')
    .execute()
  expect(contacts).toEqual(events.map(() => ({ properties: large, event_count: 2 })))
})

test('a batch with a contact that is changed, and begins to wait for it, at that moment is recorded and ends the wait; the next one of its names takes one statement', async () => {
  const workspace = await seedWorkspace(db)
  const { workspaceId } = workspace
  const events = [eventOf(), eventOf()]
  const [one] = events
  if (!one) throw new Error('no event')
  await showQuiet(workspaceId, events)
  const started = await startFor(workspace, one.email)
  const holder = await openSession(url)
  await holder.run(
    `begin; update contacts set event_count = event_count + 1 where id = '${started.contactId}'`,
  )
  const posted = postAutomationEvents(deps, workspaceId, events.map(postedOf))
  await eventually(async () => expect(await holder.waiting()).toBe(1))
  // The guard knows nothing of who is not written, so what they wait for is found in more steps alone.
  const { sql: text, parameters } = insertWait(workspaceId, started, {
    event_name: one.eventName,
  }).compile(db)
  await holder.run(text, [...parameters])
  await holder.run('commit')
  expect((await posted).some(isRefusal)).toBe(false)
  expect(await listEnds(workspaceId)).toEqual(['event'])
  const { event_count } = await db
    .selectFrom('contacts')
    .select('event_count')
    .where('workspace_id', '=', workspaceId)
    .where('email', '=', one.email)
    .executeTakeFirstOrThrow()
  expect(event_count).toBe(3)
  expect(await tryBatch(workspaceId, others(events))).toEqual(['recorded', 1])
})

test('a name is tried by the one statement after an event of it that nobody awaited, and not again once it was refused', async () => {
  const { workspaceId: otherId } = await seedWorkspace(db)
  const workspace = await seedWorkspace(db)
  const { workspaceId } = workspace
  const event = eventOf()
  const { eventName } = event
  const tried = async (id: WorkspaceId) => {
    const { db: counted, count } = countStatements(db)
    const group = [{ event: eventOf({ eventName }), now: now() }]
    const recorded = await recordUnawaited({ ...deps, db: counted }, id, group, 'skip')
    return [recorded === undefined ? 'not recorded' : 'recorded', count()]
  }
  const NEVER_SEEN = ['not recorded', 0]
  expect(await tried(workspaceId)).toEqual(NEVER_SEEN)
  await showQuiet(workspaceId, [event])
  expect(await tried(workspaceId)).toEqual(['recorded', 1])
  expect(await tried(otherId), 'the same name in another workspace').toEqual(NEVER_SEEN)
  const graph = design({ start: onEvent(eventName), end: ['exit', {}] }, [['start', 'end']])
  await insertFlow(db, workspace, graph)
  // A statement that Postgres has undone is not counted.
  expect(await tried(workspaceId)).toEqual(['not recorded', 0])
  await db.deleteFrom('workflow_triggers').where('workspace_id', '=', workspaceId).execute()
  await showQuiet(workspaceId, [event])
  expect(await tried(workspaceId), 'although nothing begins there any more').toEqual(NEVER_SEEN)
})

test('an event of a name at which a workflow begins does not show that nobody awaits it, also where its filter refuses', async () => {
  const workspace = await seedWorkspace(db)
  const { workspaceId } = workspace
  const event = eventOf()
  const graph = design({ start: onEvent(event.eventName), end: ['exit', {}] }, [['start', 'end']])
  await insertFlow(db, workspace, graph)
  const filter = JSON.stringify({ type: 'rule', field: 'event.order', operator: 'eq', value: 8 })
  await db
    .updateTable('workflow_triggers')
    .set({ filter })
    .where('workspace_id', '=', workspaceId)
    .execute()
  await showQuiet(workspaceId, [event])
  const { db: counted, count } = countStatements(db)
  const group = [{ event, now: now() }]
  expect(
    await recordUnawaited({ ...deps, db: counted }, workspaceId, group, 'skip'),
  ).toBeUndefined()
  expect(count()).toBe(0)
})
