// What an endpoint answers counts in the epoch in which it was asked: the old URL disables nothing, and keeps nothing from the new one.
// Nor does a try count that was under way when its delivery was asked for again.
import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { transact } from '../../commands/transact.ts'
import { takeWebhooks } from '../../db/webhooks/lanes.ts'
import { type SettledTry, settleWebhooks } from '../../db/webhooks/settle.ts'
import { toShownId } from '../../rules/webhooks/ids.ts'
import { createTestApi } from '../setup/api.ts'

const api = await createTestApi()
const { db, deps, workspaceId } = api
const [OLD, NEW] = [5, 6]

/** A webhook that was taken anew after a change of its URL, with two deliveries that wait. */
async function makeWebhook() {
  const { body } = await api.request<{ id: string }>('POST', '/v1/webhooks', {
    url: 'https://hooks.example.test/in',
    events: ['broadcast.started'],
  })
  await sql`update webhooks set epoch = ${NEW} where id = ${body.id}`.execute(db)
  const { rows } = await sql<{ id: string }>`
    with event as (
      insert into webhook_events (id, workspace_id, type, at, data)
      select webhook_id(), ${workspaceId}, 'webhook.test', now(), '{}' from generate_series(1, 2) returning id
    )
    insert into webhook_deliveries (id, webhook_id, event_id, workspace_id, next_at, created_at)
    select webhook_id(), ${body.id}, id, ${workspaceId}, now(), now() from event returning id`.execute(
    db,
  )
  const [first = '', second = ''] = rows.map(({ id }) => id)
  return { id: body.id, first, second }
}

type Answered = Pick<SettledTry, 'id' | 'webhook_id' | 'epoch'> & Partial<SettledTry>
const succeeded = (one: Answered): SettledTry => {
  const answer = { response_status: 200, response_ms: 5, is_gone: false }
  return { before: 0, ...one, ...answer, state: 'succeeded', after_ms: null }
}
const gone = (one: Answered): SettledTry => {
  const answer = { response_status: 410, response_ms: 5, is_gone: true }
  return { before: 0, ...one, ...answer, state: 'failed', after_ms: null }
}
const settle = (...tries: SettledTry[]) =>
  transact(deps, ({ db: trx }) => settleWebhooks(trx, tries))
const stateOf = async (id: string) =>
  (await db.selectFrom('webhook_deliveries').select('state').where('id', '=', id).execute())[0]
    ?.state
const webhook = (id: string) =>
  db
    .selectFrom('webhooks')
    .select(['status', 'disabled_reason', 'failures', 'succeeded_at'])
    .where('id', '=', id)
    .executeTakeFirstOrThrow()

it.each([
  ['first', false],
  ['last', true],
])('a 410 of the old URL that comes %s of those that are written together', async (_, isLast) => {
  const { id, first, second } = await makeWebhook()
  const late = gone({ id: first, webhook_id: id, epoch: OLD })
  const here = succeeded({ id: second, webhook_id: id, epoch: NEW })
  expect(await settle(...(isLast ? [here, late] : [late, here]))).toEqual([])
  expect(await webhook(id)).toEqual({
    status: 'enabled',
    disabled_reason: null,
    failures: 0,
    succeeded_at: expect.any(Date),
  })
  expect([await stateOf(first), await stateOf(second)]).toEqual(['pending', 'succeeded'])
})

it.each([
  ['first', false],
  ['last', true],
])('what the old URL took, %s of those that are written together', async (_, isLast) => {
  const { id, first, second } = await makeWebhook()
  const late = succeeded({ id: first, webhook_id: id, epoch: OLD })
  const here = succeeded({ id: second, webhook_id: id, epoch: NEW })
  await settle(...(isLast ? [here, late] : [late, here]))
  expect([await stateOf(first), await stateOf(second)]).toEqual(['pending', 'succeeded'])
})

it('a delivery that both were asked with counts as the new one has answered', async () => {
  const { id, first } = await makeWebhook()
  const of = { id: first, webhook_id: id }
  await settle(gone({ ...of, epoch: OLD }), succeeded({ ...of, epoch: NEW }))
  expect([await stateOf(first), (await webhook(id)).status]).toEqual(['succeeded', 'enabled'])
})

it.each([
  ['was its last', 7, { state: 'failed', after_ms: null }],
  ['is followed by a long pause', 6, { state: 'pending', after_ms: 36_000_000 }],
] as const)(
  'a replay is due at once although a try was under way that %s',
  async (_, before, how) => {
    const { id, first } = await makeWebhook()
    await sql`update webhook_deliveries set attempts = ${before} where id = ${first}::uuid`.execute(
      db,
    )
    const path = `/v1/webhooks/${id}/deliveries/${toShownId('webhookDelivery', first)}/replay`
    expect((await api.request('POST', path)).status).toBe(202)
    const answer = { response_status: 503, response_ms: 5, is_gone: false }
    await settle({ id: first, webhook_id: id, epoch: NEW, before, ...answer, ...how })
    const { rows } = await sql<{ state: string; attempts: number; is_due: boolean }>`
    select state, attempts, next_at <= now() as is_due from webhook_deliveries where id = ${first}::uuid`.execute(
      db,
    )
    expect(rows).toEqual([{ state: 'pending', attempts: 0, is_due: true }])
  },
)

it('the URL that it has takes neither failures, nor its rest, nor what a worker has under way', async () => {
  const { id } = await makeWebhook()
  await sql`update webhooks set failures = 60, failing_since = now() - interval '1 day', succeeded_at = now(),
    rests_until = now() + interval '5 minutes', leased_until = now() + interval '1 minute' where id = ${id}`.execute(
    db,
  )
  const row = async () => {
    const { rows } = await sql<object>`
      select epoch, failures, failing_since, rests_until, succeeded_at, leased_until from webhooks where id = ${id}`.execute(
      db,
    )
    return rows[0]
  }
  const before = await row()
  const change = { url: 'https://hooks.example.test/in', description: 'shown' }
  expect((await api.request('PATCH', `/v1/webhooks/${id}`, change)).status).toBe(200)
  expect(await row()).toEqual(before)
})

it('a new URL is not disabled, and does not rest, for how long the old one had failed', async () => {
  const { id, first, second } = await makeWebhook()
  await sql`update webhooks set failures = 60, failing_since = now() - interval '4 days 23 hours',
    rests_until = now() + interval '5 minutes' where id = ${id}`.execute(db)
  const url = 'https://hooks.example.test/new'
  expect((await api.request('PATCH', `/v1/webhooks/${id}`, { url })).status).toBe(200)
  const { epoch, rests_until } = await db
    .selectFrom('webhooks')
    .select(['epoch', 'rests_until'])
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  expect(rests_until).toBeNull()
  const failed = { state: 'pending', after_ms: 5_000, is_gone: false, before: 0 } as const
  const answer = { webhook_id: id, epoch, response_status: 503, response_ms: 5, ...failed }
  await settle({ id: first, ...answer })
  // An hour and more after the change.
  await sql`update webhooks set failing_since = failing_since - interval '2 hours' where id = ${id}`.execute(
    db,
  )
  expect(await settle({ id: second, ...answer })).toEqual([])
  expect(await webhook(id)).toMatchObject({ status: 'enabled', disabled_reason: null, failures: 2 })
})

/** A page of a form writes all that it shows, so the URL may come as it was. */
it.each([
  ['a new URL', { url: 'https://hooks.example.test/new' }, 0, false],
  ['a new URL, and a failure', { url: 'https://hooks.example.test/new' }, 1, false],
  ['the URL that it has', { url: 'https://hooks.example.test/in' }, 0, true],
  ['the URL that it has, and a failure', { url: 'https://hooks.example.test/in' }, 1, true],
  ['that it is enabled', { status: 'enabled' }, 0, true],
  ['that it is enabled, and a failure', { status: 'enabled' }, 1, false],
  ['other events', { events: ['broadcast.paused'] }, 0, true],
] as const)(
  'after %s an endpoint that had answered well is taken as: proven?',
  async (_, change, failures, is_proven) => {
    const { id, first } = await makeWebhook()
    await settle(succeeded({ id: first, webhook_id: id, epoch: NEW }))
    await sql`update webhooks set failures = ${failures} where id = ${id}`.execute(db)
    expect((await api.request('PATCH', `/v1/webhooks/${id}`, change)).status).toBe(200)
    // Only one kind of place is free, so that it is taken as one of that kind or not at all.
    const [none, some] = [
      { free: 0, full: [] },
      { free: 9, full: [] },
    ]
    const take = (healthy: typeof some, others: typeof some) =>
      transact(deps, ({ db: trx }) => takeWebhooks(trx, [id], { healthy, others }))
    const kinds = [await take(some, none), await take(none, some)]
    // The failures before stay where nothing begins anew, and the places of those that answer are not for who has failed last.
    const left = is_proven ? failures : 0
    const taken = [{ id, failures: left, is_proven }]
    expect(kinds).toMatchObject(is_proven && left === 0 ? [taken, []] : [[], taken])
  },
)
