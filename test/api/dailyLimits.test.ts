// Emails of a day: never more than the limit, over all processes, and again the next day.
// Long because the same day is met by several processes, by requests whose commit fails, and by webhooks.
import { sql } from 'kysely'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { createApp } from '../../api/http/app.ts'
import { createLimitBook } from '../../commands/limits/book.ts'
import { createDailyLimit } from '../../commands/limits/daily.ts'
import { createTestApi, insertTestDomain } from '../setup/api.ts'
import { eventually } from '../setup/eventually.ts'
import { limitTo } from '../setup/limits.ts'

const NOON = Date.UTC(2026, 4, 4, 12)
const DAY_MS = 24 * 3_600_000
let time = NOON
const api = await createTestApi({ now: () => new Date(time) })
const { db, workspaceId } = api
await insertTestDomain(api, 'sender.test')
await insertTestDomain(api, 'new.test', 'NOT_STARTED')

/** Each test has days of its own. */
afterEach(async () => {
  time += 10 * DAY_MS
  await db.deleteFrom('rate_limits').execute()
})

const mail = { from: 'a@sender.test', to: 'you@example.test', subject: 'Hi', text: 'Hi' }

async function send(app: typeof api.app, change: object = {}, token = api.key) {
  const answer = await app.request('/v1/emails', {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ ...mail, ...change }),
  })
  const body = (await answer.json()) as Record<string, unknown>
  return { status: answer.status, body, retryAfter: answer.headers.get('retry-after') }
}

const countToday = async () => {
  const since = new Date(time - (time % DAY_MS))
  const rows = await db.selectFrom('emails').select('id').where('created_at', '>=', since).execute()
  return rows.length
}
const statuses = (answers: { status: number }[]) => {
  const count = (status: number) => answers.filter((one) => one.status === status).length
  return { accepted: count(200), refused: count(429) }
}

it('accepts the limit, refuses what is beyond it, and begins anew with the day', async () => {
  await limitTo(db, workspaceId, { emailsPerDay: 3 })
  const app = createApp(api.deps)
  // What is refused for another reason takes no place.
  for (let i = 0; i < 5; i++) expect((await send(app, { from: 'a@new.test' })).status).toBe(403)
  for (let i = 0; i < 3; i++) expect((await send(app)).status).toBe(200)
  const refused = await send(app)
  expect(refused).toEqual({
    status: 429,
    body: {
      message: 'This workspace may send 3 emails a day (UTC), and has; try again tomorrow',
      code: 'daily_limit',
    },
    retryAfter: String(12 * 3_600),
  })
  expect(await countToday()).toBe(3)
  // Another process knows it too.
  expect((await send(createApp(api.deps))).status).toBe(429)
  time += DAY_MS / 2 - 1
  expect((await send(app)).retryAfter).toBe('1')
  time += 1
  expect((await send(app)).status).toBe(200)
  expect((await db.selectFrom('email_days').selectAll().execute()).length).toBe(2)
})

it('of none a day it accepts none, and a higher limit opens the day again', async () => {
  await limitTo(db, workspaceId, { emailsPerDay: 0 })
  expect((await send(createApp(api.deps))).status).toBe(429)
  await limitTo(db, workspaceId, { emailsPerDay: 1 })
  const app = createApp(api.deps)
  expect((await send(app)).status).toBe(200)
  expect((await send(app)).status).toBe(429)
  expect(await countToday()).toBe(1)
})

it('counts a key beside its workspace', async () => {
  const { token, keyId } = await api.createKey({ permission: 'sending_access' })
  await limitTo(db, workspaceId, { emailsPerDay: 3 })
  await limitTo(db, workspaceId, { emailsPerDay: 1 }, keyId)
  const app = createApp(api.deps)
  expect((await send(app, {}, token)).status).toBe(200)
  const refused = await send(app, {}, token)
  expect([refused.status, refused.body['message']]).toEqual([
    429,
    'This API key may send 1 emails a day (UTC), and has; try again tomorrow',
  ])
  // What the key's limit refused takes no place of the workspace.
  expect((await send(app)).status).toBe(200)
  expect((await send(app)).status).toBe(200)
  expect((await send(app)).status).toBe(429)
})

it('many at once, of several processes: never more than the limit', async () => {
  const limit = 250
  await limitTo(db, workspaceId, { emailsPerDay: limit })
  const apps = Array.from({ length: 3 }, () => createApp(api.deps))
  const answers = await Promise.all(
    Array.from({ length: 400 }, (_, i) => send(apps[i % 3] ?? api.app)),
  )
  const { accepted, refused } = statuses(answers)
  expect(accepted + refused).toBe(400)
  expect(await countToday()).toBe(accepted)
  expect(accepted).toBeLessThanOrEqual(limit)
  // Each process may keep a hundredth of what was left when it asked.
  expect(accepted).toBeGreaterThanOrEqual(limit - apps.length * Math.ceil(limit / 100))
})

const sendBatch = async (app: typeof api.app, count: number, token = api.key) => {
  const answer = await app.request('/v1/emails/batch', {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ emails: Array.from({ length: count }, () => mail) }),
  })
  const { message } = (await answer.json()) as { message?: string }
  return { status: answer.status, message }
}

it('a batch that is refused leaves what the day has to others, of every process', async () => {
  await limitTo(db, workspaceId, { emailsPerDay: 50 })
  const [one, other] = [createApp(api.deps), createApp(api.deps)]
  expect((await send(one)).status).toBe(200)
  for (let n = 0; n < 2; n++) {
    expect(await sendBatch(one, 50)).toEqual({
      status: 429,
      message:
        'This workspace may send 50 emails a day (UTC), and has fewer than 50 left; try again tomorrow, or with fewer',
    })
  }
  expect((await send(other)).status).toBe(200)
  expect((await sendBatch(other, 48)).status).toBe(200)
  expect((await send(one)).status).toBe(429)
  expect(await countToday()).toBe(50)
})

it('a batch that its key may not send takes nothing of its workspace', async () => {
  const { token, keyId } = await api.createKey({ permission: 'sending_access' })
  await limitTo(db, workspaceId, { emailsPerDay: 20 })
  await limitTo(db, workspaceId, { emailsPerDay: 5 }, keyId)
  const [one, other] = [createApp(api.deps), createApp(api.deps)]
  expect((await sendBatch(one, 20, token)).status).toBe(429)
  expect((await sendBatch(other, 20)).status).toBe(200)
})

it('a batch that is refused keeps nothing from one that is asked for at the same time', async () => {
  await limitTo(db, workspaceId, { emailsPerDay: 100 })
  const process = () =>
    createDailyLimit(
      api.deps,
      createLimitBook(api.deps, () => undefined),
    )
  const [one, other] = [process(), process()]
  const given = await one.take(workspaceId, null, 60)
  if ('giveBack' in given) given.giveBack()
  expect(await other.take(workspaceId, null, 30)).toHaveProperty('giveBack')
  const [large, small] = await Promise.all([
    one.take(workspaceId, null, 100),
    one.take(workspaceId, null, 65),
  ])
  expect(large).toMatchObject({ code: 'daily_limit' })
  expect(small).toHaveProperty('giveBack')
})

it('one process gives out every place', async () => {
  const limit = 250
  await limitTo(db, workspaceId, { emailsPerDay: limit })
  const app = createApp(api.deps)
  const answers = await Promise.all(Array.from({ length: 300 }, () => send(app)))
  expect(statuses(answers)).toEqual({ accepted: limit, refused: 300 - limit })
})

it('writes the row of a day for a block of emails, not for each', async () => {
  await limitTo(db, workspaceId, { emailsPerDay: 100_000 })
  const app = createApp(api.deps)
  for (let i = 0; i < 5; i++) expect((await send(app)).status).toBe(200)
  const [row] = await db
    .selectFrom('email_days')
    .select(['emails'])
    .where('emails', '>', 250)
    .execute()
  expect(row).toEqual({ emails: 1_000 })
})

it('a lowered limit stops what a process has been given before, too', async () => {
  await limitTo(db, workspaceId, { emailsPerDay: 10_000 })
  const app = createApp(api.deps)
  expect((await send(app)).status).toBe(200)
  await limitTo(db, workspaceId, { emailsPerDay: 0 })
  await eventually(async () => expect((await send(app)).status).toBe(429))
  expect(await countToday()).toBeLessThan(1_000)
  const before = await countToday()
  expect(statuses(await Promise.all(Array.from({ length: 20 }, () => send(app))))).toEqual({
    accepted: 0,
    refused: 20,
  })
  expect(await countToday()).toBe(before)
})

it('nothing is let through while no limit could be read yet', async () => {
  await limitTo(db, workspaceId, { emailsPerDay: 0 })
  let isAway = true
  const book = createLimitBook(
    {
      db: db.withPlugin({
        transformQuery({ node }) {
          if (isAway) throw Object.assign(new Error('gone'), { code: '57P01' })
          return node
        },
        transformResult: async ({ result }) => result,
      }),
    },
    () => undefined,
  )
  for (let n = 0; n < 3; n++) await expect(book.fresh()).rejects.toThrow('gone')
  isAway = false
  await book.fresh()
  expect(book.of(workspaceId)).toMatchObject({ emails_per_day: 0 })
})

it('what a request took whose held commit fails another one may have, once', async () => {
  await limitTo(db, workspaceId, { emailsPerDay: 3 })
  const app = createApp(api.deps)
  await sql`
    create function fail_at_commit() returns trigger language plpgsql as $$
    begin raise exception 'the commit fails'; end $$
  `.execute(db)
  await sql`
    create constraint trigger fail_at_commit after insert on idempotency_keys
      deferrable initially deferred for each row execute function fail_at_commit()
  `.execute(db)
  const named = (key: string) =>
    app.request('/v1/emails', {
      method: 'POST',
      headers: {
        authorization: `Bearer ${api.key}`,
        'content-type': 'application/json',
        'idempotency-key': key,
      },
      body: JSON.stringify(mail),
    })
  for (let i = 0; i < 5; i++) expect((await named(`failing-${i}`)).status).toBe(500)
  const batch = await app.request('/v1/emails/batch', {
    method: 'POST',
    headers: {
      authorization: `Bearer ${api.key}`,
      'content-type': 'application/json',
      'idempotency-key': 'failing-batch',
    },
    body: JSON.stringify({ emails: [mail, mail] }),
  })
  expect(batch.status).toBe(500)
  await sql`drop trigger fail_at_commit on idempotency_keys`.execute(db)
  expect(await countToday()).toBe(0)
  expect((await named('good-1')).status).toBe(200)
  expect((await named('good-1')).status).toBe(200)
  expect((await send(app)).status).toBe(200)
  expect((await send(app)).status).toBe(200)
  expect((await send(app)).status).toBe(429)
  expect((await named('good-2')).status).toBe(429)
  expect(await countToday()).toBe(3)
})

const nearEvents = async () => {
  const rows = await db
    .selectFrom('webhook_events')
    .select('data')
    .where('type', '=', 'workspace.limit_near')
    .orderBy('id')
    .execute()
  return rows.map(({ data }) => data as { day: string; emails: number; emails_per_day: number })
}

describe('workspace.limit_near', () => {
  beforeAll(async () => {
    const hook = { url: 'https://hooks.test/near', events: ['workspace.limit_near'] }
    expect((await api.request('POST', '/v1/webhooks', hook)).status).toBe(201)
  })
  const today = () => new Date(time).toISOString().slice(0, 10)

  it('is told at four fifths of a day, once, and again the next day', async () => {
    await limitTo(db, workspaceId, { emailsPerDay: 10 })
    const app = createApp(api.deps)
    for (let i = 0; i < 7; i++) expect((await send(app)).status).toBe(200)
    expect(await nearEvents()).toEqual([])
    for (let i = 0; i < 5; i++) await send(app)
    const told = {
      workspace_id: workspaceId,
      limit: 'emails_per_day',
      emails_per_day: 10,
      emails: 8,
    }
    expect(await nearEvents()).toEqual([{ ...told, day: today() }])
    time += DAY_MS
    for (let i = 0; i < 9; i++) await send(app)
    expect((await nearEvents()).map(({ day }) => day)).toEqual([expect.any(String), today()])
  })

  it('once of several processes at the same time, also when the limit changes in between', async () => {
    const before = (await nearEvents()).length
    await limitTo(db, workspaceId, { emailsPerDay: 200 })
    const apps = Array.from({ length: 4 }, () => createApp(api.deps))
    await Promise.all(Array.from({ length: 190 }, (_, i) => send(apps[i % 4] ?? api.app)))
    const [told, ...others] = (await nearEvents()).slice(before)
    expect(others).toEqual([])
    expect(told).toMatchObject({ emails_per_day: 200, day: today() })
    expect(told?.emails).toBeGreaterThanOrEqual(160)
    await limitTo(db, workspaceId, { emailsPerDay: 210 })
    await Promise.all(Array.from({ length: 30 }, (_, i) => send(apps[i % 4] ?? api.app)))
    expect((await nearEvents()).length).toBe(before + 1)
  })

  it('says nothing of a key, nor of a workspace that may send none', async () => {
    const before = (await nearEvents()).length
    const { token, keyId } = await api.createKey()
    await limitTo(db, workspaceId, { emailsPerDay: 2 }, keyId)
    const app = createApp(api.deps)
    for (let i = 0; i < 3; i++) await send(app, {}, token)
    await limitTo(db, workspaceId, { emailsPerDay: 0 })
    expect((await send(createApp(api.deps))).status).toBe(429)
    expect((await nearEvents()).length).toBe(before)
  })
})
