// What a lane searches for: lines beyond what it remembers, and mail of which nobody told it.
import { type Kysely, sql } from 'kysely'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { transact } from '../../commands/transact.ts'
import { claimSettings } from '../../db/deliveries/claim.ts'
import type { Database } from '../../db/schema.ts'
import { createClaims } from '../../delivery/lane/claims.ts'
import { createTestDatabase } from '../setup/database.ts'
import { eventually } from '../setup/eventually.ts'
import { allLines, queueAt } from '../setup/queue.ts'

const { db } = await createTestDatabase({ poolSize: 8, settings: claimSettings })
const NOW = new Date('2026-03-02T09:00:00Z')
const { after, claimOf } = queueAt(db, NOW)
const ALL = { from: 0, to: 64 }
const ANY = allLines(0).rooms
/** Later the search of each minute may find what was lost. */
const MINUTE_SEARCH_MS = 45_000

beforeEach(() => sql`truncate deliveries, delivery_claims`.execute(db))

/** Accepts one mail for each of so many destinations, or `each`. */
const accept = (
  workspace: string,
  lines: number,
  { on = db as Kysely<Database>, shard = 5, each = 1 } = {},
) =>
  sql`
  insert into deliveries (email_id, workspace_id, domain_id, recipient, shard, state, next_at, expires_at, created_at,
    destination)
  select gen_random_uuid(), ${workspace}, 'dom_1', 'u' || n || '@d.test', ${shard}, 'queued', ${NOW}, ${after(1e9)}, ${NOW},
    'd' || lpad(i::text, 5, '0')
  from generate_series(1, ${lines}::int) i, generate_series(1, ${each}::int) n`.execute(on)

/** A lane that searches beside its claims, as in a worker. */
function createLane(shards = ALL) {
  const over = new AbortController()
  const reads: string[] = []
  let failing: string | undefined
  let claimSent: (() => void) | undefined
  let readMay: Promise<void> | undefined
  onTestFinished(() => over.abort())
  const claims = createClaims({
    run: (work) =>
      transact.one({ db, wake: () => undefined }, (inTrx) => {
        const { db: trx } = inTrx
        const listening = new Proxy(trx, {
          get(target, name, receiver) {
            if (name !== 'executeQuery')
              return Reflect.get(target, name, receiver).bind?.(target) ?? Reflect.get(target, name)
            return async (query: { sql: string }) => {
              reads.push(query.sql)
              if (query.sql.includes('delivery_claims')) claimSent?.()
              if (query.sql.includes('with ordinality')) await readMay
              if (failing !== undefined && query.sql.includes(failing)) {
                failing = undefined
                throw new Error('the database is away')
              }
              return target.executeQuery(query as never)
            }
          },
        })
        return work(listening)
      }),
    shards,
    quietly: async (_, work) => void (await work().catch(() => undefined)),
    onFound: () => undefined,
    over: over.signal,
  })
  let claimed = 0
  const looks = () => reads.filter((text) => text.includes('pg_current_snapshot')).length
  const searches = () => reads.filter((text) => text.includes('recursive')).length
  return {
    looks,
    searches,
    lineReads: () => reads.filter((text) => text.includes('with ordinality')).length,
    /** Waits until it has searched for what its former owner may have done, so that it searches no more by itself. */
    async settled(): Promise<void> {
      await claims.begin()
      const first = searches()
      await eventually(async () => {
        await claims.claim(claimOf({ ...allLines(1, shards), now: NOW }))
        expect(searches()).toBeGreaterThan(first)
      })
    },
    /** The next statement with this text fails. */
    fail(text: string) {
      failing = text
    },
    hasFailed: () => failing === undefined,
    /** A read waits until a claim is sent. */
    holdReads() {
      readMay = new Promise((resolve, reject) => {
        claimSent = resolve
        setTimeout(() => reject(new Error('it was read before the claim was sent')), 5_000)
      })
    },
    /** Each claim is a second after the one before. @returns the destinations */
    async claim(rooms = ANY, limit = 200): Promise<string[]> {
      claimed += 1
      const asked = claimOf({
        ...allLines(limit, shards),
        rooms,
        now: after(3_600_000 + claimed * 1_000),
      })
      return (await claims.claim(asked)).deliveries.map(({ destination }) => destination)
    },
  }
}

/** Claims until so much was claimed. @returns where it went */
async function claimAll(lane: ReturnType<typeof createLane>, count: number, rooms = ANY) {
  const seen: string[] = []
  await eventually(
    async () => {
      seen.push(...(await lane.claim(rooms)))
      expect(seen.length).toBeGreaterThanOrEqual(count)
    },
    { deadline_ms: MINUTE_SEARCH_MS },
  )
  expect(seen).toHaveLength(count)
  return seen
}

test('a workspace with more lines than it has a share for comes to each of them', async () => {
  await accept('ws_1', 5_000)
  expect(new Set(await claimAll(createLane(), 5_000)).size).toBe(5_000)
})

test('a workspace with more full lines than its share comes to the one that has room', async () => {
  const lane = createLane()
  await lane.settled()
  await accept('ws_1', 1_701)
  const full = Array.from({ length: 1_700 }, (_, i) => `d${String(i + 1).padStart(5, '0')}`)
  const rooms = { known: new Map(full.map((one) => [one, 0])), other: 10 }
  expect(await claimAll(lane, 1, rooms)).toEqual(['d01701'])
  await claimAll(lane, 1_700)
})

test('a workspace with many full lines comes to the one that has room, beside one that is long', async () => {
  const lane = createLane()
  await lane.settled()
  await accept('ws_1', 1, { each: 20_000 })
  await accept('ws_1', 1_101)
  const full = Array.from({ length: 1_099 }, (_, i) => `d${String(i + 2).padStart(5, '0')}`)
  const known = new Map(full.map((one) => [one, 0]))
  const rooms = { known: known.set('d00001', 10), other: 10 }
  await eventually(async () => expect(await lane.claim(rooms)).toContain('d01101'), {
    deadline_ms: MINUTE_SEARCH_MS,
  })
})

test('a receipt behind a long campaign is found without a look at all of the campaign', async () => {
  const lane = createLane()
  await lane.settled()
  await accept('ws_1', 1, { each: 60_000 })
  await accept('ws_2', 2)
  const rooms = { known: new Map([['d00001', 2]]), other: 2 }
  const before = lane.looks()
  await eventually(async () => expect(await lane.claim(rooms, 5)).toContain('d00002'), {
    deadline_ms: MINUTE_SEARCH_MS,
  })
  expect(lane.looks() - before, 'looks, of 1,000 mails each').toBeLessThan(30)
})

test('while nothing has room nothing is forgotten', async () => {
  const lane = createLane()
  await lane.settled()
  await accept('ws_1', 1_500)
  const none = { known: new Map<string, number>(), other: 0 }
  for (let n = 0; n < 20; n++) expect(await lane.claim(none)).toEqual([])
  await claimAll(lane, 1_500)
})

test('a search through the lines of one lane ends, although those of others stand behind them', async () => {
  const lane = createLane({ from: 0, to: 32 })
  await lane.settled()
  await accept('ws_1', 1_700)
  await sql`
    insert into deliveries (email_id, workspace_id, domain_id, recipient, shard, state, next_at, expires_at, created_at, destination)
    select gen_random_uuid(), 'ws_2' || i, 'dom_1', 'u@d.test', 40, 'queued', ${NOW}, ${after(1e9)}, ${NOW}, 'd'
    from generate_series(1, 700) i`.execute(db)
  await claimAll(lane, 1_700)
  for (let n = 0; n < 300; n++) await lane.claim()
  expect(lane.searches()).toBeLessThan(60)
})

test('a line that cannot be read, and a claim that fails, lose nothing', async () => {
  const lane = createLane()
  await lane.settled()
  await accept('ws_1', 5, { each: 300 })
  // It has every other turn, and so is read while the others are not.
  await accept('ws_2', 1, { each: 900 })
  await eventually(async () => expect((await lane.claim(ANY, 10)).length).toBe(10))
  // After a look that fails it searches all lines again; after the others nothing else would find what they had taken.
  for (const text of ['pg_current_snapshot', 'with ordinality', 'delivery_claims']) {
    if (text === 'with ordinality') await lane.settled()
    lane.fail(text)
    await eventually(async () => {
      const claim = lane.claim(ANY, 35)
      if (text === 'with ordinality') await claim
      else await expect(claim).rejects.toThrow('away')
      expect(lane.hasFailed()).toBe(true)
    })
  }
  const { rows } = await sql<{ left: number }>`
    select count(*)::int as left from deliveries where state = 'queued'`.execute(db)
  await claimAll(lane, rows[0]?.left ?? Number.NaN)
})

test('what a lane reads for its next claim is read while this one is written', async () => {
  const lane = createLane()
  await lane.settled()
  await accept('ws_1', 1, { each: 900 })
  await accept('ws_2', 1, { each: 300 })
  // By turns: the line of the first workspace is read while the other has some left.
  lane.holdReads()
  const before = lane.lineReads()
  await eventually(async () => {
    await lane.claim(ANY, 50)
    expect(lane.lineReads()).toBeGreaterThan(before)
  })
})

test('what was accepted in a transaction that was open when the lane began is found when it has ended', async () => {
  const slow = await db.startTransaction().execute()
  await accept('ws_late', 3, { on: slow })
  await accept('ws_1', 5)
  const lane = createLane()
  await claimAll(lane, 5)
  await slow.commit().execute()
  await claimAll(lane, 3)
})
