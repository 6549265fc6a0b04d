// Who is unsubscribed from an audience or removed has left it; who may take that back.
import { expect, test } from 'vitest'
import { takeOverAudiences } from '../../commands/opt-outs/takeOver.ts'
import { createTestApi } from '../setup/api.ts'
import { createLeavers } from '../setup/leavers.ts'

const api = await createTestApi()
const { db, deps, workspaceId } = api
const { leaver, report, delivered } = await createLeavers(api)

async function member() {
  const { body } = await api.request<{ id: string }>('POST', '/v1/audiences', { name: 'News' })
  const path = `/v1/audiences/${body.id}/contacts`
  const { email } = await leaver()
  await api.request('POST', path, { email })
  const optOuts = async () => {
    const rows = await db
      .selectFrom('opt_outs')
      .select(['scope', 'target_id', 'source'])
      .where('address_hmac', '=', deps.addressMac(workspaceId, email))
      .execute()
    return rows.map((row) => `${row.scope} ${row.target_id === body.id} ${row.source}`)
  }
  return { email, path, one: `${path}/${email}`, optOuts }
}

test('PATCH writes the opt-out, and a single call takes back what one has made', async () => {
  const { one, optOuts } = await member()
  await api.request('PATCH', one, { is_subscribed: false })
  await api.request('PATCH', one, { first_name: 'Ada' })
  expect(await optOuts()).toEqual(['audience true api'])
  await api.request('PATCH', one, { is_subscribed: true })
  expect(await optOuts()).toEqual([])
})

test('DELETE keeps that they left; a batch does not take it back, a single call does', async () => {
  const { email, path, one, optOuts } = await member()
  await api.request('DELETE', one)
  expect(await optOuts()).toEqual(['audience true api'])
  await api.request('POST', `${path}/batch`, { contacts: [{ email }] })
  expect(await optOuts()).toEqual(['audience true api'])
  await api.request('POST', path, { email })
  expect(await optOuts()).toEqual([])
})

test('no call takes back what a person did themselves', async () => {
  const { email, one, optOuts } = await member()
  const someone = await leaver()
  await report(await delivered({ ...someone, email }), 'complaint')
  expect(await optOuts()).toContain('audience true complaint')
  await api.request('PATCH', one, { is_subscribed: true })
  expect(await optOuts()).toContain('audience true complaint')
})

test('a leave of the release before is copied, also when a PATCH of another field comes first', async () => {
  const { email, one, optOuts } = await member()
  await db
    .updateTable('audience_contacts')
    .set({ is_subscribed: false, leave_copied: null })
    .where('email', '=', email)
    .execute()
  await api.request('PATCH', one, { first_name: 'Ada' })
  await takeOverAudiences(deps)
  expect(await optOuts()).toEqual(['audience true api'])
})
