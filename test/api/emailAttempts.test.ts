// GET /v1/emails/{id}/attempts: oldest first, bounded, only of the own workspace.
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { createTestApi } from '../setup/api.ts'
import { seedTenant } from '../setup/tenant.ts'

const api = await createTestApi()
const own = await seedTenant(api, 'own')
const other = await seedTenant(api, 'other')
const START_MS = Date.UTC(2026, 2, 2)

const get = (key: string, id: string) =>
  api.request('GET', `/v1/emails/${id}/attempts`, undefined, { authorization: `Bearer ${key}` })

async function writeAttempts(emailId: string, count: number): Promise<void> {
  const conversation = '0.5 S: 220 mx.one.test'
  await sql`
    insert into delivery_attempts (delivery_id, attempt, started_at, ended_at, outcome, phase, code,
      response, host, address, tls, conversation)
    select d.id, i, ${new Date(START_MS)}::timestamptz + i * interval '1 minute',
      ${new Date(START_MS)}::timestamptz + i * interval '1 minute' + interval '1 s', 'rejected', 'rcpt', 451,
      '451 later', 'mx.one.test', '192.0.2.1:25', 'TLSv1.3', ${conversation}
    from deliveries d, generate_series(1, ${count}::integer) i where d.email_id = ${emailId}
  `.execute(api.db)
}

test('an email that was not tried has no attempts; another one has the newest 200, oldest first', async () => {
  const id = own.ids['emails'] ?? ''
  expect(await get(own.key, id)).toMatchObject({ status: 200, body: { attempts: [], count: 0 } })
  await writeAttempts(id, 203)
  const { status, body } = await get(own.key, id)
  const attempts = body['attempts'] as { attempt: number }[]
  expect([status, body['count'], attempts.length]).toEqual([200, 200, 200])
  expect(attempts.map(({ attempt }) => attempt)).toEqual(
    Array.from({ length: 200 }, (_, i) => i + 4),
  )
  expect(attempts[0]).toEqual({
    recipient: 'you@example.test',
    attempt: 4,
    started_at: START_MS + 4 * 60_000,
    ended_at: START_MS + 4 * 60_000 + 1_000,
    outcome: 'rejected',
    phase: 'rcpt',
    code: 451,
    response: '451 later',
    host: 'mx.one.test',
    address: '192.0.2.1:25',
    tls: 'TLSv1.3',
    conversation: [{ at_ms: 0.5, from: 'server', text: '220 mx.one.test' }],
  })
})

test('an email of another workspace, or a text that is not an id, is not found', async () => {
  const id = other.ids['emails'] ?? ''
  await writeAttempts(id, 1)
  expect(await get(own.key, id)).toMatchObject({
    status: 404,
    body: { message: `Email ${id} not found` },
  })
  expect(await get(own.key, 'nothing')).toMatchObject({ status: 404 })
  expect(await get(other.key, id)).toMatchObject({ status: 200, body: { count: 1 } })
})
