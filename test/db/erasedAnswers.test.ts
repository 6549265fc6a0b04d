// Answers that are kept for an Idempotency-Key and name an erased contact, although they were kept after the answer of the erasure: who cancels an
// execution waits for no lock of its contact, and reads an execution that the job has not blanked yet.
import { hash } from 'node:crypto'
import { sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import { createTestApi } from '../setup/api.ts'
import { createLeavers, type Leaver } from '../setup/leavers.ts'
import { untilWaiting } from '../setup/lockWaits.ts'
import { carryOnErasing, traces } from '../setup/traces.ts'
import { uniqueName } from '../setup/unique.ts'

const api = await createTestApi()
const { db, deps, workspaceId } = api
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

test('one that was kept while the erasure waited for its execution', async () => {
  const one = await leavers.leaver()
  const key = uniqueName('key')
  const held = await db.startTransaction().execute()
  onTestFinished(
    async () => void (held.isCommitted || held.isRolledBack || (await held.rollback().execute())),
  )
  // Somebody else's row with that key: the answer waits for it, and the transaction holds the execution.
  const keyHash = hash('sha256', JSON.stringify([cancelPath(one), null, key]), 'buffer')
  await sql`insert into idempotency_keys (workspace_id, key_hash, fingerprint, status, body, created_at)
    values (${workspaceId}, ${keyHash}, '', 200, '', now())`.execute(held)
  const cancelling = cancel(one, key)
  await untilWaiting(db, 1)
  const erasing = erase(one)
  await untilWaiting(db, 2)
  await held.rollback().execute()
  expect((await cancelling).body).toMatchObject({ context: { email: one.email } })
  expect(await erasing).toBe(204)
  expect(await carryOnErasing(deps)).toBe('completed')
  expect(await traces(db, one.email)).toEqual([])
})

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

test('of somebody who has the address after the erasure it stays, and of others', async () => {
  const one = await leavers.leaver()
  expect(await erase(one)).toBe(204)
  const again = await leavers.leaver({}, one.email)
  expect((await cancel(again, uniqueName('key'))).body).toMatchObject({
    context: { email: one.email },
  })
  expect(await carryOnErasing(deps)).toBe('completed')
  expect(await bodyOf(again)).toMatchObject([{ context: { email: one.email } }])
})
