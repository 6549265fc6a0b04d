// kill -9 of the worker while a segment is filled: the next one goes on there, everybody is found once, and nothing starts by it.
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { createSegment } from '../../commands/segments/create.ts'
import { isRefusal } from '../../rules/refusals.ts'
import { startsAt } from '../setup/contactSegments.ts'
import { createTestDatabase } from '../setup/database.ts'
import { eventually } from '../setup/eventually.ts'
import { createHarness, newId, now } from '../setup/harness.ts'

const CONTACTS = 20_000
const database = await createTestDatabase()

test('killed in the middle, twice, it is filled once', { timeout: 300_000 }, async () => {
  const h = await createHarness(database)
  const deadline = { deadline_ms: 120_000 }
  const emailOf = (n: number) => `n${String(n).padStart(6, '0')}@example.test`
  await sql`
    insert into contacts (id, workspace_id, email, properties, first_seen, last_seen, last_event, created_at,
      updated_at)
    select 'ct_' || lpad(n::text, 26, '0'), ${h.workspaceId}, 'n' || lpad(n::text, 6, '0') || '@example.test',
      jsonb_build_object('even', n % 2 = 0), now(), now(), 'e', now(), now()
    from generate_series(1, ${CONTACTS}) as n`.execute(h.db)
  const condition = { type: 'rule', field: 'properties.even', operator: 'is_true' }
  const deps = { db: h.db, newId, now, wake: () => undefined }
  const segmentId = await createSegment(deps, h.workspaceId, { name: 'Even', condition })
  if (isRefusal(segmentId)) throw new Error(segmentId.code)
  const flow = async (kind: 'segment_entered' | 'segment_left') => {
    const body = { name: kind, status: 'active', design: startsAt(kind, segmentId) }
    const made = await h.request<{ workflow_id: string }>('POST', '/v1/workflows', body)
    expect(made.status).toBe(201)
    return made.body.workflow_id
  }
  const [entered, left] = [await flow('segment_entered'), await flow('segment_left')]
  const count = async () => {
    const { rows } = await sql<{ count: number }>`
      select count(*)::int as count from segment_members where segment_id = ${segmentId} and is_member
    `.execute(h.db)
    return rows[0]?.count ?? 0
  }
  const isFilled = async () => {
    const row = h.db.selectFrom('segments').select('filled').where('id', '=', segmentId)
    return (await row.executeTakeFirstOrThrow()).filled
  }
  const startedFor = async (workflowId: string) => {
    const rows = h.db.selectFrom('executions').select('email').where('workflow_id', '=', workflowId)
    return (await rows.orderBy('email').execute()).map(({ email }) => email)
  }
  // Those of the end change before the filling has come to them.
  const path = (n: number) => `/v1/automation/contacts/${encodeURIComponent(emailOf(n))}`
  await h.request('PATCH', path(CONTACTS), { properties: { even: false } })
  await h.request('PATCH', path(CONTACTS - 1), { properties: { even: true } })
  const [worker] = h.workers
  let before = 1
  for (let kills = 0; kills < 2; kills++) {
    const most = before
    await eventually(async () => expect(await count()).toBeGreaterThan(most), deadline)
    await worker?.kill()
    before = await count()
    expect(before).toBeLessThan(CONTACTS / 2)
    expect(await isFilled()).toBe(false)
    await worker?.start()
  }
  await eventually(async () => expect(await isFilled()).toBe(true), deadline)
  expect(await count()).toBe(CONTACTS / 2)
  expect(await startedFor(entered)).toEqual([emailOf(CONTACTS - 1)])
  expect(await startedFor(left)).toEqual([emailOf(CONTACTS)])
})
