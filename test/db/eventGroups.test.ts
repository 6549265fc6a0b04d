// Events that are posted at the same time: they share a commit, have the consequences that each would have after the other,
// and none waits for the contact of another.
// Long because each thing that goes alone has its own burst.

import { sql } from 'kysely'
import { expect, test } from 'vitest'
import type { GroupedEvent } from '../../commands/events/arrived.ts'
import { createEventGroups } from '../../commands/events/groups.ts'
import { postAutomationEvents } from '../../commands/events/postMany.ts'
import { EventIdRace, recordAutomationEvent } from '../../commands/events/record.ts'
import { transact } from '../../commands/transact.ts'
import type { Db } from '../../db/connect.ts'
import { inScope } from '../../db/scope.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { isRefusal } from '../../rules/refusals.ts'
import { addressMacOf } from '../setup/addressMac.ts'
import { createSegmentWorld } from '../setup/contactSegments.ts'
import { countStatements } from '../setup/countStatements.ts'
import { createTestDatabase } from '../setup/database.ts'
import {
  type BurstEvent,
  listWritten,
  makeBurst,
  seedBurstWorkspace,
} from '../setup/eventBursts.ts'
import { eventually } from '../setup/eventually.ts'
import { design, insertFlow, onEvent, recordEvent } from '../setup/flows.ts'
import { flushStatistics } from '../setup/flushStatistics.ts'
import { newId, now, seedWorkspace } from '../setup/harness.ts'
import { createRandom } from '../setup/random.ts'
import { openSession } from '../setup/session.ts'
import { uniqueName } from '../setup/unique.ts'

const POOL_SIZE = 20
const { db, url } = await createTestDatabase({ poolSize: POOL_SIZE })
const addressMac = await addressMacOf(db)
const depsOf = (handle: Db) => ({ db: handle, newId, now, addressMac, wake: () => undefined })
const deps = depsOf(db)

const eventOf = (change: Partial<GroupedEvent> = {}): GroupedEvent => ({
  eventId: null,
  eventName: 'ordered',
  email: `${uniqueName('c')}@example.test`,
  properties: {},
  at: now(),
  contactProperties: null,
  createContact: true,
  ...change,
})

/** The transactions that wrote the events of a workspace. */
async function listCommits(workspaceId: WorkspaceId): Promise<{ xmin: string; events: number }[]> {
  const { rows } = await sql<{ xmin: string; events: number }>`
    select xmin::text, count(*)::int as events from automation_events where workspace_id = ${workspaceId}
    group by xmin::text order by 2`.execute(db)
  return rows
}

/** Those of this database so far. */
async function countDeadlocks(): Promise<number> {
  await flushStatistics(db, POOL_SIZE)
  const { rows } = await sql<{ deadlocks: number }>`
    select deadlocks from pg_stat_database where datname = current_database()`.execute(db)
  return rows[0]?.deadlocks ?? 0
}

/** What an event was recorded as, without ids. */
type Outcome = { refused: string } | { email: string; executions: number; deduplicated: boolean }
type Recorded = Awaited<ReturnType<ReturnType<typeof createEventGroups>['record']>>
const outcomeOf = (recorded: Recorded): Outcome =>
  isRefusal(recorded)
    ? { refused: recorded.code }
    : {
        email: recorded.email,
        executions: recorded.executionIds.length,
        deduplicated: recorded.deduplicated,
      }

/**
 * Those that found their event_id recorded, behind the one that recorded it: that one's commit was before, though its answer may have
 * come later.
 */
function afterTheirFirst(ended: readonly [BurstEvent, Outcome][]): [BurstEvent, Outcome][] {
  const isRepeat = ([, outcome]: [BurstEvent, Outcome]) =>
    'refused' in outcome ? outcome.refused === 'event_id_reused' : outcome.deduplicated
  const repeats = ended.filter(isRepeat)
  return ended
    .filter((one) => !isRepeat(one))
    .flatMap((one) => {
      const id = one[0].event.eventId
      return [one, ...(id === null ? [] : repeats.filter(([{ event }]) => event.eventId === id))]
    })
}

/** Records an event in a transaction of its own. */
async function recordOne(workspaceId: WorkspaceId, { event, now }: BurstEvent): Promise<Recorded> {
  const recorded = await transact({ ...deps, now: () => now }, (inTrx) =>
    recordAutomationEvent(inTrx, workspaceId, event),
  )
  if (!recorded) throw new Error('a contact was not made')
  return recorded
}

test.each([1, 2, 3, 4, 5, 6])(
  'bursts of events are recorded as the same events one after the other, seed %i',
  { timeout: 180_000 },
  async (seed) => {
    const at = new Date(Date.now() - 10_000)
    const together = await seedBurstWorkspace(db, at)
    const apart = await seedBurstWorkspace(db, at)
    const random = createRandom(seed)
    const groups = createEventGroups(deps)
    for (let turn = 0; turn < 3; turn++) {
      const begin = new Date(at.getTime() + turn * 1_000)
      const made = makeBurst(random, { at: begin, count: 40, name: `s${seed}t${turn}` })
      const held = random.between(0, together.contactIds.length - 1)
      const holder = await openSession(url)
      await holder.run(
        `begin; select from contacts where id = '${together.contactIds[held]}' for update`,
      )
      const isHeld = ({ event }: BurstEvent) => event.email === `c${held}@example.test`
      const ofHeld = made.filter(isHeld)
      // One event alone waits for the held contact: of two nobody knows which is first. Its event_id is nobody else's.
      const burst = made.filter((one) => !isHeld(one) || one === ofHeld[0])
      for (const one of burst) if (isHeld(one)) one.event.eventId = null
      const ended: [BurstEvent, Outcome][] = []
      const record = (one: BurstEvent) =>
        groups
          .record(together.workspaceId, one.event, one.now)
          .then((recorded) => ended.push([one, outcomeOf(recorded)]))
      const all = burst.map((one) => ({ one, end: record(one) }))
      // While the contact is held.
      await Promise.all(all.filter(({ one }) => !isHeld(one)).map(({ end }) => end))
      expect(ended.every(([one]) => !isHeld(one))).toBe(true)
      await holder.end()
      await Promise.all(all.map(({ end }) => end))
      const after: Outcome[] = []
      const inOrder = afterTheirFirst(ended)
      for (const [one] of inOrder) after.push(outcomeOf(await recordOne(apart.workspaceId, one)))
      expect(inOrder.map(([, outcome]) => outcome)).toEqual(after)
      expect(await listWritten(db, together.workspaceId)).toEqual(
        await listWritten(db, apart.workspaceId),
      )
    }
    const commits = await listCommits(together.workspaceId)
    expect(commits.at(-1)?.events).toBeGreaterThan(3)
  },
)

test('twenty events at once take as many statements as one, and one commit', async () => {
  const workspace = await seedWorkspace(db)
  const { workspaceId } = workspace
  const graph = design({ start: onEvent('ordered'), end: ['exit', {}] }, [['start', 'end']])
  await insertFlow(db, workspace, graph)
  const asked = async (events: GroupedEvent[]) => {
    const { db: counted, count } = countStatements(db)
    const groups = createEventGroups(depsOf(counted))
    const all = await Promise.all(events.map((one) => groups.record(workspaceId, one, now())))
    for (const one of all) expect(outcomeOf(one)).toMatchObject({ executions: 1 })
    return count()
  }
  const known = eventOf()
  await recordEvent(db, workspaceId, { ...known, eventName: 'other' })
  // The first ones read the triggers: those of a new contact, and those of a known one.
  await asked([eventOf()])
  await asked([known])
  const one = await asked([eventOf()])
  // They are written, and looked for; then what concerns them, whether they may enter, and what follows.
  expect(one).toBe(5)
  expect(await asked([known, ...Array.from({ length: 19 }, () => eventOf())])).toBe(one)
  expect((await listCommits(workspaceId)).at(-1)?.events).toBe(20)
})

test('events that start executions share no commit with others, and those of one contact keep their order', async () => {
  const workspace = await seedWorkspace(db)
  const { workspaceId } = workspace
  const graph = design({ start: onEvent('ordered'), end: ['exit', {}] }, [['start', 'end']])
  await insertFlow(db, workspace, graph)
  const groups = createEventGroups(deps)
  const first = eventOf()
  await groups.record(workspaceId, first, now())
  const starting = Array.from({ length: 5 }, () => eventOf())
  const others = Array.from({ length: 5 }, () => eventOf({ eventName: 'viewed' }))
  const last = eventOf({ eventName: 'viewed', email: starting[0]?.email ?? '' })
  const posted = [...others, ...starting, last]
  await Promise.all(posted.map((one) => groups.record(workspaceId, one, now())))
  const { rows } = await sql<{ email: string; event_name: string; xmin: number }>`
    select email, event_name, xmin::text::bigint as xmin from automation_events
    where workspace_id = ${workspaceId} and email <> ${first.email}`.execute(db)
  const commitsOf = (events: GroupedEvent[]) =>
    new Set(
      events.map(
        (one) =>
          rows.find((row) => row.email === one.email && row.event_name === one.eventName)?.xmin,
      ),
    )
  expect(commitsOf(starting).size).toBe(1)
  expect(commitsOf(others).size).toBe(1)
  expect(commitsOf([...starting, ...others, last]).size).toBe(3)
  const [started, after] = [[...commitsOf(starting)][0] ?? 0, [...commitsOf([last])][0] ?? 0]
  expect(after).toBeGreaterThan(started)
})

test('a batch with a contact of large properties locks all of its contacts in their order', async () => {
  const { workspaceId } = await seedWorkspace(db)
  const large = eventOf({ contactProperties: { note: 'x'.repeat(30_000) } })
  const small = eventOf()
  for (const one of [large, small]) await recordEvent(db, workspaceId, one)
  const [holder, other] = [await openSession(url), await openSession(url)]
  const lock = ({ email }: GroupedEvent) =>
    `select from contacts where workspace_id = '${workspaceId}' and email = '${email}' for update`
  await holder.run(`begin; ${lock(large)}`)
  const inputs = [small, large].map(({ eventName, email }) => ({ event_name: eventName, email }))
  const posted = postAutomationEvents(deps, workspaceId, inputs)
  await eventually(async () => expect(await holder.waiting()).toBe(1), { deadline_ms: 60_000 })
  // It waits for the first one and has not locked the second.
  await other.run(`begin; ${lock(small)} nowait; commit`)
  await holder.run('commit')
  expect((await posted).filter((one) => !isRefusal(one))).toHaveLength(2)
  await Promise.all([holder.end(), other.end()])
})

test('a batch that waited for contacts whom somebody changed records them together, each once', async () => {
  const { workspaceId } = await seedWorkspace(db)
  const known = Array.from({ length: 20 }, () => eventOf())
  for (const one of known) await recordEvent(db, workspaceId, { ...one, eventName: 'other' })
  const holder = await openSession(url)
  const addresses = known.map(({ email }) => `'${email}'`).join(', ')
  await holder.run(`begin; update contacts set event_count = event_count + 1
    where workspace_id = '${workspaceId}' and email in (${addresses})`)
  const { db: counted, count } = countStatements(db)
  const inputs = known.map(({ eventName, email }) => ({ event_name: eventName, email }))
  const posted = postAutomationEvents(depsOf(counted), workspaceId, inputs)
  await eventually(async () => expect(await holder.waiting()).toBe(1), { deadline_ms: 60_000 })
  await holder.run('commit')
  expect((await posted).filter((one) => !isRefusal(one))).toHaveLength(20)
  expect(count()).toBeLessThan(12)
  const contacts = await db
    .selectFrom('contacts')
    .select('event_count')
    .where('workspace_id', '=', workspaceId)
    .execute()
  expect(contacts.map(({ event_count }) => event_count)).toEqual(known.map(() => 3))
  expect((await listCommits(workspaceId)).at(-1)?.events).toBe(20)
})

test('a batch that waited for a contact who was deleted makes a new one for the event', async () => {
  const { workspaceId } = await seedWorkspace(db)
  const known = Array.from({ length: 5 }, () => eventOf())
  for (const one of known) await recordEvent(db, workspaceId, { ...one, eventName: 'other' })
  const holder = await openSession(url)
  await holder.run(
    `begin; delete from contacts where workspace_id = '${workspaceId}' and email = '${known[2]?.email}'`,
  )
  const inputs = known.map(({ eventName, email }) => ({ event_name: eventName, email }))
  const posted = postAutomationEvents(deps, workspaceId, inputs)
  await eventually(async () => expect(await holder.waiting()).toBe(1), { deadline_ms: 60_000 })
  await holder.run('commit')
  expect((await posted).filter((one) => !isRefusal(one))).toHaveLength(5)
  const { rows } = await sql<{ email: string; event_count: number; events: number }>`
    select c.email, c.event_count, (select count(*) from automation_events e where e.contact_id = c.id) as events
    from contacts c where c.workspace_id = ${workspaceId}`.execute(db)
  expect(rows).toHaveLength(5)
  for (const { email, event_count, events } of rows) {
    const count = email === known[2]?.email ? 1 : 2
    expect([email, event_count, events]).toEqual([email, count, count])
  }
})

test('batches of the same contacts in different orders wait for each other and do not deadlock', async () => {
  const { workspaceId } = await seedWorkspace(db)
  const known = Array.from({ length: 60 }, () => eventOf())
  for (const one of known) await recordEvent(db, workspaceId, { ...one, eventName: 'other' })
  const random = createRandom(1)
  const batches = Array.from({ length: 40 }, () =>
    known
      .map(({ eventName, email }) => ({
        event_name: eventName,
        email,
        order: random.between(0, 1_000),
      }))
      .sort((a, b) => a.order - b.order)
      .map(({ event_name, email }) => ({ event_name, email })),
  )
  const before = await countDeadlocks()
  const posted = await Promise.all(
    batches.map((inputs) => postAutomationEvents(deps, workspaceId, inputs)),
  )
  for (const one of posted.flat()) expect(isRefusal(one)).toBe(false)
  const contacts = await db
    .selectFrom('contacts')
    .select('event_count')
    .where('workspace_id', '=', workspaceId)
    .execute()
  expect(contacts.map(({ event_count }) => event_count)).toEqual(known.map(() => 41))
  expect(await countDeadlocks()).toBe(before)
})

test('twenty events of contacts who are looked at for a segment take as many statements as one', async () => {
  const { begin, fill, segment, workspaceId, members } = await createSegmentWorld(db)
  const isPro = { type: 'rule', field: 'properties.plan', operator: 'eq', value: 'pro' }
  const id = await segment({ type: 'or', rules: [isPro, { ...isPro, value: 'max' }] })
  await begin('segment_left', id)
  await fill()
  const asked = async (events: GroupedEvent[]) => {
    const { db: counted, count } = countStatements(db)
    const groups = createEventGroups(depsOf(counted))
    await Promise.all(events.map((one) => groups.record(workspaceId, one, now())))
    return count()
  }
  const some = (count: number, plan: string) =>
    Array.from({ length: count }, () => eventOf({ contactProperties: { plan } }))
  const inside = some(20, 'pro')
  for (const one of inside) await recordEvent(db, workspaceId, one)
  const stay = inside.map((one) => ({ ...one, contactProperties: { plan: 'max' } }))
  await asked(some(1, 'free'))
  const [first, ...others] = stay
  if (!first) throw new Error('nobody is inside')
  const one = await asked([first])
  expect(await asked(others)).toBe(one)
  expect(await members(id)).toHaveLength(20)
})

test('events of one contact, and those of one event_id, come into different groups in their order', async () => {
  const { workspaceId } = await seedWorkspace(db)
  const groups = createEventGroups(deps)
  const email = `${uniqueName('c')}@example.test`
  const events = [
    ...[1, 2, 3].map((step) => eventOf({ email, contactProperties: { step } })),
    ...[1, 2, 3].map(() => eventOf({ eventId: 'theirs' })),
    eventOf(),
  ]
  const recorded = await Promise.all(events.map((one) => groups.record(workspaceId, one, now())))
  const same = { refused: 'event_id_reused' }
  expect(recorded.map(outcomeOf).slice(3, 6)).toEqual([
    expect.objectContaining({ deduplicated: false }),
    same,
    same,
  ])
  const contact = await db
    .selectFrom('contacts')
    .select(['properties', 'event_count'])
    .where('workspace_id', '=', workspaceId)
    .where('email', '=', email)
    .executeTakeFirstOrThrow()
  expect(contact).toEqual({ properties: { step: 3 }, event_count: 3 })
  expect((await listCommits(workspaceId)).map(({ events }) => events)).toEqual([1, 1, 3])
})

test('an event whose contact is being made elsewhere, or whose event_id is recorded there, takes no other with it', {
  timeout: 90_000,
}, async () => {
  const { workspaceId } = await seedWorkspace(db)
  const groups = createEventGroups(deps)
  const [made, known] = [eventOf(), eventOf({ eventId: 'raced' })]
  const holder = await openSession(url)
  await holder.run(`begin; insert into contacts (id, workspace_id, email, first_seen, last_seen, last_event, created_at,
      updated_at) values ('con_held', '${workspaceId}', '${made.email}', now(), now(), 'x', now(), now());
    insert into automation_events (id, workspace_id, contact_id, event_id, event_name, email, at, created_at)
      values ('evt_raced', '${workspaceId}', 'con_held', 'raced', 'ordered', '${known.email}', now(), now())`)
  const slow = [made, known].map((one) => groups.record(workspaceId, one, now()))
  const others = Array.from({ length: 5 }, () => groups.record(workspaceId, eventOf(), now()))
  for (const one of await Promise.all(others)) expect(outcomeOf(one)).toHaveProperty('email')
  await eventually(async () => expect(await holder.waiting()).toBe(2), { deadline_ms: 60_000 })
  await holder.run('commit')
  expect((await Promise.all(slow)).map(outcomeOf)).toEqual([
    { email: made.email, executions: 0, deduplicated: false },
    { email: known.email, executions: 0, deduplicated: true },
  ])
})

test('one whose properties would be too large is refused, and the others of its group are recorded', async () => {
  const { workspaceId } = await seedWorkspace(db)
  const groups = createEventGroups(deps)
  const email = `${uniqueName('c')}@example.test`
  const large = (key: string) => ({ [key]: 'x'.repeat(15_000) })
  for (let n = 0; n < 17; n++) {
    await recordEvent(db, workspaceId, {
      eventName: 'grew',
      email,
      contactProperties: large(`k${n}`),
    })
  }
  const all = await Promise.all(
    [
      eventOf({ email, contactProperties: large('more') }),
      eventOf(),
      eventOf({ contactProperties: { a: 1 } }),
    ].map((one) => groups.record(workspaceId, one, now())),
  )
  expect(all.map(outcomeOf)).toEqual([
    { refused: 'contact_properties_refused' },
    expect.objectContaining({ deduplicated: false }),
    expect.objectContaining({ deduplicated: false }),
  ])
})

test('one that Postgres refuses takes no other with it, and gets its own fault', async () => {
  const { workspaceId } = await seedWorkspace(db)
  const groups = createEventGroups(deps)
  const events = [eventOf(), eventOf({ properties: { a: 'a\u0000b' } }), eventOf()]
  const ends = await Promise.allSettled(events.map((one) => groups.record(workspaceId, one, now())))
  expect(ends.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  expect(ends[1]).toMatchObject({ reason: { code: '22P05' } })
  expect((await listCommits(workspaceId)).map(({ events }) => events)).toEqual([1, 1])
})

test('who goes away while a group waits is left out of it', { timeout: 90_000 }, async () => {
  const { workspaceId } = await seedWorkspace(db)
  const groups = createEventGroups(deps)
  const holder = await openSession(url)
  await holder.run('begin; lock table automation_events in exclusive mode')
  const first = groups.record(workspaceId, eventOf(), now())
  await eventually(async () => expect(await holder.waiting()).toBe(1), { deadline_ms: 60_000 })
  const gone = new AbortController()
  const scope = { owner: { kind: 'workspace', workspaceId }, signal: gone.signal } as const
  const left = inScope(scope, () => groups.record(workspaceId, eventOf(), now()))
  const leaving = expect(left).rejects.toThrow('went away')
  const stays = groups.record(workspaceId, eventOf(), now())
  gone.abort()
  await holder.end()
  await Promise.all([first, stays, leaving])
  const commits = await listCommits(workspaceId)
  expect(commits.map(({ events }) => events).reduce((sum, count) => sum + count)).toBe(2)
})

test('an event_id that somebody else records at the same moment is not recorded twice', async () => {
  const { workspaceId } = await seedWorkspace(db)
  const event = eventOf({ eventId: 'mine' })
  const processes = Array.from({ length: 4 }, () => createEventGroups(deps))
  const recorded = await Promise.all(
    processes.map((groups) => groups.record(workspaceId, event, now())),
  )
  expect(recorded.map(outcomeOf).filter((one) => 'email' in one && !one.deduplicated)).toHaveLength(
    1,
  )
  expect(new Set(recorded.map((one) => (isRefusal(one) ? '' : one.id)))).toHaveProperty('size', 1)
  expect(recorded).not.toContainEqual(expect.any(EventIdRace))
})
