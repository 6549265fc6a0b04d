// Answers that are kept for an Idempotency-Key after an erasure was answered, and name its contact: an execution that the job has not blanked yet
// is cancelled once more.
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { createTestApi } from '../setup/api.ts'
import { createLeavers, type Leaver } from '../setup/leavers.ts'
import { carryOnErasing, traces } from '../setup/traces.ts'
import { uniqueName } from '../setup/unique.ts'

const api = await createTestApi()
const { db, deps } = api
const leavers = await createLeavers(api)

const erase = async ({ email }: Leaver) =>
  (await api.request('DELETE', `/v1/automation/contacts/${email}`)).status
const cancelPath = ({ executionId }: Leaver) => `/v1/executions/${executionId}/cancel`
const cancel = (one: Leaver, key: string, reason?: string) =>
  api.request('POST', cancelPath(one), { reason }, { 'idempotency-key': key })
const bodyOf = async ({ executionId }: Leaver) => {
  const { rows } = await sql<{ body: string }>`
    select body from idempotency_keys where strpos(body, ${executionId}) > 0`.execute(db)
  return rows.map(({ body }) => JSON.parse(body))
}

test('one about an execution that had ended, kept before the job has blanked it', async () => {
  const name = uniqueName('countess')
  const one = await leavers.leaver()
  await cancel(one, uniqueName('key'), `asked by ${name}`)
  expect(await erase(one)).toBe(204)
  const { status, body } = await cancel(one, uniqueName('key'))
  expect([status, body]).toMatchObject([200, { context: { email: one.email } }])
  expect(await carryOnErasing(deps)).toBe('completed')
  expect(await traces(db, one.email, name)).toEqual([])
  expect(await bodyOf(one)).toMatchObject([
    { execution_id: one.executionId, status: 'CANCELLED', context: { email: '' } },
    { execution_id: one.executionId, status: 'CANCELLED', context: { email: '' } },
  ])
})

test('one about an execution of somebody who uses the address again stays', async () => {
  const one = await leavers.leaver()
  expect(await erase(one)).toBe(204)
  const again = await leavers.leaver({}, one.email)
  expect((await cancel(again, uniqueName('key'))).body).toMatchObject({
    context: { email: one.email },
  })
  expect(await carryOnErasing(deps)).toBe('completed')
  expect(await bodyOf(again)).toMatchObject([{ context: { email: one.email } }])
})
