// Who is unsubscribed from an audience or removed has left it; who may take that back.
import { describe, expect, test } from 'vitest'
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

describe('no call takes back what a person did themselves:', () => {
  /** A member who has complained about a mail of a workflow. */
  async function complainer() {
    const who = await member()
    const someone = await leaver()
    await report(await delivered({ ...someone, email: who.email }), 'complaint')
    const counts = async () => {
      const { body } = await api.request('GET', who.path.replace('/contacts', ''))
      return [body['contact_count'], body['unsubscribers']]
    }
    const shown = async () => {
      const { body } = await api.request<{ contacts: object[] }>('GET', who.path)
      return body.contacts
    }
    expect(await counts()).toEqual([1, 1])
    return { ...who, counts, shown }
  }
  const refused = { status: 409, body: { code: 'opted_out' } }
  const inOptOuts = 'audience true complaint'

  test('PATCH and POST are refused, and change nothing', async () => {
    const { email, path, one, optOuts, counts, shown } = await complainer()
    const before = await shown()
    const change = { first_name: 'Ada', is_subscribed: true }
    expect(await api.request('PATCH', one, change)).toMatchObject(refused)
    const added = await api.request('POST', path, { email, ...change })
    expect(added).toMatchObject(refused)
    expect(added.body['message']).toContain(email)
    expect(added.body['message']).toContain('complaint')
    expect([await counts(), await shown()]).toEqual([[1, 1], before])
    // What says nothing of it, or the same as they, is taken.
    expect((await api.request('PATCH', one, { first_name: 'Ada' })).status).toBe(200)
    const same = { email, is_subscribed: false }
    expect((await api.request('POST', path, same)).status).toBe(200)
    expect(await counts()).toEqual([1, 1])
    expect(await optOuts()).toContain(inOptOuts)
  })

  test('a batch says which, and takes the others', async () => {
    const { email, path, optOuts, counts, shown } = await complainer()
    const contacts = [
      { email: 'other@person.test' },
      { email, is_subscribed: true, first_name: 'Ada' },
      { email, last_name: 'Lovelace' },
    ]
    const answer = await api.request('POST', `${path}/batch`, { contacts })
    expect([answer.status, answer.body]).toMatchObject([
      200,
      {
        contacts: [
          { email: 'other@person.test', created: true },
          { email, created: false },
        ],
        errors: [{ index: 1, code: 'opted_out' }],
      },
    ])
    expect(await counts()).toEqual([2, 1])
    expect(await shown()).toContainEqual(
      expect.objectContaining({ email, first_name: null, is_subscribed: false }),
    )
    expect(await optOuts()).toContain(inOptOuts)
  })

  test('who is removed and added again is added unsubscribed', async () => {
    const { email, path, one, optOuts, counts } = await complainer()
    await api.request('DELETE', one)
    expect(await counts()).toEqual([0, 0])
    const added = await api.request('POST', path, { email })
    expect([added.status, added.body['is_subscribed']]).toEqual([201, false])
    expect(await counts()).toEqual([1, 1])
    await api.request('DELETE', one)
    expect(await api.request('POST', path, { email, is_subscribed: true })).toMatchObject(refused)
    await api.request('POST', `${path}/batch`, { contacts: [{ email }] })
    expect(await counts()).toEqual([1, 1])
    expect(await optOuts()).toContain(inOptOuts)
  })
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
