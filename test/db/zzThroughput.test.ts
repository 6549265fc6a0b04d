// Temporary measurement.
import { sql } from 'kysely'
import { test } from 'vitest'
import { createTestApi, insertTestDomain } from '../setup/api.ts'
import { design, insertFlow, onEvent } from '../setup/flows.ts'
import { tellAll } from '../setup/mailEvents.ts'

const api = await createTestApi()
const { db, deps, workspaceId, userId } = api
await insertTestDomain(api, 'sender.test')
const N = 10_000
const seed = async () => {
  await sql`insert into contacts (id, workspace_id, email, event_count, first_seen, last_seen, last_event, created_at, updated_at)
    select 'con_' || n, ${workspaceId}, 'c' || n || '@x.test', 0, now(), now(), 'x', now(), now() from generate_series(1, ${N}) n on conflict do nothing`.execute(db)
  await sql`insert into outbox (kind, execution_id, workspace_id, workflow_id, contact_id, payload, next_at, created_at)
    select 'mail_event', '', ${workspaceId}, '', 'con_' || n, jsonb_build_object('delivery_id', (select min(id) from deliveries), 'name', 'delivered', 'at', now(), 'data', '{}'::jsonb), now() - interval '1 minute', now()
    from generate_series(1, ${N}) n`.execute(db)
}
test('throughput', async () => {
  await api.request('POST', '/v1/emails', { from: 'a@sender.test', to: 'z@x.test', subject: 'S', text: 'T' })
  await seed()
  let began = performance.now()
  let told = await tellAll(deps)
  console.log('quiet', told, Math.round(told / ((performance.now() - began) / 1000)), '/s')
  await seed()
  await insertFlow(db, { workspaceId, userId }, design({ start: onEvent('email.delivered'), end: ['exit', {}] }, [['start', 'end']]))
  began = performance.now()
  told = await tellAll(deps)
  console.log('loud', told, Math.round(told / ((performance.now() - began) / 1000)), '/s')
}, 300_000)
