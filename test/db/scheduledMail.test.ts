// Scheduled mail when its time comes: ready once with its events, claimed as other mail is, and never both sent and cancelled.
import { sql } from 'kysely'
import { beforeEach, describe, expect, test } from 'vitest'
import { cancelEmail, rescheduleEmail } from '../../commands/emails/scheduled.ts'
import type { Trx } from '../../db/connect.ts'
import { listQueueDepths } from '../../db/deliveries/queueDepth.ts'
import { stopWaiting } from '../../db/deliveries/stop.ts'
import { hastenUntried } from '../../db/domains/warmUp.ts'
import { listEmailCategories, listEmailContents } from '../../db/emails/contents.ts'
import { movedExpiry } from '../../rules/mail/expiry.ts'
import { wholeWorkspace } from '../../rules/reach.ts'
import { isRefusal, type Refusal } from '../../rules/refusals.ts'
import { createRandom } from '../setup/random.ts'
import { createScheduledApi } from '../setup/scheduledMail.ts'

const { api, clock, domainId, address, schedule, move, cancel, statusesOf, ready, claim } =
  await createScheduledApi()
const { db, workspaceId } = api
const trx = db as unknown as Trx
const [DAY_MS, YEAR_MS] = [86_400_000, 365 * 86_400_000]

beforeEach(async () => {
  await sql`truncate deliveries, emails, email_events, outbox, suppressions`.execute(db)
})

const rowOf = (id: string) =>
  db.selectFrom('deliveries').selectAll().where('email_id', '=', id).executeTakeFirstOrThrow()

describe('when it is due', () => {
  test('it is claimed then, and not a millisecond before', async () => {
    const { id, scheduled_at } = await schedule(3 * YEAR_MS)
    clock.ms = scheduled_at - 1
    await ready()
    expect(await claim()).toEqual([])
    expect(await statusesOf(id)).toEqual([['scheduled']])
    clock.ms = scheduled_at
    await ready()
    expect((await claim()).map(({ email_id }) => email_id)).toEqual([id])
    expect(await statusesOf(id)).toEqual([['sent']])
  })

  test('its life counts from then: expiry, date and processing time', async () => {
    const { id, scheduled_at } = await schedule(3 * YEAR_MS)
    clock.ms = scheduled_at + 5_000
    await ready()
    const [claimed] = await claim()
    if (!claimed) throw new Error('nothing was claimed')
    expect(claimed.created_at.getTime()).toBe(scheduled_at)
    expect(claimed.expires_at.getTime()).toBe(clock.ms + DAY_MS)
    // Mail that is kept waiting moves on from then too.
    expect(movedExpiry(claimed, 2 * DAY_MS).getTime()).toBe(clock.ms + 3 * DAY_MS)
    const [content] = await listEmailContents(db, [id])
    expect(content?.created_at.getTime()).toBe(scheduled_at)
    const acceptedAt = (await listEmailCategories(db, [id])).get(id)?.acceptedAt
    expect(acceptedAt).toBe(scheduled_at)
  })

  test('that nobody made it ready for two days costs it none of its tries', async () => {
    const { id, scheduled_at } = await schedule(YEAR_MS)
    clock.ms = scheduled_at + 2 * DAY_MS
    await ready()
    const [claimed] = await claim()
    expect(claimed?.email_id).toBe(id)
    expect(claimed?.expires_at.getTime()).toBe(clock.ms + DAY_MS)
    expect(await statusesOf(id)).toEqual([['sent']])
  })

  test('moved, it expires a day after the new time', async () => {
    const { id } = await schedule(YEAR_MS)
    const at = clock.ms + 2 * YEAR_MS
    await move(id, at)
    const row = await rowOf(id)
    expect([row.next_at, row.due_at, row.expires_at].map((one) => one?.getTime())).toEqual([
      at,
      at,
      at + DAY_MS,
    ])
    await move(id, clock.ms)
    expect((await rowOf(id)).expires_at.getTime()).toBe(clock.ms + DAY_MS)
    await ready()
    expect((await claim()).map(({ email_id }) => email_id)).toEqual([id])
  })

  test('a contact hears of it then, once', async () => {
    const email = address()
    await api.request('POST', '/v1/automation/events', { event_name: 'seen', email })
    const heard = async () => {
      const rows = await db
        .selectFrom('outbox')
        .select('payload')
        .where('kind', '=', 'mail_event')
        .execute()
      return rows.map(({ payload }) => [payload['name'], payload['data']])
    }
    const { scheduled_at } = await schedule(DAY_MS, email)
    expect(await heard()).toEqual([])
    clock.ms = scheduled_at
    expect(await ready()).toMatchObject({ count: 1, told: true })
    expect(await ready()).toMatchObject({ count: 0, told: false })
    expect(await heard()).toEqual([['sent', { recipient: email }]])
  })

  test('who is suppressed meanwhile gets none, and who is no more gets it', async () => {
    const [now, later] = [address(), address()]
    await api.request('POST', '/v1/suppressions', { email: now })
    const first = await schedule(DAY_MS, now)
    const second = await schedule(DAY_MS, later)
    await api.request('DELETE', `/v1/suppressions/${now}`)
    await api.request('POST', '/v1/suppressions', { email: later })
    expect(await statusesOf(second.id)).toEqual([['scheduled']])
    clock.ms += DAY_MS
    await ready()
    expect((await claim()).map(({ email_id }) => email_id)).toEqual([first.id])
    expect(await statusesOf(second.id)).toEqual([['sent', 'bounced']])
  })
})

test('before, nothing that hastens, stops or counts waiting mail touches it', async () => {
  const to = address()
  const { id, scheduled_at } = await schedule(DAY_MS, to)
  const { shard } = await rowOf(id)
  const now = new Date(clock.ms)
  expect(await hastenUntried(trx, workspaceId, { domainId, shard, now, limit: 9 })).toBe(0)
  expect(await stopWaiting(trx, workspaceId, { emails: [to] }, 'suppressed', now)).toBe(0)
  expect(await listQueueDepths(db, now)).toEqual([])
  expect(await statusesOf(id)).toEqual([['scheduled']])
  // One that nobody makes ready, since no worker is there, is late and seen.
  const late = new Date(scheduled_at + 7_000)
  expect(await listQueueDepths(db, late)).toMatchObject([{ count: 1, oldest_s: 7 }])
})

describe('where one of two recipients was settled before', () => {
  const settleOne = async (id: string) => {
    await sql`update deliveries set state = 'suppressed', settled_at = now()
      where id = (select min(id) from deliveries where email_id = ${id})`.execute(db)
  }
  const statesOf = async (id: string) => {
    const rows = await db
      .selectFrom('deliveries')
      .select(['state', 'ready'])
      .where('email_id', '=', id)
      .orderBy('id')
      .execute()
    return rows.map(({ state, ready: isReady }) => `${state} ${isReady}`)
  }

  test('the mail of the other one is moved and cancelled, and the settled one stays', async () => {
    const { id } = await schedule(DAY_MS, [address(), address()])
    await settleOne(id)
    expect((await move(id, clock.ms + 2 * DAY_MS)).body).toMatchObject({ status: 'scheduled' })
    expect((await cancel(id)).body).toMatchObject({ status: 'cancelled' })
    expect(await statesOf(id)).toEqual(['suppressed false', 'cancelled false'])
    const { emails } = (
      await api.request<{ emails: object[] }>('GET', '/v1/emails?status=scheduled')
    ).body
    expect(emails).toEqual([])
  })

  test('moved to now, it goes to the other one alone', async () => {
    const { id } = await schedule(DAY_MS, [address(), address()])
    await settleOne(id)
    expect((await move(id, clock.ms)).body).toMatchObject({ status: 'queued' })
    await ready()
    expect(await statesOf(id)).toEqual(['suppressed false', 'queued true'])
  })
})

test('workers that know no scheduled mail neither make it ready nor hasten it', async () => {
  const { id, scheduled_at } = await schedule(DAY_MS)
  await sql`update deliveries set ready = true where email_id = ${id}`.execute(db)
  await sql`update deliveries set next_at = now(), ready = true where email_id = ${id}`.execute(db)
  await sql`update deliveries set next_at = now() where email_id = ${id}`.execute(db)
  const row = await rowOf(id)
  expect([row.ready, row.next_at?.getTime()]).toEqual([false, scheduled_at])
  clock.ms = scheduled_at
  await ready()
  expect(await statusesOf(id)).toEqual([['sent']])
})

test('an index of the lines holds none of it', async () => {
  await schedule(DAY_MS)
  const { rows } = await sql<{ ready: boolean }>`select ready from deliveries`.execute(db)
  expect(rows).toEqual([{ ready: false }])
})

/** What was done, or `refused`. */
const named = (name: string) => (answer: { id: string } | Refusal) =>
  isRefusal(answer) ? 'refused' : name

test('moved, cancelled and due at once: one of them wins, for all recipients alike', {
  timeout: 300_000,
}, async () => {
  const random = createRandom(20_261_123)
  const outcomes = new Set<string>()
  for (let round = 0; round < 40; round++) {
    const { id, scheduled_at } = await schedule(DAY_MS, [address(), address()])
    const at = scheduled_at + YEAR_MS
    clock.ms = scheduled_at
    const reach = wholeWorkspace(workspaceId)
    const acts = [
      () => rescheduleEmail(api.deps, reach, { id, asked: at }).then(named('moved')),
      () => cancelEmail(api.deps, reach, id).then(named('cancelled')),
      ...[1, 2, 3].map(() => () => ready(1).then(() => 'ready')),
    ]
    const done = await Promise.all(
      acts.map(async (act) => {
        // Each begins some round trips after the others.
        const trips = Math.floor(random.next() * 6)
        for (let n = 0; n < trips; n++) await sql`select 1`.execute(db)
        return act()
      }),
    )
    await ready()
    const won = done.filter((one) => one === 'moved' || one === 'cancelled')
    const shown = JSON.stringify(await statusesOf(id))
    const expected = won.includes('cancelled')
      ? [['bounced'], ['bounced']]
      : won.includes('moved')
        ? [['scheduled'], ['scheduled']]
        : [['sent'], ['sent']]
    expect([won, shown]).toEqual([won, JSON.stringify(expected)])
    // Cancelled after it was moved is both; sent excludes them.
    const claimed = (await claim()).filter(({ email_id }) => email_id === id)
    expect(claimed).toHaveLength(won.length === 0 ? 2 : 0)
    outcomes.add(won.join())
  }
  expect(outcomes.size).toBeGreaterThan(1)
})

test('two workers that make the same mail ready write its events once', async () => {
  const { id, scheduled_at } = await schedule(
    DAY_MS,
    Array.from({ length: 50 }, () => address()),
  )
  clock.ms = scheduled_at
  await Promise.all(Array.from({ length: 6 }, () => ready(7)))
  for (let more = true; more; ) more = (await ready(7)).count > 0
  expect(await statusesOf(id)).toEqual(Array.from({ length: 50 }, () => ['sent']))
  expect(await claim()).toHaveLength(50)
})
