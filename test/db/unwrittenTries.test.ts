// A try of a webhook that Postgres does not take now: it is written when Postgres does, and the request is not made again meanwhile.
import { sql } from 'kysely'
import { expect, onTestFinished, test, vi } from 'vitest'
import { connect } from '../../db/connect.ts'
import { takeWebhooks } from '../../db/webhooks/lanes.ts'
import { createWebhookSettler } from '../../delivery/webhooks/settle.ts'
import { webhookRenewMs } from '../../rules/webhooks/outcome.ts'
import { createTestApi } from '../setup/api.ts'
import { eventually } from '../setup/eventually.ts'
import { createHttpServer, json } from '../setup/httpServer.ts'
import { deliveriesOf, startTestSender, webhookDeps } from '../setup/webhookSender.ts'

const api = await createTestApi({ env: { ALLOW_PRIVATE_WEBHOOKS: 'true' } })
const { db } = api
const server = await createHttpServer()

test('an answer is kept until it can be written', async () => {
  // As a full disk: refusals are counted by a sequence, which they do not undo.
  await sql`create sequence refusals`.execute(db)
  await sql`create function refuse() returns trigger language plpgsql as $$
    begin
      perform nextval('refusals');
      raise exception 'could not extend file' using errcode = '53100';
    end $$`.execute(db)
  await sql`create trigger refuse before update on webhook_deliveries for each row
    when (new.state <> 'pending') execute function refuse()`.execute(db)
  const { body } = await api.request<{ id: string }>('POST', '/v1/webhooks', {
    url: `${server.url}/hook`,
    events: ['broadcast.started'],
  })
  await api.request('POST', `/v1/webhooks/${body.id}/test`)
  const warned = vi.spyOn(api.deps.log, 'warn')
  startTestSender(api)
  await eventually(async () => {
    const { rows } = await sql<{
      count: number
    }>`select last_value::int as count from refusals`.execute(db)
    expect(rows[0]?.count).toBeGreaterThanOrEqual(4)
  })
  expect(server.came('/hook')).toHaveLength(1)
  expect(warned).toHaveBeenCalledWith(
    { err: expect.objectContaining({ code: '53100' }), webhook_id: body.id },
    'an outcome was not written; it is tried again',
  )
  await sql`drop trigger refuse on webhook_deliveries`.execute(db)
  await eventually(async () =>
    expect(await deliveriesOf(api, body.id)).toMatchObject([{ state: 'succeeded', attempts: 1 }]),
  )
  expect(server.came('/hook')).toHaveLength(1)
})

/** As the connections of a worker, but that they wait for locks only briefly. */
function connectBriefly() {
  const brief = connect({
    url: api.url,
    poolSize: 5,
    name: 'test-webhooks',
    settings: { lock_timeout: 200 },
    onIdleError: () => undefined,
  })
  onTestFinished(() => brief.db.destroy())
  return { db: brief.db }
}

/** Two endpoints that have something to get. */
async function makeTwo(name: string) {
  const make = async (path: string) => {
    const url = `${server.url}${path}`
    const events = ['broadcast.started']
    const { body } = await api.request<{ id: string }>('POST', '/v1/webhooks', { url, events })
    await api.request('POST', `/v1/webhooks/${body.id}/test`)
    return { id: body.id, path }
  }
  return [await make(`/${name}/held`), await make(`/${name}/free`)] as const
}

const hold = (id: string, work: () => Promise<void>) =>
  db.transaction().execute(async (holder) => {
    await sql`select from webhooks where id = ${id} for update`.execute(holder)
    await work()
  })

const isSettled = (id: string) =>
  eventually(async () =>
    expect(await deliveriesOf(api, id)).toMatchObject([{ state: 'succeeded', attempts: 1 }]),
  )

test('an endpoint that somebody holds keeps no try of another from being written', async () => {
  const [held, free] = await makeTwo('settled')
  const places = { healthy: { free: 9, full: [] }, others: { free: 9, full: [] } }
  const taken = await takeWebhooks(db as never, [held.id, free.id], places)
  const due = await db.selectFrom('webhook_deliveries').select(['id', 'webhook_id']).execute()
  const settle = createWebhookSettler(webhookDeps(api, connectBriefly()))
  const settleAll = () =>
    Promise.allSettled(
      taken.map(({ id, epoch }) =>
        settle(
          {
            id: due.find(({ webhook_id }) => webhook_id === id)?.id ?? '',
            webhook_id: id,
            epoch,
            before: 0,
            state: 'succeeded',
            after_ms: null,
            response_status: 200,
            response_ms: 1,
            is_gone: false,
          },
          false,
        ),
      ),
    )
  await hold(held.id, async () => {
    const ended = await settleAll()
    expect(taken.map(({ id }, i) => [id, ended[i]?.status])).toEqual(
      expect.arrayContaining([
        [held.id, 'rejected'],
        [free.id, 'fulfilled'],
      ]),
    )
    await isSettled(free.id)
  })
})

/** Starts a sender that has both endpoints, which answer when they are let. */
async function startHeld(name: string) {
  const two = await makeTwo(name)
  const answers: (() => void)[] = []
  for (const { path } of two)
    server.answer(path, (res, came) => void answers.push(() => json(200, {})(res, came)))
  startTestSender(api, connectBriefly())
  await eventually(() => expect(answers).toHaveLength(2))
  const answer = () => {
    for (const one of answers) one()
  }
  return { two, answer }
}

async function leaseOf(id: string): Promise<number> {
  const row = await db
    .selectFrom('webhooks')
    .select('leased_until')
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  return Number(row.leased_until)
}

/** @returns the end of the lease when it was renewed */
async function renewalOf(id: string, before: number): Promise<number> {
  return eventually(async () => {
    const lease = await leaseOf(id)
    expect(lease).toBeGreaterThan(before)
    return lease
  })
}

test('an endpoint that somebody holds costs no other its lease', async () => {
  const { two, answer } = await startHeld('renewed')
  const [held, free] = two
  await hold(held.id, async () => {
    await renewalOf(free.id, await leaseOf(free.id))
    answer()
    await isSettled(free.id)
  })
  await isSettled(held.id)
  for (const { path } of two) expect(server.came(path)).toHaveLength(1)
})

test('an endpoint that somebody holds for a moment is renewed with the others', async () => {
  const { two, answer } = await startHeld('moment')
  const [held, free] = two
  // On a busy machine the row may be free again too late for one renewal; the next one comes three seconds after it.
  let least_ms = Number.POSITIVE_INFINITY
  for (let round = 0; round < 4 && least_ms >= webhookRenewMs / 2; round++) {
    const before = await leaseOf(held.id)
    let others = 0
    await hold(held.id, async () => {
      others = await renewalOf(free.id, await leaseOf(free.id))
      expect(await leaseOf(held.id)).toBe(before)
    })
    least_ms = Math.min(least_ms, (await renewalOf(held.id, before)) - others)
  }
  expect(least_ms).toBeLessThan(webhookRenewMs / 2)
  answer()
  for (const { id } of two) await isSettled(id)
})
