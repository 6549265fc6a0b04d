// What is kept of the domains of recipients: written once a day at most while it is used, deleted when it was not for long.
import { sql } from 'kysely'
import { beforeEach, expect, test } from 'vitest'
import { transact } from '../../commands/transact.ts'
import { learnDestination } from '../../db/recipient-domains/destinations.ts'
import { createDestinations } from '../../delivery/lane/destinations.ts'
import { createForgetting } from '../../delivery/unusedDomains.ts'
import { createLog } from '../../runtime/log.ts'
import { createTestDatabase } from '../setup/database.ts'
import { eventually } from '../setup/eventually.ts'

const { db } = await createTestDatabase()
const DAY_MS = 24 * 3_600_000
const START_MS = Date.UTC(2026, 2, 2, 9)
const clock = { ms: START_MS }
const log = createLog('lane', 'silent')
const deps = { db, now: () => new Date(clock.ms), wake: () => undefined }
const daysAgo = (days: number) => new Date(START_MS - days * DAY_MS)

beforeEach(async () => {
  clock.ms = START_MS
  await sql`truncate recipient_domains`.execute(db)
})

const learn = (domain: string, destination: string) =>
  transact.one(deps, (open) =>
    learnDestination(open.db, { domain, destination, shard: 7 }, deps.now()),
  )

const rows = () => db.selectFrom('recipient_domains').selectAll().orderBy('domain').execute()

test('a destination is written when it changes, and once a day while it is used', async () => {
  const written: Date[] = []
  for (const [hours, destination] of [
    [0, 'google'],
    [23, 'google'],
    [24, 'google'],
    [25, 'google'],
    [26, 'microsoft'],
    [49, 'microsoft'],
    [50, 'microsoft'],
  ] as const) {
    clock.ms = START_MS + hours * 3_600_000
    await learn('a.test', destination)
    const [row] = await rows()
    if (row) written.push(row.looked_up_at)
  }
  const hours = written.map((at) => (at.getTime() - START_MS) / 3_600_000)
  expect(hours).toEqual([0, 0, 24, 24, 26, 26, 50])
})

test('a destination that could not be stored is tried again', async () => {
  await sql`create sequence faults`.execute(db)
  await sql`
    create function fail_first() returns trigger language plpgsql as $$ begin
      if nextval('faults') <= 3 then
        raise exception 'canceling statement due to statement timeout' using errcode = '57014';
      end if;
      return new;
    end $$`.execute(db)
  await sql`create trigger fail_first before insert on recipient_domains
    for each row execute function fail_first()`.execute(db)
  try {
    const tell = createDestinations({ ...deps, log }, { again_ms: 1 })
    expect(tell('a.test', 'google')).toBe(true)
    await eventually(async () => expect(await rows()).toMatchObject([{ destination: 'google' }]))
  } finally {
    await sql`drop function fail_first cascade`.execute(db)
  }
})

test('destinations beyond those that may wait are not taken', async () => {
  const tell = createDestinations({ ...deps, log }, { waitingMax: 3 })
  const names = Array.from({ length: 10 }, (_, i) => `d${i}.test`)
  // The first one is being stored and waits no longer.
  const taken = names.filter((name) => tell(name, name))
  expect(taken).toEqual(names.slice(0, 4))
  await eventually(async () => expect((await rows()).map(({ domain }) => domain)).toEqual(taken))
})

test('who has a destination exists', async () => {
  await learn('a.test', 'google')
  await db
    .updateTable('recipient_domains')
    .set({ nx_since: daysAgo(2) })
    .execute()
  clock.ms += 60_000
  expect(await learn('a.test', 'google')).toBe('google')
  expect(await rows()).toMatchObject([{ nx_since: null, looked_up_at: new Date(clock.ms) }])
})

test('what was not used for long is deleted, page by page, and begins again at the end', async () => {
  const given = [
    ['a.test', 'google', 89],
    ['b.test', 'google', 91],
    ['c.test', null, 29],
    ['d.test', null, 31],
    ['e.test', 'google', 500],
    ['f.test', 'google', 0],
  ] as const
  const insert = () =>
    db
      .insertInto('recipient_domains')
      .values(
        given.map(([domain, destination, days]) => ({
          domain,
          destination,
          shard: destination === null ? null : 7,
          nx_since: destination === null ? daysAgo(days) : null,
          looked_up_at: daysAgo(days),
        })),
      )
      .onConflict((oc) => oc.doNothing())
      .execute()
  const left = async () => (await rows()).map(({ domain }) => domain[0]).join('')
  await insert()
  const forget = createForgetting(deps, 4)
  expect(await forget()).toBe(2)
  expect(await left()).toBe('acef')
  expect(await forget()).toBe(1)
  expect(await left()).toBe('acf')
  await insert()
  expect(await forget()).toBe(2)
  expect(await left()).toBe('acef')
})

test('what is in use at this moment is not waited for, and stays', async () => {
  await db
    .insertInto('recipient_domains')
    .values({
      domain: 'a.test',
      destination: 'google',
      shard: 7,
      nx_since: null,
      looked_up_at: daysAgo(99),
    })
    .execute()
  await db.transaction().execute(async (trx) => {
    await sql`select from recipient_domains for update`.execute(trx)
    expect(await createForgetting(deps)()).toBe(0)
  })
  expect(await createForgetting(deps)()).toBe(1)
})
