// Erasing somebody of whom very much runs: the answer ends a bounded part of it, the job the rest, and meanwhile the rest does nothing.
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { closeExecution } from '../../commands/executions/close.ts'
import { runJobPage } from '../../commands/jobs/runPage.ts'
import { findCall } from '../../db/executions/calls.ts'
import { createTestApi } from '../setup/api.ts'
import { erasing } from '../setup/erasing.ts'
import { carryOnErasing, traces } from '../setup/traces.ts'
import { createWorkflowClient, exitDesign } from '../setup/workflowClient.ts'

const api = await createTestApi()
const { db, deps, workspaceId } = api
const { contact, beginErasing, newestJob } = erasing(api)
const IN_ANSWER = 1_000
const OF_PAGE = 100

let made = 0

/** A contact with so many executions that run, each about to make a request. @returns the address */
async function someone(count: number): Promise<string> {
  const email = await contact()
  const { workflow_id } = await createWorkflowClient(api).create({
    status: 'active',
    design: exitDesign('user.signed_up'),
  })
  await sql`
    insert into executions (id, workspace_id, workflow_id, version, contact_id, email, trigger_node_id, properties, created_at, updated_at)
    select 'exe_' || lpad((${made}::int + n)::text, 26, '0'), ${workspaceId}, ${workflow_id}, 1, c.id, c.email, 'start',
      jsonb_build_object('of', c.email), now(), now()
    from contacts c, generate_series(1, ${count}) n where c.email = ${email}`.execute(db)
  made += count
  await sql`
    insert into http_calls (execution_id, segment, node_id, workspace_id, lap, request, goals_reached, created_at)
    select id, 1, 'n', workspace_id, 1, 'x', '{}', now() from executions where ended_status is null`.execute(
    db,
  )
  await sql`delete from outbox`.execute(db)
  return email
}
const live = async () => {
  const { rows } = await sql<{ id: string }>`
    select id from executions where ended_status is null order by id`.execute(db)
  return rows.map(({ id }) => id)
}
const cancelsAsked = async () => {
  const { rows } = await sql`select from outbox where kind = 'cancel'`.execute(db)
  return rows.length
}

test('the answer ends as many as one commit may, and the job ends the rest', async () => {
  const url = 'https://hooks.example.test/in'
  await api.request('POST', '/v1/webhooks', { url, events: ['execution.*'] })
  const email = await someone(IN_ANSWER + 2 * OF_PAGE + 10)
  const [before = ''] = await live()
  expect(await findCall(db, before, 1)).toMatchObject({ is_erased: false })
  expect(await beginErasing(email)).toBe(204)
  expect(await cancelsAsked()).toBe(IN_ANSWER)
  const left = await live()
  expect(left).toHaveLength(2 * OF_PAGE + 10)

  // One that runs on makes no request, and ends without their address: nobody is told of it.
  const [ending = ''] = left
  expect(await findCall(db, ending, 1)).toMatchObject({ ended_status: null, is_erased: true })
  await closeExecution(deps, ending, { status: 'CANCELLED', code: 'cancelled' })
  const { rows: told } = await sql<{ email: string; count: number }>`
    select data->>'email' as email, count(*)::int as count from webhook_events
    where type = 'execution.cancelled' group by 1`.execute(db)
  expect(told).toEqual([{ email: '', count: IN_ANSWER + 1 }])

  // Also while somebody's transaction of before is still open: they have nothing to wait for.
  const held = await db.startTransaction().execute()
  await sql`select`.execute(held)
  const { id } = await newestJob()
  expect(await runJobPage(deps, { id })).toEqual({ more: true })
  expect(await live()).toHaveLength(OF_PAGE + 9)
  await held.rollback().execute()

  expect(await carryOnErasing(deps)).toBe('completed')
  expect(await live()).toEqual([])
  expect(await cancelsAsked()).toBe(IN_ANSWER + 2 * OF_PAGE + 9)
  expect(await traces(db, email)).toEqual([])
  const { rows: reasons } = await sql`
    select cancellation_reason as reason, count(*)::int as count from executions group by 1 order by 2`.execute(
    db,
  )
  expect(reasons).toEqual([
    { reason: 'cancelled', count: 1 },
    { reason: 'contact_deleted', count: IN_ANSWER + 2 * OF_PAGE + 9 },
  ])
})

test('what an execution that ended at that moment told webhooks is blanked by the job', async () => {
  const email = await someone(1)
  const [id = ''] = await live()
  // It had read the contact before the erasure, and is committed after it.
  const { body } = await api.request('GET', `/v1/automation/contacts/${email}`)
  expect(await beginErasing(email)).toBe(204)
  await sql`
    select tell_webhooks(${workspaceId}, 'execution.cancelled', now(),
      jsonb_build_object('execution_id', ${id}::text, 'email', ${body['email']}::text), null)`.execute(
    db,
  )
  expect(await traces(db, email)).toContain(`webhook_events.data ${email}`)
  expect(await carryOnErasing(deps)).toBe('completed')
  expect(await traces(db, email)).toEqual([])
})
