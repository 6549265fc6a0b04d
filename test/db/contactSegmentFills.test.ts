// Filling segments beside everything else: several workers, held contacts, transactions that do not know of it, changed conditions.
// Long because all of them are met by the same contacts.
import { Kysely, PostgresDialect, sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import { deleteAudience } from '../../commands/audiences/delete.ts'
import type { CommandDeps } from '../../commands/deps.ts'
import { recordAutomationEvent } from '../../commands/events/record.ts'
import { fillNext } from '../../commands/segments/fill.ts'
import { lookAtDue } from '../../commands/segments/lookDue.ts'
import { transact } from '../../commands/transact.ts'
import { setTriggers } from '../../commands/workflows/triggers.ts'
import type { Database } from '../../db/schema.ts'
import type { Design } from '../../rules/design/types.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { createSegmentWorld, startsAt } from '../setup/contactSegments.ts'
import { createTestDatabase } from '../setup/database.ts'
import { eventually } from '../setup/eventually.ts'
import { insertFlow } from '../setup/flows.ts'
import { untilWaiting } from '../setup/lockWaits.ts'
import { insertAudience } from '../setup/schedules.ts'
import { openSession } from '../setup/session.ts'

const { db, pool, url } = await createTestDatabase()

const isEven = { type: 'rule', field: 'properties.even', operator: 'is_true' }
const CONTACTS = 450
const emailOf = (n: number) => `n${String(n).padStart(4, '0')}@example.test`
const evens = (from = 1) =>
  Array.from({ length: CONTACTS }, (_, i) => i + 1)
    .filter((n) => n >= from && n % 2 === 0)
    .map(emailOf)

/** Contacts in the order of their numbers; those of even ones say so. */
async function insertContacts(workspaceId: WorkspaceId, at: Date): Promise<void> {
  await sql`
    insert into contacts (id, workspace_id, email, properties, first_seen, last_seen, last_event, created_at,
      updated_at)
    select 'ct_' || right(${workspaceId}, 20) || lpad(n::text, 6, '0'), ${workspaceId},
      'n' || lpad(n::text, 4, '0') || '@example.test', jsonb_build_object('even', n % 2 = 0),
      ${at}::timestamptz, ${at}::timestamptz, 'e', ${at}::timestamptz, ${at}::timestamptz
    from generate_series(1, ${CONTACTS}) as n`.execute(db)
}

/** An event that makes a contact who says to be of the even ones. */
const insertSeen = (
  inTrx: Parameters<typeof recordAutomationEvent>[0],
  workspaceId: WorkspaceId,
  email: string,
) =>
  recordAutomationEvent(inTrx, workspaceId, {
    eventId: null,
    eventName: 'seen',
    email,
    properties: {},
    at: inTrx.now(),
    contactProperties: { even: true },
    createContact: true,
  })

/** A promise that the test keeps, at its end at the latest: what waits for it would hold up the tests behind. */
function gate() {
  let resolve = () => {}
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  onTestFinished(() => resolve())
  return { promise, resolve }
}

const movesOf = (workspaceId: WorkspaceId) =>
  db
    .selectFrom('automation_events')
    .select('id')
    .where('workspace_id', '=', workspaceId)
    .where('event_name', 'like', 'contact.segment_%')
    .execute()

/** Fills one page, as soon as the fence of the segment lets it: whoever holds a contact from then on is behind it. */
async function fillOnePage(deps: Parameters<typeof fillNext>[0], segmentId: string): Promise<void> {
  await eventually(async () => {
    const fill = db.updateTable('segment_fills').where('segment_id', '=', segmentId)
    await fill.set({ next_at: deps.now() }).execute()
    let pages = 0
    await fillNext(deps, () => pages++ > 0)
    const row = db.selectFrom('segment_fills').select('after_contact_id')
    const { after_contact_id } = await row
      .where('segment_id', '=', segmentId)
      .executeTakeFirstOrThrow()
    expect(after_contact_id).not.toBe('')
  })
}

test('several workers fill a segment once, silently', async () => {
  const { segment, begin, fill, members, workspaceId, deps } = await createSegmentWorld(db)
  await insertContacts(workspaceId, deps.now())
  const id = await segment(isEven)
  await begin('segment_entered', id)
  await Promise.all(Array.from({ length: 4 }, () => fillNext(deps, () => false)))
  await fill()
  expect(await members(id)).toEqual(evens())
  expect(await movesOf(workspaceId)).toEqual([])
})

test('a worker that ends in the middle leaves whole pages, and another goes on there', async () => {
  const { segment, begin, fill, members, workspaceId, deps } = await createSegmentWorld(db)
  await insertContacts(workspaceId, deps.now())
  const id = await segment(isEven)
  await begin('segment_entered', id)
  const progress = () =>
    db
      .selectFrom('segment_fills')
      .select('after_contact_id')
      .where('segment_id', '=', id)
      .executeTakeFirstOrThrow()
  while ((await progress()).after_contact_id === '') {
    await db.updateTable('segment_fills').set({ next_at: deps.now() }).execute()
    // One page, as soon as its fence lets it.
    let pages = 0
    await fillNext(deps, () => pages++ > 0)
  }
  expect(await members(id)).toEqual(evens().slice(0, 50))
  // It is the first worker's until its lease is over.
  expect(await fillNext(deps, () => false)).toBe(false)
  await fill()
  expect(await members(id)).toEqual(evens())
})

test('a condition that changes in the middle fills it anew', async () => {
  const { segment, begin, change, fill, members, workspaceId, deps } = await createSegmentWorld(db)
  await insertContacts(workspaceId, deps.now())
  const id = await segment(isEven)
  await begin('segment_entered', id)
  let pages = 0
  await fillNext(deps, () => pages++ > 1)
  await change(id, { type: 'not', rules: [isEven] })
  await fill()
  expect(await members(id)).toHaveLength(CONTACTS / 2)
  expect(await members(id)).not.toContain(emailOf(2))
  const old = db.selectFrom('segment_members').select('contact_id').where('generation', '=', 2)
  expect(await old.where('segment_id', '=', id).execute()).toEqual([])
  expect(await movesOf(workspaceId)).toEqual([])
})

test('a contact that somebody holds is waited for alone, and found as they leave it', async () => {
  const { segment, begin, fill, members, workspaceId, deps } = await createSegmentWorld(db)
  await insertContacts(workspaceId, deps.now())
  const id = await segment(isEven)
  await begin('segment_entered', id)
  await fillOnePage(deps, id)
  const held = emailOf(301)
  const holds = gate()
  const release = gate()
  const holding = db.transaction().execute(async (trx) => {
    await sql`update contacts set properties = '{"even": true}'
      where workspace_id = ${workspaceId} and email = ${held}`.execute(trx)
    holds.resolve()
    await release.promise
  })
  await holds.promise
  await db.updateTable('segment_fills').set({ next_at: deps.now() }).execute()
  const filling = fillNext(deps, () => false)
  await untilWaiting(db, 1)
  // Those before are through, and nobody else is held.
  expect((await members(id)).at(-1)).toBe(emailOf(300))
  release.resolve()
  await holding
  await filling
  await fill()
  expect(await members(id)).toEqual([...evens(), held].sort())
})

test('contacts whom somebody holds for long keep no segment of another workspace from being filled', async () => {
  const [crowded, other] = [await createSegmentWorld(db), await createSegmentWorld(db)]
  const ids: string[] = []
  for (const world of [crowded, other]) {
    await insertContacts(world.workspaceId, world.deps.now())
    const id = await world.segment(isEven)
    await world.begin('segment_entered', id)
    ids.push(id)
    await fillOnePage(world.deps, id)
  }
  await db.transaction().execute(async (trx) => {
    await sql`select from contacts where workspace_id = ${crowded.workspaceId} for update`.execute(
      trx,
    )
    const [first = '', second = ''] = ids
    for (const [n, id] of [first, second].entries()) {
      const next_at = new Date(crowded.clock.ms - 1_000 + n)
      await db.updateTable('segment_fills').set({ next_at }).where('segment_id', '=', id).execute()
    }
    for (let turn = 0; turn < 2; turn++) await fillNext(other.deps, () => false)
    expect(await other.members(second)).toEqual(evens())
  })
  await crowded.fill()
  expect(await crowded.members(ids[0] ?? '')).toEqual(evens())
})

test('a contact is found whom a transaction makes that does not know of the segment', async () => {
  const { segment, begin, fill, members, moves, patch, workspaceId, deps } =
    await createSegmentWorld(db)
  const id = await segment(isEven)
  const email = 'new@example.test'
  const made = gate()
  const release = gate()
  const making = transact(deps, async (inTrx) => {
    await insertSeen(inTrx, workspaceId, email)
    made.resolve()
    await release.promise
  })
  await made.promise
  await begin('segment_entered', id)
  for (let tries = 0; tries < 3; tries++) {
    await db.updateTable('segment_fills').set({ next_at: deps.now() }).execute()
    await fillNext(deps, () => false)
  }
  const row = db.selectFrom('segments').select('filled').where('id', '=', id)
  expect(await row.executeTakeFirst()).toEqual({ filled: false })
  release.resolve()
  await making
  await fill()
  expect(await members(id)).toEqual([email])
  await patch(email, { even: false })
  expect(await moves(email)).toEqual([`left ${id}`])
})

test('a contact is found of a transaction that has begun while the one was open that keeps the segment', async () => {
  const { segment, fill, members, workspace, workspaceId, deps } = await createSegmentWorld(db)
  const id = await segment(isEven)
  const given = startsAt('segment_entered', id)
  const workflowId = await insertFlow(db, workspace, given)
  const email = 'new@example.test'
  const made = gate()
  const release = gate()
  const making = await transact(deps, async (inTrx) => {
    await setTriggers(inTrx, { id: workflowId, workspace_id: workspaceId }, 1, given as Design)
    const later = transact(deps, async (other) => {
      await insertSeen(other, workspaceId, email)
      made.resolve()
      await release.promise
    })
    await made.promise
    // Not `later` itself, whose end this would wait for.
    return { later }
  })
  // At once: any other write would end with an id behind that of the transaction that is open.
  await fillNext(deps, () => false)
  release.resolve()
  await making.later
  await fill()
  expect(await members(id)).toEqual([email])
})

test('a transaction of another database of the cluster is not waited for', async () => {
  const other = await createTestDatabase()
  const open = await other.db.startTransaction().execute()
  onTestFinished(() => open.rollback().execute())
  await sql`select pg_current_xact_id()`.execute(open)
  const { segment, begin, members, workspaceId, deps } = await createSegmentWorld(db)
  await insertContacts(workspaceId, deps.now())
  const id = await segment(isEven)
  await begin('segment_entered', id)
  await fillNext(deps, () => false)
  expect(await members(id)).toEqual(evens())
})

test('several workers look at those who are due, each of whom moves once; a held one later', async () => {
  const { segment, begin, fill, look, moves, post, clock, workspaceId, deps } =
    await createSegmentWorld(db)
  const id = await segment({
    type: 'rule',
    field: 'properties.seen_at',
    operator: 'older_than',
    value: 60_000,
  })
  await begin('segment_entered', id)
  await fill()
  const emails = Array.from({ length: 30 }, (_, n) => emailOf(n))
  for (const email of emails)
    await post(email, 'seen', { contact_properties: { seen_at: clock.ms } })
  clock.ms += 60_001
  const held = emailOf(7)
  await db.transaction().execute(async (trx) => {
    await sql`select from contacts where workspace_id = ${workspaceId} and email = ${held} for update`.execute(
      trx,
    )
    const onError = (err: unknown) => {
      throw err
    }
    await Promise.all([lookAtDue(deps, onError), lookAtDue(deps, onError)])
  })
  const moved = async () =>
    (await Promise.all(emails.map(moves))).filter((found) => found.length === 1).length
  expect([await moved(), await moves(held)]).toEqual([29, []])
  clock.ms += 1_000
  await look()
  expect(await moved()).toBe(30)
})

test('who is deleted is forgotten', async () => {
  const { segment, begin, fill, members, workspaceId, deps } = await createSegmentWorld(db)
  await insertContacts(workspaceId, deps.now())
  const id = await segment(isEven)
  await begin('segment_entered', id)
  await fill()
  await db
    .deleteFrom('contacts')
    .where('workspace_id', '=', workspaceId)
    .where('email', '=', emailOf(2))
    .execute()
  expect(await members(id)).toEqual(evens(3))
  const rows = db.selectFrom('segment_members').select('contact_id').where('segment_id', '=', id)
  expect(await rows.execute()).toHaveLength(CONTACTS / 2 - 1)
})

test('an audience that is deleted moves silently those whose segment reads it', async () => {
  const { segment, begin, fill, members, moves, post, workspaceId, workspace, deps } =
    await createSegmentWorld(db)
  const audience_id = await insertAudience(db, workspace, 2)
  const email = 'm00001@example.test'
  await post(email, 'seen')
  const inner = await segment({ type: 'audience', audience_id, member: true })
  const id = await segment({ type: 'segment', segment_id: inner, member: true })
  await begin('segment_left', id)
  await fill()
  expect(await members(id)).toEqual([email])
  await deleteAudience(deps as unknown as CommandDeps, workspaceId, { id: audience_id })
  await fill()
  expect([await members(id), await moves(email)]).toEqual([[], []])
})

test('the last page of a fill and a change of its condition wait for each other in one order', async () => {
  const refused: string[] = []
  const watched = new Kysely<Database>({
    dialect: new PostgresDialect({ pool }),
    log(event) {
      if (event.level === 'error') refused.push(String(event.error))
    },
  })
  const { segment, begin, change, fill, post, members, deps } = await createSegmentWorld(watched)
  const email = emailOf(2)
  await post(email, 'seen', { contact_properties: { even: true } })
  const id = await segment(isEven)
  await begin('segment_entered', id)
  const holder = await openSession(url)
  await holder.run('begin; lock table segment_members in share mode')
  // It has its contact, and cannot write what it has found.
  const filling = fillNext(deps, () => false)
  await untilWaiting(db, 1)
  const changing = change(id, { type: 'not', rules: [isEven] })
  await untilWaiting(db, 2)
  await holder.run('commit')
  await Promise.all([filling, changing])
  expect(refused).toEqual([])
  await fill()
  expect(await members(id)).toEqual([])
})
