// The warm-up with several lanes at once, over days and classes: no day exceeds its step by mail that waits, transactional
// mail does not wait, nothing waits past seven days, no delivery is lost.
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { dayOf, warmUpLadder } from '../../rules/mail/warmUp.ts'
import { createColdDomains, DAY_MS, HOUR_MS, type Lane, START_MS } from '../setup/coldDomains.ts'
import { createTestDatabase } from '../setup/database.ts'
import { queueDeliveries } from '../setup/queue.ts'
import { createRandom } from '../setup/random.ts'
import { bringTo } from '../setup/states.ts'

const { db } = await createTestDatabase()
const { createLane, settle, seedCold, daysOf } = createColdDomains(db)

/** What a lane does with what became due, and how it counts. */
function createDays(clock: { ms: number }, lanes: Lane[]) {
  const sent = { transactional: 0, others: 0 }
  const total = () => sent.transactional + sent.others

  async function round(limit: () => number, step: number): Promise<number> {
    // What the claim's owner does: what was put off becomes ready when its time has come.
    await sql`update deliveries set ready = true where not ready and next_at <= ${new Date(clock.ms)}`.execute(
      db,
    )
    const before = total()
    const rounds = await Promise.all(lanes.map((claim) => claim(limit())))
    let others = 0
    for (const { claimed, sent: allowed } of rounds) {
      const held = claimed.filter(({ id }) => !allowed.some((one) => one.id === id))
      expect(held.filter(({ class: place }) => place === 0)).toEqual([])
      const [expired, alive] = split(allowed, ({ expires_at }) => expires_at.getTime() <= clock.ms)
      await bringTo(db, { ids: expired.map(({ id }) => id) }, 'bounced', new Date(clock.ms))
      await settle(alive, new Date(clock.ms))
      const [transactional, waiting] = split(alive, ({ class: place }) => place === 0)
      sent.transactional += transactional.length
      others += waiting.length
    }
    sent.others += others
    if (others > 0) expect(before + others, 'the others get what is left').toBeLessThanOrEqual(step)
    return rounds.reduce((sum, { claimed }) => sum + claimed.length, 0)
  }

  return {
    sent,
    /** Claims at a time until nothing is due. */
    async empty(at_ms: number, limit: () => number, step: number): Promise<void> {
      clock.ms = at_ms
      while ((await round(limit, step)) > 0);
    },
    newDay() {
      Object.assign(sent, { transactional: 0, others: 0 })
    },
  }
}

function split<T>(all: T[], is: (one: T) => boolean): [T[], T[]] {
  return [all.filter(is), all.filter((one) => !is(one))]
}

/** What waits has no attempt and is due on the next day, but not past seven days and its own time. */
async function checkWaiting(day: number): Promise<void> {
  const waiting = await db
    .selectFrom('deliveries')
    .select(['attempt', 'slot_day', 'ready', 'next_at', 'expires_at', 'created_at', 'class'])
    .where('settled_at', 'is', null)
    .execute()
  for (const one of waiting) {
    expect([one.attempt, one.slot_day, one.ready, one.class > 0]).toEqual([0, null, false, true])
    const life_ms = one.expires_at.getTime() - one.created_at.getTime()
    expect(life_ms).toBeLessThanOrEqual(7 * DAY_MS)
    expect(one.next_at.getTime()).toBeLessThan(one.expires_at.getTime())
    const tomorrow = Date.UTC(2026, 2, 2) + (day + 1) * DAY_MS
    expect(one.next_at.getTime()).toBeLessThan(tomorrow + 3 * HOUR_MS)
    const expires = one.expires_at.getTime() - one.next_at.getTime()
    if (day === 0) expect(expires, 'waiting takes no time').toBe(DAY_MS)
    if (expires > 1) expect(one.next_at.getTime()).toBeGreaterThanOrEqual(tomorrow)
  }
}

test.each([1, 2, 3, 4])(
  'lanes at once keep to the ladder, day by day; transactional mail never waits, nothing past seven days (%i)',
  async (seed) => {
    const random = createRandom(seed)
    const ids = await seedCold()
    const clock = { ms: START_MS }
    const lanes = Array.from({ length: random.between(2, 4) }, (_, lane) => createLane(lane, clock))
    const shards = lanes.length * 16
    const arrive = async (count: number, mailClass: number) => {
      const at = new Date(clock.ms)
      const expiresAt = new Date(clock.ms + DAY_MS)
      await queueDeliveries(db, { ...ids, count, dueAt: at, expiresAt })
      await sql`update deliveries set class = ${mailClass}, shard = shard % ${shards},
          email_id = email_id || '_' || id where id > coalesce((select max(id) from deliveries), 0) - ${count}`.execute(
        db,
      )
    }
    // In some of the runs other mail of the domain uses nearly all places, so that not all finds one in seven days.
    const isStarved = seed % 2 === 0
    const backlog = isStarved ? 400 : 1_100
    const days = createDays(clock, lanes)
    const limit = () => 20 + random.between(0, 60)
    await arrive(backlog, 2)
    for (let day = 0; day < 9; day++) {
      const size = warmUpLadder[day] ?? 0
      const used = isStarved ? size - 20 : 0
      const step = size - used
      const date = dayOf(Date.UTC(2026, 2, 2) + day * DAY_MS)
      await sql`insert into domain_days values (${ids.domainId}, ${date}, ${used})`.execute(db)
      for (const hour of day === 0 ? [9, 14] : [0, 3, 12, 23]) {
        const at = Date.UTC(2026, 2, 2) + day * DAY_MS + hour * HOUR_MS
        clock.ms = at
        await arrive(random.between(1, day < 2 ? 60 : 5), 0)
        await arrive(random.between(0, 12), 1)
        await days.empty(at, limit, step)
      }
      await checkWaiting(day)
      expect(days.sent.others).toBeLessThanOrEqual(step)
      const reserved = (await daysOf(ids.domainId)).at(-1)?.reserved
      expect(reserved).toBe(used + days.sent.transactional + days.sent.others)
      days.newDay()
    }
    const { rows } = await sql<{ state: string; late: boolean; class: number }>`
      select state, class, settled_at > created_at + interval '7 days 1 hour' as late
      from deliveries`.execute(db)
    const old = rows.filter(({ late }) => late)
    expect(old.filter(({ state }) => state === 'delivered')).toEqual([])
    const ended = rows.filter(({ state }) => state === 'bounced')
    expect(ended.length > 0).toBe(isStarved)
    expect(ended.filter((one) => one.class === 0)).toEqual([])
  },
  120_000,
)
