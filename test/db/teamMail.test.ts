// Copies for the team: what stops them, and that nothing that becomes of them is the contact's.
import { beforeEach, expect, test } from 'vitest'
import { transact } from '../../commands/transact.ts'
import { listExecutionEmails } from '../../db/emails/ofExecutions.ts'
import { listEmailActivity, listMarketingTimes } from '../../db/executions/facts.ts'
import { clickToken, openToken } from '../../mail/tracking/tokens.ts'
import { wholeWorkspace } from '../../rules/reach.ts'
import { copyToken } from '../../rules/wire.ts'
import { createTestApi } from '../setup/api.ts'
import { createLeavers } from '../setup/leavers.ts'
import { bringTo } from '../setup/states.ts'
import { BROWSER, storeLinks } from '../setup/trackedMail.ts'
import { uniqueName } from '../setup/unique.ts'

const MINUTE_MS = 60_000
let time = Date.UTC(2026, 0, 1)
const api = await createTestApi({ now: () => new Date(time) })
const { db, deps, workspaceId } = api
const { mail, leaver, claim, outcome, visit, report } = await createLeavers(api)

beforeEach(() => {
  time += 60 * MINUTE_MS
})

const colleague = () => `${uniqueName('team')}@sender.test`
const optOutsOf = (email: string) =>
  db
    .selectFrom('opt_outs')
    .select('scope')
    .where('address_hmac', '=', deps.addressMac(workspaceId, email))
    .execute()

/** What somebody's browser asks. */
const get = (path: string) =>
  api.app.request(
    path,
    { headers: { 'user-agent': BROWSER } },
    { incoming: { socket: { remoteAddress: '198.51.100.7' } } },
  )

/** A contact with a mail that was delivered with a copy to a colleague, who is a contact too. */
async function delivered() {
  const one = await leaver()
  const copy = await leaver({}, colleague())
  const sent = await mail(one, 'marketing', { cc: [copy.email] })
  const [copyId = 0] = sent.copyIds
  await bringTo(db, { emailId: sent.emailId }, 'delivered', new Date(time))
  await storeLinks(deps, [
    { email_id: sent.emailId, urls: ['a', 'b', 'c'].map((name) => `https://x.test/${name}`) },
  ])
  time += MINUTE_MS
  const mac = deps.secrets.mac('tracking')
  return {
    ...one,
    ...sent,
    copyId,
    colleague: copy.email,
    open: (id: number) => get(`/t/o/${openToken(mac, id)}`),
    click: (id: number, index = 0) => get(`/t/c/${clickToken(mac, id, index)}`),
  }
}

test('what stops the mail of the contact stops its copies, and what a colleague left does not', async () => {
  const one = await leaver()
  const sent = await mail(one, 'marketing', { cc: [colleague()] })
  await visit('POST', sent)
  await claim()
  const all = [sent.deliveryId, ...sent.copyIds]
  expect(await Promise.all(all.map(outcome))).toEqual(
    all.map(() => 'cancelled, Permanent Unsubscribed'),
  )

  const other = await leaver()
  const left = await leaver({}, colleague())
  const optOut = {
    id: uniqueName('opt'),
    workspace_id: workspaceId,
    source: 'link',
    created_at: new Date(time),
  } as const
  await db
    .insertInto('opt_outs')
    .values({
      ...optOut,
      scope: 'workspace',
      target_id: '',
      address_hmac: deps.addressMac(workspaceId, left.email),
      unconfirmed_email_id: null,
    })
    .execute()
  const going = await mail(other, 'marketing', { cc: [left.email] })
  await claim()
  expect(await Promise.all([going.deliveryId, ...going.copyIds].map(outcome))).toEqual([
    'sending',
    'sending',
  ])
})

test('a colleague who is suppressed is left out, and the mail of the contact goes', async () => {
  const one = await leaver()
  const gone = colleague()
  await api.request('POST', '/v1/suppressions', { email: gone })
  const sent = await mail(one, 'marketing', { cc: [gone, colleague()] })
  await claim()
  expect(await Promise.all([sent.deliveryId, ...sent.copyIds].map(outcome))).toEqual([
    'sending',
    'suppressed, Permanent OnAccountSuppressionList',
    'sending',
  ])
})

test('what a colleague opens, clicks or lets bounce is told to nobody, and is no activity of the contact', async () => {
  const one = await delivered()
  const told = async () => {
    const rows = await db
      .selectFrom('outbox')
      .select(['contact_id', 'payload'])
      .where('kind', '=', 'mail_event')
      .orderBy('id')
      .execute()
    await db.deleteFrom('outbox').where('kind', '=', 'mail_event').execute()
    return rows.map(({ payload }) => [payload['delivery_id'], payload['name']])
  }
  const activity = () =>
    transact.one(deps, async ({ db: trx }) =>
      (await listEmailActivity(trx, workspaceId, [one.executionId])).get(one.executionId),
    )
  const shown = async () => {
    const [email] = await listExecutionEmails(db, wholeWorkspace(workspaceId), one.executionId)
    return [email?.recipient, ...(email?.events.map(({ status }) => status) ?? [])]
  }
  await told()
  const before = await shown()
  await one.open(one.copyId)
  await one.click(one.copyId)
  expect(await report(one.copyId, 'bounce')).toBe('taken')
  expect(await told()).toEqual([])
  expect((await activity())?.['send']).not.toContain('opened')
  expect(await shown()).toEqual(before)

  await one.open(one.deliveryId)
  expect(await told()).toEqual([[one.deliveryId, 'opened']])
  expect((await activity())?.['send']).toContain('opened')
  expect((await activity())?.['send']).not.toContain('clicked')
  expect(await shown()).toEqual([...before, 'opened'])
  expect(before[0]).toBe(one.email)
})

test('a copy is no further marketing mail to the contact, and none to the colleague', async () => {
  const one = await delivered()
  const times = (email: string) =>
    transact.one(deps, ({ db: trx }) =>
      listMarketingTimes(trx, workspaceId, {
        hmac: deps.addressMac(workspaceId, email),
        since: new Date(0),
        limit: 10,
      }),
    )
  expect(await times(one.email)).toHaveLength(1)
  expect(await times(one.colleague)).toEqual([])
})

test('a scanner of the team undoes nothing that the contact did', async () => {
  const one = await delivered()
  await visit('GET', one)
  for (const index of [0, 1, 2]) await one.click(one.copyId, index)
  expect(await optOutsOf(one.email)).toEqual([{ scope: 'workflow' }])

  const other = await delivered()
  for (const index of [0, 1, 2]) await other.click(other.copyId, index)
  await visit('GET', other)
  expect(await optOutsOf(other.email)).toEqual([{ scope: 'workflow' }])
})

test('a complaint of a colleague is not one of the contact', async () => {
  const one = await delivered()
  expect(await report(one.copyId, 'complaint')).toBe('taken')
  expect(await optOutsOf(one.email)).toEqual([])
  const suppressed = await db.selectFrom('suppressions').select('email').execute()
  expect(suppressed.map(({ email }) => email)).toContain(one.colleague)
  expect(suppressed.map(({ email }) => email)).not.toContain(one.email)
  expect(await report(one.deliveryId, 'complaint')).toBe('taken')
  expect(await optOutsOf(one.email)).toEqual([{ scope: 'workflow' }])
})

test('the link to unsubscribe of a copy says what it is, and does nothing', async () => {
  for (const method of ['GET', 'POST']) {
    const answer = await api.request(method, `/u/${copyToken}`, undefined, { authorization: '' })
    expect([answer.status, answer.text.includes('This mail was a copy')]).toEqual([200, true])
  }
})
