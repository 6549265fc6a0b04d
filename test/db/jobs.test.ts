// Jobs: a page is one commit, none is done twice, and who pauses, resumes or cancels is obeyed at the next one.
// Long because a page of a job meets so much: what waits for its endpoint, other replays, and what Postgres refuses.
import { sql } from 'kysely'
import { afterEach, describe, expect, it, onTestFinished } from 'vitest'
import { runJobPage } from '../../commands/jobs/runPage.ts'
import type { Trx } from '../../db/connect.ts'
import { listLiveJobs } from '../../db/jobs/reads.ts'
import {
  countReplayed,
  findReplayEnd,
  type ReplayedPeriod,
  replayPage,
} from '../../db/webhooks/replays.ts'
import { clearUp } from '../../delivery/webhooks/housekeeping.ts'
import { limits } from '../../rules/limits.ts'
import { createTestApi } from '../setup/api.ts'
import { noteQueries } from '../setup/askedQueries.ts'
import { seedWorkspace } from '../setup/harness.ts'
import { untilWaiting } from '../setup/lockWaits.ts'
import { nodesOf, readBy } from '../setup/planNodes.ts'
import { webhookDeps } from '../setup/webhookSender.ts'

interface Job {
  id: string
  kind: string
  status: string
  progress: { done: number; total: number | null }
  counts: Record<string, number>
  completed_at: number | null
  error: string | null
}

let time = Date.UTC(2026, 0, 1)
const api = await createTestApi({ now: () => new Date(time) })
const { db, deps, workspaceId } = api
/** An API whose clock is some seconds behind that of Postgres, which `createDatabaseClock` lets pass. */
const late = await createTestApi({ now: () => new Date(Date.now() - 4_000) })

/** A webhook with deliveries that have succeeded, one each minute of a day. */
async function makeWebhook(count: number): Promise<string> {
  const url = 'https://hooks.example.test/in'
  const { body } = await api.request<{ id: string }>('POST', '/v1/webhooks', {
    url,
    events: ['webhook.disabled'],
  })
  await sql`
    with event as (
      insert into webhook_events (id, workspace_id, type, at, data)
      select webhook_id(), ${workspaceId}, case when n % 2 = 0 then 'email.sent' else 'contact.created' end,
        ${new Date(time)}::timestamptz + n * interval '1 minute', jsonb_build_object('n', n)
      from generate_series(1, ${count}) n returning id, at
    )
    insert into webhook_deliveries (id, webhook_id, event_id, workspace_id, state, attempts, next_at, created_at)
    select webhook_id(), ${body.id}, id, ${workspaceId}, 'succeeded', 3, null, at from event order by at
  `.execute(db)
  time += 24 * 3_600_000
  return body.id
}
const replay = (id: string, body: object) =>
  api.request<Job>('POST', `/v1/webhooks/${id}/replay`, body)
const read = async (id: string) => (await api.request<Job>('GET', `/v1/jobs/${id}`)).body
const move = (id: string, to: string) => api.request<Job>('POST', `/v1/jobs/${id}/${to}`)
const page = (id: string) => runJobPage(deps, { id })
const pending = async (webhookId: string) => {
  const { rows } = await sql<{ count: number; attempts: number }>`
    select count(*)::int as count, coalesce(max(attempts), 0)::int as attempts from webhook_deliveries
    where webhook_id = ${webhookId} and state = 'pending'`.execute(db)
  return rows[0]
}

describe('the replay of a period', () => {
  it('makes all deliveries since then due again, page by page', async () => {
    const since = time + 100 * 60_000
    const webhook = await makeWebhook(1_200)
    const made = await replay(webhook, { since })
    expect(made.status).toBe(202)
    expect(made.body).toMatchObject({ kind: 'replay', status: 'queued', progress: { done: 0 } })
    const { id } = made.body
    expect(await page(id)).toEqual({ more: true })
    expect(await read(id)).toMatchObject({
      status: 'running',
      progress: { done: 500, total: 1_101 },
      completed_at: null,
    })
    expect(await pending(webhook)).toEqual({ count: 500, attempts: 0 })
    // Two at once: one after the other, and neither does what the other has done.
    const both = await Promise.all([page(id), page(id)])
    expect(both.map(({ more }) => more).sort()).toEqual([false, true])
    expect(await read(id)).toMatchObject({
      status: 'completed',
      progress: { done: 1_101, total: 1_101 },
      counts: { replayed: 1_101 },
      completed_at: time,
    })
    expect(await pending(webhook)).toEqual({ count: 1_101, attempts: 0 })
    expect(await page(id)).toEqual({ more: false })
    expect((await read(id)).progress.done).toBe(1_101)
  })

  it('ends behind all that was made before it, however its time was rounded', async () => {
    for (let i = 0; i < 100; i++) {
      const { rows } = await sql<{ made: Date }>`
        select clock_timestamp()::timestamptz(3) as made`.execute(db)
      const until = await findReplayEnd(db)
      expect(until.getTime()).toBeGreaterThan(rows[0]?.made.getTime() ?? Number.POSITIVE_INFINITY)
    }
  })

  it('goes on though a delivery of the page is deleted while the page waits for it', async () => {
    const since = time
    const webhook = await makeWebhook(501)
    const { id } = (await replay(webhook, { since })).body
    const held = await db.startTransaction().execute()
    onTestFinished(() =>
      held
        .rollback()
        .execute()
        .catch(() => {}),
    )
    await sql`delete from webhook_deliveries where id = (select d.id from webhook_deliveries d
      where d.webhook_id = ${webhook} order by d.id limit 1)`.execute(held)
    const paging = page(id)
    await untilWaiting(db, 1)
    await held.commit().execute()
    expect(await paging).toEqual({ more: true })
    expect(await page(id)).toEqual({ more: false })
    expect(await read(id)).toMatchObject({ status: 'completed', progress: { done: 500 } })
    expect(await pending(webhook)).toMatchObject({ count: 500 })
  })

  it('of some types alone', async () => {
    const since = time
    const webhook = await makeWebhook(20)
    const { id } = (await replay(webhook, { since, events: ['email.*'] })).body
    expect(await page(id)).toEqual({ more: false })
    expect(await pending(webhook)).toMatchObject({ count: 10 })
  })

  it('reads nothing of what is older, however much that is', async () => {
    const webhook = await makeWebhook(1)
    await sql`
      with old as (
        select (lpad(to_hex((extract(epoch from now()) * 1000)::bigint - 86400000 + n), 12, '0')
          || repeat('0', 20))::uuid as id from generate_series(1, 20000) n
      ), events as (
        insert into webhook_events (id, workspace_id, type, at, data)
        select id, ${workspaceId}, 'email.sent', now() - interval '1 day', '{}' from old
      )
      insert into webhook_deliveries (id, webhook_id, event_id, workspace_id, state, created_at)
      select id, ${webhook}, id, ${workspaceId}, 'succeeded', now() - interval '1 day' from old`.execute(
      db,
    )
    await sql`analyze`.execute(db)
    const { db: watched, asked } = noteQueries(api.pool)
    const hour_ms = 3_600_000
    const [since, until] = [-1, 1].map((hours) => new Date(Date.now() + hours * hour_ms))
    const period = { webhookId: webhook, since, until, events: null } as ReplayedPeriod
    await countReplayed(watched, workspaceId, period, 100_000)
    const next = { after: null, limit: 500, look: 5_000 }
    await replayPage(watched as unknown as Trx, workspaceId, period, next)
    for (const { sql: text, parameters } of asked) {
      const { rows } = await api.pool.query(`explain (analyze, format json) ${text}`, [
        ...parameters,
      ])
      const read = [...nodesOf(rows[0]['QUERY PLAN'][0].Plan)].map((node) => readBy(node))
      // Of what the tests before have written it may read all.
      expect(Math.max(...read)).toBeLessThan(10_000)
    }
  })

  it('has what was written until it was asked for, though the clock of the API is behind', async () => {
    const { body: webhook } = await late.request<{ id: string }>('POST', '/v1/webhooks', {
      url: 'https://hooks.example.test/in',
      events: ['webhook.disabled'],
    })
    await late.request('POST', `/v1/webhooks/${webhook.id}/test`)
    await sql`update webhook_deliveries set state = 'succeeded', next_at = null`.execute(late.db)
    const { body } = await late.request<Job>('POST', `/v1/webhooks/${webhook.id}/replay`, {
      since: 0,
    })
    await runJobPage(late.deps, { id: body.id })
    const { body: job } = await late.request<Job>('GET', `/v1/jobs/${body.id}`)
    expect(job).toMatchObject({ status: 'completed', counts: { replayed: 1 } })
  })

  it('ends where its webhook is deleted meanwhile: nothing is sent to that one', async () => {
    const since = time
    const webhook = await makeWebhook(1_200)
    const { id } = (await replay(webhook, { since })).body
    expect(await page(id)).toEqual({ more: true })
    expect((await api.request('DELETE', `/v1/webhooks/${webhook}`)).status).toBe(204)
    expect(await page(id)).toEqual({ more: false })
    const error = expect.stringContaining('deleted')
    expect(await read(id)).toMatchObject({ status: 'failed', error, progress: { done: 500 } })
  })

  it('is paused, resumed and cancelled between pages', async () => {
    const since = time
    const webhook = await makeWebhook(1_200)
    const { id } = (await replay(webhook, { since })).body
    await page(id)
    expect((await move(id, 'pause')).body).toMatchObject({ status: 'paused' })
    expect(await page(id)).toEqual({ more: false })
    expect(await pending(webhook)).toMatchObject({ count: 500 })
    expect((await move(id, 'pause')).body).toMatchObject({ code: 'job_not_running' })
    expect((await move(id, 'resume')).body).toMatchObject({ status: 'queued' })
    await page(id)
    expect((await read(id)).progress.done).toBe(1_000)
    expect((await move(id, 'cancel')).body).toMatchObject({
      status: 'cancelled',
      completed_at: time,
    })
    expect(await page(id)).toEqual({ more: false })
    for (const to of ['pause', 'resume', 'cancel']) {
      expect([(await move(id, to)).status, (await move(id, to)).body]).toMatchObject([
        409,
        { code: 'job_not_running' },
      ])
    }
    expect(await pending(webhook)).toMatchObject({ count: 1_000 })
  })

  it.each([
    [{}, 'since'],
    [{ since: 'yesterday' }, 'since'],
    [{ since: -1 }, 'since'],
    [{ since: 1.5 }, 'since'],
    // Microseconds, by mistake: no id holds that time, so the job could not go on.
    [{ since: 1_793_610_000_000_000 }, 'since'],
    [{ since: 1, events: [] }, 'events'],
  ])('%j is refused', async (body, field) => {
    const webhook = await makeWebhook(1)
    const answer = await replay(webhook, body)
    expect([answer.status, answer.text]).toEqual([400, expect.stringContaining(field)])
    expect((await replay(webhook, { since: 1, events: ['email'] })).body).toMatchObject({
      code: 'invalid_event_type',
    })
  })
})

/** Deliveries that wait for the endpoint, from before every period. */
const fill = (webhookId: string, count: number) =>
  sql`
    with event as (
      insert into webhook_events (id, workspace_id, type, at, data)
      values (webhook_id(), ${workspaceId}, 'contact.created', ${new Date(time)}, '{}') returning id
    )
    insert into webhook_deliveries (id, webhook_id, event_id, workspace_id, state, attempts, next_at, created_at)
    select webhook_id(), ${webhookId}, id, ${workspaceId}, 'pending', 0, now(), ${new Date(0)}
    from event cross join generate_series(1, ${count}::int)
  `.execute(db)

describe('a replay beside what waits for its endpoint', () => {
  it('never makes the backlog that disables the endpoint: it waits, running, and goes on', async () => {
    const since = time
    const webhook = await makeWebhook(1_200)
    await fill(webhook, limits.webhookReplayPendingMax - 400)
    const { id } = (await replay(webhook, { since })).body
    expect(await page(id)).toEqual({ more: true })
    for (let n = 0; n < 3; n++) {
      expect(await page(id)).toEqual({ more: true, wait_ms: expect.any(Number) })
    }
    expect(await read(id)).toMatchObject({ status: 'running', progress: { done: 500 } })
    // As workers look for backlogs, with a limit just above what a replay leaves.
    await clearUp(webhookDeps(api), () => false, limits.webhookReplayPendingMax + 500)
    const { body } = await api.request('GET', `/v1/webhooks/${webhook}`)
    expect(body).toMatchObject({ status: 'enabled' })
    await sql`update webhook_deliveries set state = 'succeeded', next_at = null
      where webhook_id = ${webhook}`.execute(db)
    expect(await page(id)).toEqual({ more: true })
    expect(await page(id)).toEqual({ more: false })
    expect(await read(id)).toMatchObject({
      status: 'completed',
      progress: { done: 1_200, total: 1_200 },
    })
  })

  it.each([
    ['disabled', sql`status = 'disabled'`],
    ['deleted', sql`deleted_at = now()`],
  ])('ends where its webhook is %s, since what waits for that one stays', async (what, change) => {
    const since = time
    const webhook = await makeWebhook(10)
    await fill(webhook, limits.webhookReplayPendingMax)
    const { id } = (await replay(webhook, { since })).body
    await sql`update webhooks set ${change} where id = ${webhook}`.execute(db)
    expect(await page(id)).toEqual({ more: false })
    expect(await read(id)).toMatchObject({ status: 'failed', completed_at: time })
    expect((await replay(webhook, { since })).status).toBe(what === 'deleted' ? 404 : 202)
  })

  it('is paused and cancelled while it waits', async () => {
    const since = time
    const webhook = await makeWebhook(10)
    await fill(webhook, limits.webhookReplayPendingMax)
    const { id } = (await replay(webhook, { since })).body
    expect(await page(id)).toMatchObject({ more: true, wait_ms: expect.any(Number) })
    expect((await move(id, 'pause')).body).toMatchObject({ status: 'paused' })
    expect(await page(id)).toEqual({ more: false })
    expect((await move(id, 'resume')).body).toMatchObject({ status: 'queued' })
    expect((await move(id, 'cancel')).body).toMatchObject({ status: 'cancelled' })
    expect(await page(id)).toEqual({ more: false })
  })
})

describe('a second replay of a webhook', () => {
  it('is refused until the first is over, and one of another webhook is not', async () => {
    const since = time
    const [webhook, other] = [await makeWebhook(3), await makeWebhook(3)]
    const { id } = (await replay(webhook, { since })).body
    const refused = async () => {
      const answer = await replay(webhook, { since })
      expect([answer.status, answer.body]).toMatchObject([409, { code: 'replay_in_progress' }])
      expect(answer.text).toContain(id)
    }
    await refused()
    await move(id, 'pause')
    await refused()
    expect((await replay(other, { since })).status).toBe(202)
    await move(id, 'cancel')
    const second = await replay(webhook, { since })
    expect(second.status).toBe(202)
    expect(await page(second.body.id)).toEqual({ more: false })
    expect((await replay(webhook, { since })).status).toBe(202)
  })

  it('of twenty at once one is made', async () => {
    const since = time
    const webhook = await makeWebhook(3)
    const answers = await Promise.all(Array.from({ length: 20 }, () => replay(webhook, { since })))
    expect(answers.filter(({ status }) => status === 202)).toHaveLength(1)
    expect(answers.filter(({ status }) => status === 409)).toHaveLength(19)
  })
})

describe('a page that Postgres refuses', () => {
  const refuse = async (webhookId: string, sqlState: string) => {
    await sql`
      create function refuse_replay() returns trigger language plpgsql as $$
      begin
        raise exception 'refused for %', new.id using errcode = tg_argv[0];
      end $$`.execute(db)
    await sql`
      create trigger refuse_replay before update on webhook_deliveries
        for each row when (new.webhook_id = ${sql.lit(webhookId)})
        execute function refuse_replay(${sql.lit(sqlState)})`.execute(db)
  }
  afterEach(async () => {
    await sql`drop function if exists refuse_replay() cascade`.execute(db)
  })

  it('for its data again and again ends the job failed, with what was done before', async () => {
    const since = time
    const webhook = await makeWebhook(1_200)
    const { id } = (await replay(webhook, { since })).body
    await page(id)
    await refuse(webhook, '22003')
    for (let n = 1; n < limits.jobRefusalsMax; n++) {
      await expect(page(id)).rejects.toThrow('refused for')
    }
    expect(await read(id)).toMatchObject({ status: 'running' })
    expect(await page(id)).toEqual({ more: false })
    const job = await read(id)
    expect(job).toMatchObject({
      status: 'failed',
      progress: { done: 500, total: 1_200 },
      completed_at: time,
      error:
        'what the next page writes cannot be stored (SQLSTATE 22003); what was done before stays',
    })
    expect(await page(id)).toEqual({ more: false })
    expect((await move(id, 'resume')).status).toBe(409)
    expect((await listLiveJobs(db, 1_000)).some((job) => job.id === id)).toBe(false)
  })

  it('now and then is done after all: only refusals in a row count', async () => {
    const since = time
    const webhook = await makeWebhook(1_200)
    const { id } = (await replay(webhook, { since })).body
    for (let round = 0; round < 2; round++) {
      await refuse(webhook, '23514')
      for (let n = 1; n < limits.jobRefusalsMax; n++) {
        await expect(page(id)).rejects.toThrow('refused for')
      }
      await sql`drop function refuse_replay() cascade`.execute(db)
      await page(id)
    }
    expect(await read(id)).toMatchObject({ status: 'running', progress: { done: 1_000 } })
  })

  it('for a reason that passes is tried for ever', async () => {
    const since = time
    const webhook = await makeWebhook(20)
    const { id } = (await replay(webhook, { since })).body
    await refuse(webhook, '57014')
    for (let n = 0; n < limits.jobRefusalsMax + 2; n++) {
      await expect(page(id)).rejects.toThrow('refused for')
    }
    expect(await read(id)).toMatchObject({ status: 'queued' })
  })
})

it('jobs are listed by kind, newest first, and their failures are a file with a header', async () => {
  const [first, second] = [
    (await replay(await makeWebhook(1), { since: 1 })).body.id,
    (await replay(await makeWebhook(1), { since: 1 })).body.id,
  ]
  const list = (query: string) => api.request<{ jobs: Job[] }>('GET', `/v1/jobs${query}`)
  expect((await list('')).body.jobs.slice(0, 2).map(({ id }) => id)).toEqual([second, first])
  expect((await list('?kind=replay')).body.jobs[0]?.id).toBe(second)
  expect((await list('?kind=import')).body.jobs).toEqual([])
  expect((await list('?kind=other')).status).toBe(400)
  const file = await api.request('GET', `/v1/jobs/${first}/failures`)
  expect([file.status, file.text]).toEqual([200, 'line,error\r\n'])
  expect(file.headers.get('content-type')).toMatch(/^text\/csv/)
  await sql`insert into job_failures (job_id, line, error) values (${first}, 2, 'no "email", none')`.execute(
    db,
  )
  const told = await api.request('GET', `/v1/jobs/${first}/failures`)
  expect(told.text).toBe('line,error\r\n2,"no ""email"", none"\r\n')
})

it('of one workspace two go on together, so that many of one keep nobody else waiting', async () => {
  await sql`update jobs set status = 'completed' where status in ('queued', 'running')`.execute(db)
  const own: string[] = []
  for (let n = 0; n < 4; n++) own.push((await replay(await makeWebhook(3), { since: 0 })).body.id)
  const { workspaceId: other } = await seedWorkspace(db)
  const [first = ''] = own
  const theirs = deps.newId('job')
  await sql`
    insert into jobs select (jsonb_populate_record(j, jsonb_build_object('id', ${theirs}::text,
      'workspace_id', ${other}::text))).* from jobs j where j.id = ${first}`.execute(db)
  expect((await listLiveJobs(db, 100)).map(({ id }) => id).sort()).toEqual(
    [...own.slice(0, 2), theirs].sort(),
  )
})
