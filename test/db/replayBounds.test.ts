// The replay of a period: what its count and each of its pages read is bounded, however much the period has.
import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { runJobPage } from '../../commands/jobs/runPage.ts'
import type { Trx } from '../../db/connect.ts'
import { countReplayed, type ReplayedPeriod, replayPage } from '../../db/webhooks/replays.ts'
import { limits } from '../../rules/limits.ts'
import { createTestApi } from '../setup/api.ts'
import { noteQueries } from '../setup/askedQueries.ts'
import { nodesOf, readBy } from '../setup/planNodes.ts'

interface Job {
  id: string
  status: string
  progress: { done: number; total: number | null }
  error: string | null
}

const api = await createTestApi()
const { db, deps, workspaceId } = api

/** A webhook with so many deliveries of one event that have succeeded, and after them one of another type. */
async function makeWebhook(count: number): Promise<string> {
  const { body } = await api.request<{ id: string }>('POST', '/v1/webhooks', {
    url: 'https://hooks.example.test/in',
    events: ['webhook.disabled'],
  })
  for (const [type, many] of [
    ['email.sent', count],
    ['contact.created', 1],
  ] as const) {
    await sql`
      with event as (
        insert into webhook_events (id, workspace_id, type, at, data)
        values (webhook_id(), ${workspaceId}, ${type}, now(), '{}') returning id
      )
      insert into webhook_deliveries (id, webhook_id, event_id, workspace_id, state, created_at)
      select webhook_id(), ${body.id}, event.id, ${workspaceId}, 'succeeded', clock_timestamp()
      from event, generate_series(1, ${many}) n`.execute(db)
  }
  return body.id
}
const replay = async (id: string, body: object) =>
  (await api.request<Job>('POST', `/v1/webhooks/${id}/replay`, { since: 0, ...body })).body.id
const read = async (id: string) => (await api.request<Job>('GET', `/v1/jobs/${id}`)).body
const page = (id: string) => runJobPage(deps, { id })

it.each([
  ['all types', null],
  ['a type that is rare', ['contact.*']],
])('of %s', async (_, events) => {
  const webhookId = await makeWebhook(30_000)
  await sql`analyze`.execute(db)
  const { db: watched, asked } = noteQueries(api.pool)
  const until = new Date(Date.now() + 3_600_000)
  const period: ReplayedPeriod = { webhookId, since: new Date(0), until, events }
  expect(await countReplayed(watched, workspaceId, period, 1_000)).toBeNull()
  const bounds = { after: null, limit: 500, look: 1_000 }
  await replayPage(watched as unknown as Trx, workspaceId, period, bounds)
  expect(asked).toHaveLength(2)
  for (const { sql: text, parameters } of asked) {
    const { rows } = await api.pool.query(`explain (analyze, format json) ${text}`, [...parameters])
    const readRows = [...nodesOf(rows[0]['QUERY PLAN'][0].Plan)].map((node) => readBy(node))
    expect(Math.max(...readRows)).toBeLessThan(5_000)
  }
})

it('a job whose period has more than is counted goes on, and does not say how much', async () => {
  const id = await replay(await makeWebhook(limits.webhookReplayCountMax), {})
  expect(await page(id)).toEqual({ more: true })
  expect(await page(id)).toEqual({ more: true })
  expect((await read(id)).progress).toEqual({ done: 1_000, total: null })
})

it('a job that finds nothing on its first pages goes on to what is behind', async () => {
  const id = await replay(await makeWebhook(limits.webhookReplayLookMax * 2), {
    events: ['contact.*'],
  })
  for (let i = 0; i < 2; i++) {
    expect(await page(id)).toEqual({ more: true })
    expect((await read(id)).progress).toEqual({ done: 0, total: 1 })
  }
  expect(await page(id)).toEqual({ more: false })
  expect(await read(id)).toMatchObject({ status: 'completed', progress: { done: 1, total: 1 } })
})
