// Who leaves or is suppressed while a slow relay keeps their mail between claim and dot gets none of it; nor goes mail
// that expires there. Receipts still go to who unsubscribed.
import { expect, onTestFinished, test } from 'vitest'
import { generateDkimKey } from '../../mail/dkim/keys.ts'
import { createTestApi } from '../setup/api.ts'
import { eventually } from '../setup/eventually.ts'
import { createTestWorker } from '../setup/lanes.ts'
import { createLeavers, type Leaver, type WaitingMail } from '../setup/leavers.ts'
import { startSmtp } from '../setup/smtp.ts'

let ahead_ms = 0
const api = await createTestApi({ now: () => new Date(Date.now() + ahead_ms) })
const { db, deps } = api
const leavers = await createLeavers(api)
const { privateKey } = await generateDkimKey()
await db
  .updateTable('domain_keys')
  .set({ private_key: deps.secrets.encrypt('dkim-key', privateKey) })
  .execute()

const LEFT = 'cancelled, Permanent Unsubscribed'
const SUPPRESSED = 'suppressed, Permanent OnAccountSuppressionList'

interface Held {
  leaver: Leaver
  news: WaitingMail
  receipt: WaitingMail
}

/** What happens meanwhile, and what becomes of marketing mail and of a receipt. */
const ways: Record<string, [act: (one: Held) => Promise<unknown>, news: string, receipt: string]> =
  {
    nothing: [async () => undefined, 'delivered', 'delivered'],
    'one-click POST': [
      async ({ news }) => expect((await leavers.visit('POST', news)).status).toBe(200),
      LEFT,
      'delivered',
    ],
    'GET of the link': [({ news }) => leavers.visit('GET', news), 'queued', 'delivered'],
    'suppression by hand': [
      ({ leaver: { email } }) => api.request('POST', '/v1/suppressions', { email }),
      SUPPRESSED,
      SUPPRESSED,
    ],
    'cancel of the execution': [
      ({ leaver }) => api.request('POST', `/v1/executions/${leaver.executionId}/cancel`),
      'cancelled, Permanent Cancelled',
      'delivered',
    ],
    expiry: [
      async () => {
        ahead_ms += 10 * 60_000
      },
      'bounced, Transient General',
      'bounced, Transient General',
    ],
  }

test.each(Object.entries(ways))('%s', { timeout: 180_000 }, async (_name, [act, news, receipt]) => {
  const smtp = await startSmtp()
  onTestFinished(() => smtp.stop())
  let release = () => {}
  const hold = new Promise<void>((resolve) => {
    release = resolve
  })
  onTestFinished(release)
  smtp.setScript(() => ({ at: 'rcpt', reply: '250 2.1.5 ok', hold }))
  const leaver = await leavers.leaver()
  const held = {
    leaver,
    news: await leavers.mail(leaver),
    receipt: await leavers.mail(leaver, 'transactional'),
  }
  const ids = [held.news.deliveryId, held.receipt.deliveryId]
  await db
    .updateTable('deliveries')
    .set({ expires_at: new Date(deps.now().getTime() + 5 * 60_000) })
    .where('id', 'in', ids)
    .execute()
  const worker = createTestWorker(api, smtp.url, {
    now: deps.now,
    config: { leaseMs: 24 * 60 * 60_000 },
  })
  await worker.own({ lane: 0, lanes: 1 })
  worker.wake()
  await eventually(() => expect(smtp.attempts.get(leaver.email)).toBe(2))

  await act(held)
  release()
  await eventually(async () => {
    expect(await Promise.all(ids.map(leavers.outcome))).toEqual([news, receipt])
  })
  const arrived = [news, receipt].filter((state) => state === 'delivered').length
  expect(smtp.mailsTo(leaver.email)).toHaveLength(arrived)
  expect(smtp.refused).toEqual([])
  expect(smtp.attempts.get(leaver.email), 'nothing is tried again').toBe(2)
  const rows = await db
    .selectFrom('deliveries')
    .select(['state', 'attempt'])
    .where('id', 'in', ids)
    .execute()
  for (const { state, attempt } of rows) expect(attempt).toBe(state === 'delivered' ? 1 : 0)
})
