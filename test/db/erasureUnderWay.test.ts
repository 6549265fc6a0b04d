// Erasing a contact while things are under way: mail that a lane has, transactions that are open, jobs that Postgres refuses.
import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { runJobPage } from '../../commands/jobs/runPage.ts'
import { takeReport } from '../../commands/reports/take.ts'
import { transact } from '../../commands/transact.ts'
import { releaseDeliveries } from '../../db/deliveries/leases.ts'
import { markDataSent } from '../../db/deliveries/mark.ts'
import { limits } from '../../rules/limits.ts'
import { createTestApi } from '../setup/api.ts'
import { erasing } from '../setup/erasing.ts'
import { createLeavers } from '../setup/leavers.ts'
import { untilWaiting } from '../setup/lockWaits.ts'
import { bringTo } from '../setup/states.ts'
import { carryOnErasing, traces } from '../setup/traces.ts'
import { uniqueName } from '../setup/unique.ts'

const clock = { ms: Date.now() }
const api = await createTestApi({ now: () => new Date(clock.ms) })
const { db, deps } = api
const leavers = await createLeavers(api)
const { beginErasing: erase, newestJob } = erasing(api)

beforeAll(async () => {
  const body = { url: 'https://hooks.example.test/in', events: ['*'] }
  expect((await api.request('POST', '/v1/webhooks', body)).status).toBe(201)
})

const liveErasures = async () => (await sql`select 1 from live_erasures`.execute(db)).rows.length

/** What webhooks have been told of a mail since it was sent: whom about, and what it is called. */
const toldOf = async (emailId: string) => {
  const { rows } = await sql<{ type: string; recipient: string; subject: string | null }>`
    select type, data->>'recipient' as recipient, data->>'subject' as subject from webhook_events
    where data->>'email_id' = ${emailId} and type <> 'email.sent' order by id`.execute(db)
  return rows
}
const mark = async (ids: number[], token: string) => [
  ...(await transact(deps, ({ db: trx }) => markDataSent(trx, ids, token, deps.now()))),
]
const giveBack = (ids: number[], token: string) => {
  const given = ids.map((id) => ({ id, was: 'queued' as const }))
  return transact(deps, ({ db: trx }) => releaseDeliveries(trx, given, token))
}
const claimed = async (token?: string) => (await leavers.claim(token)).map(({ id }) => id)

/** A transaction that writes, and is open until the test is over or it is ended. */
async function holdOpen(): Promise<() => Promise<void>> {
  const held = await db.startTransaction().execute()
  await sql`select pg_current_xact_id()`.execute(held)
  let isOpen = true
  const end = async () => {
    if (isOpen) await held.rollback().execute()
    isOpen = false
  }
  onTestFinished(end)
  return end
}

test('what a lane gives back after the answer is not sent, however long the job has to wait', async () => {
  const one = await leavers.leaver()
  const receipt = await leavers.mail(one, 'transactional')
  const other = await leavers.mail(one, 'transactional')
  const token = randomUUID()
  const ids = [receipt.deliveryId, other.deliveryId]
  expect(await claimed(token)).toEqual(expect.arrayContaining(ids))
  const end = await holdOpen()
  expect(await erase(one.email)).toBe(204)
  expect(await mark(ids, token)).toEqual([])
  await giveBack([receipt.deliveryId], token)
  expect(await claimed()).not.toContain(receipt.deliveryId)
  // Nobody is told of it before it is blanked.
  expect(await leavers.outcome(receipt.deliveryId)).toBe('cancelled')
  expect(await toldOf(receipt.emailId)).toEqual([])
  // Nor does the job wait with it for who is still writing.
  await giveBack([other.deliveryId], token)
  const { id } = await newestJob()
  expect(await runJobPage(deps, { id })).toMatchObject({ more: true })
  expect(await leavers.outcome(other.deliveryId)).toBe('cancelled')
  // Who uses the address again gets their mail meanwhile.
  const again = await leavers.leaver({}, one.email)
  const later = await leavers.mail(again, 'transactional')
  expect(await claimed()).toContain(later.deliveryId)
  expect(await liveErasures()).toBe(1)
  await end()
  expect(await carryOnErasing(deps)).toBe('completed')
  expect(await liveErasures()).toBe(0)
  const recipient = `erased-${receipt.deliveryId}`
  expect(await toldOf(receipt.emailId)).toEqual([
    { type: 'email.cancelled', recipient, subject: '' },
  ])
})

test.each(['marketing', 'transactional'] as const)(
  'mail to the team about them that a lane has at the answer is not sent: %s',
  async (category) => {
    const [one, other] = [await leavers.leaver(), await leavers.leaver()]
    // So no cancelling of theirs stops its mail.
    await sql`update executions set ended_status = 'COMPLETED', completed_at = now()
      where id = ${one.executionId}`.execute(db)
    const boss = `${uniqueName('team')}@sender.test`
    const copied = await leavers.mail(one, category, { cc: [boss] })
    const report = await leavers.mail(one, category, { team: [boss] })
    const written = await leavers.mail(one, category, { team: [boss] })
    const ofOther = await leavers.mail(other, category, { team: [boss] })
    const token = randomUUID()
    const about = [copied.deliveryId, ...copied.copyIds, report.deliveryId]
    const ids = [...about, written.deliveryId, ofOther.deliveryId]
    expect(await claimed(token)).toEqual(expect.arrayContaining(ids))
    // Its last bytes are being written at the answer.
    expect(await mark([written.deliveryId], token)).toEqual([written.deliveryId])
    const end = await holdOpen()
    expect(await erase(one.email)).toBe(204)
    expect(await mark([...about, ofOther.deliveryId], token)).toEqual([ofOther.deliveryId])
    await giveBack(about, token)
    const again = await claimed()
    for (const id of about) {
      expect(again).not.toContain(id)
      expect(await leavers.outcome(id)).toBe('cancelled')
    }
    expect(await toldOf(report.emailId)).toEqual([])
    await bringTo(db, { ids: [written.deliveryId] }, 'delivered', deps.now())
    await end()
    expect(await carryOnErasing(deps)).toBe('completed')
    expect(await leavers.outcome(report.deliveryId)).toBe('cancelled, Permanent Cancelled')
    expect(await toldOf(report.emailId)).toEqual([
      { type: 'email.cancelled', recipient: boss, subject: '' },
    ])
    expect(await leavers.outcome(written.deliveryId)).toBe('delivered')
  },
)

test('a bounce that is being reported while its mail is blanked names nobody', async () => {
  const one = await leavers.leaver()
  const { deliveryId } = await leavers.mail(one)
  await bringTo(db, { ids: [deliveryId] }, 'data_sent', deps.now())
  expect(await erase(one.email)).toBe(204)
  const { id } = await newestJob()
  // What is open now it waits for, and so not for what begins later: it waits for the mail alone then.
  const end = await holdOpen()
  await runJobPage(deps, { id })
  await end()
  expect(await carryOnErasing(deps)).toBe('running')
  await bringTo(db, { ids: [deliveryId] }, 'delivered', deps.now())
  const held = await db.startTransaction().execute()
  onTestFinished(async () => {
    if (!held.isCommitted) await held.rollback().execute()
  })
  const bounce = { type: 'Permanent', subtype: 'NoEmail', final: true, fault: 'recipient' } as const
  const report = { kind: 'bounce', status: '5.1.1', bounce } as const
  expect(await takeReport({ ...deps, db: held }, deliveryId, report)).toBe('taken')
  const page = runJobPage(deps, { id })
  await untilWaiting(db, 1)
  await held.commit().execute()
  await page
  expect(await carryOnErasing(deps)).toBe('completed')
  expect(await traces(db, one.email)).toEqual([])
})

test.each(['before', 'after'])(
  'the job waits for who has read the contact, and writes %s its first page',
  async (moment) => {
    const email = `${uniqueName('old')}@person.test`
    await api.request('POST', '/v1/automation/events', { event_name: 'seen', email })
    // As retention does. Nothing is left then for which the job has a second page.
    await sql`delete from automation_events where email = ${email}`.execute(db)
    await sql`delete from webhook_events where webhook_person(data) = ${email}`.execute(db)
    await sql`delete from idempotency_keys`.execute(db)
    const held = await db.startTransaction().execute()
    onTestFinished(async () => void (held.isCommitted || (await held.rollback().execute())))
    const { rows } = await sql`select 1 from contacts where email = ${email}`.execute(held)
    expect(rows).toHaveLength(1)
    const write = () =>
      sql`insert into soft_bounces (workspace_id, email, day)
        values (${api.workspaceId}, ${email}, '2026-01-01')`.execute(held)
    expect(await erase(email)).toBe(204)
    if (moment === 'before') await write()
    expect(await runJobPage(deps, { id: (await newestJob()).id })).toMatchObject({ more: true })
    if (moment === 'after') await write()
    await held.commit().execute()
    expect(await carryOnErasing(deps)).toBe('completed')
    expect(await traces(db, email)).toEqual([])
  },
)

test('an erasure may be paused, and cannot be cancelled', async () => {
  const { email } = await leavers.leaver()
  expect(await erase(email)).toBe(204)
  const { id } = await newestJob()
  expect(await api.request('POST', `/v1/jobs/${id}/cancel`)).toMatchObject({
    status: 409,
    body: { code: 'job_not_running' },
  })
  expect((await api.request('POST', `/v1/jobs/${id}/pause`)).status).toBe(200)
  expect((await api.request('POST', `/v1/jobs/${id}/cancel`)).status).toBe(409)
  expect((await api.request('POST', `/v1/jobs/${id}/resume`)).status).toBe(200)
  expect(await carryOnErasing(deps)).toBe('completed')
  expect((await newestJob()).input).toEqual({ contact_id: expect.any(String) })
  expect((await api.request('POST', `/v1/jobs/${id}/resume`)).status).toBe(409)
  expect(await traces(db, email)).toEqual([])
})

test.each(['resume', 'DELETE'])('one that has failed is carried on by %s', async (way) => {
  const { email } = await leavers.leaver()
  expect(await erase(email)).toBe(204)
  const { id } = await newestJob()
  // A place that is no hex is refused by Postgres for its data, each time; nobody is waited for.
  await sql`update jobs set place = '/no hex', refusals = ${limits.jobRefusalsMax - 1},
    input = jsonb_set(input, '{waits_for}', '[]') where id = ${id}`.execute(db)
  expect(await carryOnErasing(deps)).toBe('failed')
  const { input } = await newestJob()
  expect(Object.keys(input)).toContain('address')
  expect(JSON.stringify(input)).not.toContain(email)
  expect((await api.request('POST', `/v1/jobs/${id}/cancel`)).status).toBe(409)
  await sql`update jobs set place = null where id = ${id}`.execute(db)
  if (way === 'resume') {
    expect((await api.request('POST', `/v1/jobs/${id}/resume`)).body).toMatchObject({
      status: 'queued',
      error: null,
      completed_at: null,
    })
  } else {
    expect(await erase(`nobody-${email}`)).toBe(404)
    expect(await erase(email.toUpperCase())).toBe(204)
    expect(await erase(email)).toBe(404)
  }
  expect(await carryOnErasing(deps)).toBe('completed')
  expect(await traces(db, email)).toEqual([])
  expect(await liveErasures()).toBe(0)
})
