// Scheduled mail whose domain was deleted, or may not send any more, when its time comes: it is cancelled, and says why.
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { transact } from '../../commands/transact.ts'
import { stopScheduledOf } from '../../db/deliveries/scheduled.ts'
import { insertTestDomain } from '../setup/api.ts'
import { createScheduledApi } from '../setup/scheduledMail.ts'
import { uniqueName } from '../setup/unique.ts'
import { webhooksToldOf } from '../setup/webhookTold.ts'

const { api, clock, address, schedule, move, read, ready, claim } = await createScheduledApi()
const { db, workspaceId } = api
const DAY_MS = 86_400_000
await api.request('POST', '/v1/webhooks', { url: 'https://hooks.test/', events: ['*'] })

/** A domain of the workspace, and mail that is scheduled from it. */
async function domain() {
  const name = `${uniqueName('d')
    .toLowerCase()
    .replace(/[^a-z0-9]/g, '')}.test`
  const id = await insertTestDomain(api, name)
  return {
    id,
    mail: (to: string | string[] = address()) => schedule(DAY_MS, to, { from: `a@${name}` }),
    remove: () => api.request('DELETE', `/v1/domains/${id}`),
    setStatus: (status: string) =>
      sql`update domains set status = ${status} where id = ${id}`.execute(db),
  }
}

const lastOf = async (id: string) =>
  (await read(id)).recipient_statuses.map(({ events }) => events.at(-1))
const stopped = (subtype: string) => ({ status: 'bounced', type: 'Permanent', subtype })

/** What webhooks were told of an email, in order. */
const toldOf = async (id: string) =>
  (await webhooksToldOf(db, id)).map(({ type, data }) => [type, data['bounce'] ?? null])

/** Brings the time of all that was scheduled. @returns the emails that a lane claims then */
async function becomeDue(): Promise<string[]> {
  clock.ms += DAY_MS
  await ready()
  return (await claim()).map(({ email_id }) => email_id)
}

test('a domain that is deleted takes its scheduled mail along at once, and that of no other', async () => {
  const [gone, stays] = [await domain(), await domain()]
  const { id } = await gone.mail([address(), address()])
  const other = await stays.mail()
  expect((await gone.remove()).status).toBe(204)
  expect(await lastOf(id)).toMatchObject([stopped('DomainDeleted'), stopped('DomainDeleted')])
  const told = ['email.cancelled', { type: 'Permanent', subtype: 'DomainDeleted' }]
  expect((await toldOf(id)).slice(2)).toEqual([told, told])
  expect((await move(id, clock.ms + 1)).status).toBe(409)
  expect((await lastOf(other.id))[0]).toMatchObject({ status: 'scheduled' })
  expect(await becomeDue()).toEqual([other.id])
})

test('mail that was under way or due when its domain was deleted still goes', async () => {
  const gone = await domain()
  const due = await gone.mail()
  clock.ms += DAY_MS
  await ready()
  await gone.remove()
  expect((await claim()).map(({ email_id }) => email_id)).toEqual([due.id])
})

test('what was accepted while the domain was deleted, or was too much for one commit, is cancelled when it is due', async () => {
  const gone = await domain()
  const { id } = await gone.mail()
  const moved = await gone.mail()
  await sql`update domains set deleted_at = now() where id = ${gone.id}`.execute(db)
  expect((await move(moved.id, clock.ms)).body).toMatchObject({ status: 'cancelled' })
  expect(await lastOf(moved.id)).toMatchObject([stopped('DomainDeleted')])
  expect(await becomeDue()).toEqual([])
  expect(await lastOf(id)).toMatchObject([stopped('DomainDeleted')])
  expect((await toldOf(id)).at(-1)?.[0]).toBe('email.cancelled')
})

test.each([
  ['FAILED', false],
  ['PENDING', false],
  ['TEMPORARY_FAILURE', true],
])('whose domain is %s at its time: it goes is %s', async (status, goes) => {
  const lost = await domain()
  const { id } = await lost.mail()
  const tried = await lost.mail('delivered@simulator.test')
  await lost.setStatus(status)
  const claimed = await becomeDue()
  expect(claimed.includes(id)).toBe(goes)
  expect((await lastOf(id))[0]).toMatchObject(
    goes ? { status: 'sent' } : stopped('DomainNotVerified'),
  )
  // A test needs no verified domain.
  expect(claimed).toContain(tried.id)
})

test('where unverified domains may send, they may at their time too', async () => {
  const lost = await domain()
  const { id } = await lost.mail()
  await lost.setStatus('PENDING')
  clock.ms += DAY_MS
  const rights = { ...api.deps.config, allowUnverifiedDomains: true }
  await ready(10, new Map(), rights)
  expect((await claim()).map(({ email_id }) => email_id)).toContain(id)
})

test('none of it counts as a bounce', async () => {
  const gone = await domain()
  await gone.mail()
  await gone.remove()
  const since = 0
  const until = clock.ms + DAY_MS
  const { body } = await api.request<{ buckets: { group: string; bounced: number }[] }>(
    'GET',
    `/v1/stats/emails?interval=day&group=domain&since=${until - 5 * DAY_MS}&until=${until}`,
  )
  const [bucket] = body.buckets.filter(({ group }) => group === gone.id)
  expect([since, bucket]).toMatchObject([0, { accepted: 1, bounced: 0 }])
})

test('of very many, one commit settles some, by an index', async () => {
  const gone = await domain()
  await sql`
    insert into emails (id, workspace_id, type, category, "from", "to", subject, domain_id, message_id, scheduled_at, created_at)
    select 'em_many' || i, ${workspaceId}, 'transactional', 'transactional', 'a@b.test', '{}', 'S', ${gone.id}, 'm' || i,
      ${new Date(clock.ms + DAY_MS)}, now() from generate_series(1, 6000) i`.execute(db)
  await sql`
    insert into deliveries (email_id, workspace_id, domain_id, recipient, shard, state, next_at, due_at, expires_at, created_at,
      scheduled, ready)
    select 'em_many' || i, ${workspaceId}, ${gone.id}, 'r' || i || '@x.test', i % 64, 'queued', t.at, t.at, t.at, now(), true, false
    from generate_series(1, 6000) i, (select ${new Date(clock.ms + DAY_MS)}::timestamptz as at) t`.execute(
    db,
  )
  const counts: number[] = []
  for (let n = 0; n < 3; n++) {
    const stop = transact.one(api.deps, ({ db: trx }) =>
      stopScheduledOf(trx, workspaceId, gone.id, new Date(clock.ms)),
    )
    counts.push(await stop)
  }
  expect(counts).toEqual([5_000, 1_000, 0])
})

test('mail that is to be sent now says that it is cancelled where its domain may not send any more', async () => {
  const [unverified, deleted] = [await domain(), await domain()]
  const first = await unverified.mail([address(), address()])
  const later = await unverified.mail()
  const ofDeleted = await deleted.mail()
  await unverified.setStatus('PENDING')
  await sql`update domains set deleted_at = now() where id = ${deleted.id}`.execute(db)
  const moved = async (id: string, at: number) => (await move(id, at)).body
  expect(await moved(first.id, clock.ms)).toEqual({ id: first.id, status: 'cancelled' })
  expect(await moved(ofDeleted.id, clock.ms)).toEqual({ id: ofDeleted.id, status: 'cancelled' })
  expect(await moved(later.id, clock.ms + DAY_MS)).toEqual({ id: later.id, status: 'scheduled' })
  expect(await lastOf(first.id)).toMatchObject([
    stopped('DomainNotVerified'),
    stopped('DomainNotVerified'),
  ])
  expect(await lastOf(ofDeleted.id)).toMatchObject([stopped('DomainDeleted')])
  expect((await move(first.id, clock.ms)).status).toBe(409)
})
