// Mail of people who were erased: what they left or bounced stays in force for mail that comes later, and what comes back of the mail that they
// had is obeyed, and names nobody.
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { reEncryptAll } from '../../commands/secrets/reEncrypt.ts'
import { clickToken, openToken } from '../../mail/tracking/tokens.ts'
import { createSecrets } from '../../runtime/secrets.ts'
import { createTestApi } from '../setup/api.ts'
import { createLeavers } from '../setup/leavers.ts'
import { bringTo } from '../setup/states.ts'
import { carryOnErasing, traces } from '../setup/traces.ts'
import { BROWSER, storeLinks } from '../setup/trackedMail.ts'
import { uniqueName } from '../setup/unique.ts'

const clock = { ms: Date.now() }
const api = await createTestApi({ now: () => new Date(clock.ms) })
const { db, deps, workspaceId } = api
const leavers = await createLeavers(api)

const erase = async (email: string) => {
  const path = `/v1/automation/contacts/${encodeURIComponent(email)}`
  expect((await api.request('DELETE', path)).status).toBe(204)
  expect(await carryOnErasing(deps)).toBe('completed')
  expect(await traces(db, email)).toEqual([])
}

const send = async (to: string, more: object = {}) => {
  const mail = { from: 'a@sender.test', to, subject: 'S', text: 'T', ...more }
  const { body } = await api.request<{ id: string }>('POST', '/v1/emails', mail)
  const row = await db
    .selectFrom('deliveries')
    .select('id')
    .where('email_id', '=', body.id)
    .executeTakeFirstOrThrow()
  return row.id
}

const suppressed = async (id: number) => {
  await leavers.claim()
  expect(await leavers.outcome(id)).toBe('suppressed, Permanent OnAccountSuppressionList')
}

test('scheduled mail to an erased, suppressed address is stopped when it is due', async () => {
  const { email } = await leavers.leaver()
  await api.request('POST', '/v1/suppressions', { email })
  await erase(email)
  const id = await send(email, { scheduled_at: clock.ms + 60_000 })
  expect(await leavers.outcome(id)).toBe('queued')
  clock.ms += 120_000
  await suppressed(id)
})

test('mail of a team to an erased, suppressed address is stopped, and the contact gets theirs', async () => {
  const copied = `${uniqueName('team')}@sender.test`
  const one = await leavers.leaver()
  await api.request('POST', '/v1/automation/events', { event_name: 'seen', email: copied })
  await api.request('POST', '/v1/suppressions', { email: copied })
  await erase(copied)
  const later = await leavers.mail(one, 'marketing', { cc: [copied] })
  const claimed = (await leavers.claim()).map(({ id }) => id)
  expect(claimed).toContain(later.deliveryId)
  expect(claimed).not.toContain(later.copyIds[0])
})

test.each(['bounce', 'complaint'] as const)(
  'a %s that comes after the erasure suppresses',
  async (kind) => {
    const one = await leavers.leaver()
    const id = await leavers.delivered(one)
    await erase(one.email)
    const waits = await send(one.email)
    expect(await leavers.report(id, kind)).toBe('taken')
    await suppressed(waits)
    expect(await leavers.outcome(await send(one.email))).toMatch(/^suppressed/)
    const { rows } = await sql`select 1 from erased_suppressions
    where address_hmac = ${deps.addressMac(workspaceId, one.email)} and reason = ${kind}`.execute(
      db,
    )
    expect(rows).toHaveLength(1)
    if (kind === 'complaint') expect(await one.begin()).toEqual([])
  },
)

test('who unsubscribes by the mail that they still have has left, and may undo it', async () => {
  for (const method of ['GET', 'POST']) {
    const one = await leavers.leaver()
    const mail = await leavers.mail(one)
    await erase(one.email)
    expect((await leavers.visit(method, mail)).text).toContain('unsubscribed')
    const { rows: counted } = await sql`select 1 from email_firsts
      where delivery_id = ${mail.deliveryId} and kind = 'unsubscribed'`.execute(db)
    expect(counted).toHaveLength(1)
    clock.ms += 120_000
    expect(await one.begin()).toEqual([])
    const news = await leavers.mail(one)
    expect((await leavers.claim()).map(({ id }) => id)).not.toContain(news.deliveryId)
    expect(await leavers.outcome(news.deliveryId)).toBe('cancelled, Permanent Unsubscribed')
    expect((await leavers.visit('POST', mail, '/undo')).status).toBe(200)
    expect(await one.begin()).toHaveLength(1)
  }
})

test('opens and clicks that come after the erasure name nobody', async () => {
  const one = await leavers.leaver()
  const id = await leavers.delivered(one)
  const { email_id } = await db
    .selectFrom('deliveries')
    .select('email_id')
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  await storeLinks(deps, [{ email_id, urls: ['https://shop.test/'] }])
  await erase(one.email)
  const mac = deps.secrets.mac('tracking')
  const visit = (path: string) =>
    api.app.request(
      path,
      { headers: { 'user-agent': BROWSER } },
      { incoming: { socket: { remoteAddress: '198.51.100.7' } } },
    )
  clock.ms += 60_000
  expect((await visit(`/t/o/${openToken(mac, id)}`)).status).toBe(200)
  expect((await visit(`/t/c/${clickToken(mac, id, 0)}`)).status).toBe(404)
  const { rows } = await sql`select recipient, data from email_events
    where email_id = ${email_id} and status = 'opened'`.execute(db)
  expect(rows).toEqual([{ recipient: `erased-${id}`, data: {} }])
})

test('the address of a job is encrypted anew with the next SECRET_KEY', async () => {
  const { email } = await leavers.leaver()
  const path = `/v1/automation/contacts/${encodeURIComponent(email)}`
  expect((await api.request('DELETE', path)).status).toBe(204)
  const [old, next] = [Buffer.alloc(32, 7), Buffer.alloc(32, 8)]
  const { unread } = await reEncryptAll({ ...deps, secrets: createSecrets(next, [old]) })
  expect(unread.filter((id) => id.startsWith('job_'))).toEqual([])
  const after = { ...deps, secrets: createSecrets(next) }
  expect(await carryOnErasing(after)).toBe('completed')
  expect(await traces(db, email)).toEqual([])
  // The tests after this one have the key of before.
  await reEncryptAll({ ...deps, secrets: createSecrets(old, [next]) })
})

test('links and counts of others whose address holds theirs stay as they are', async () => {
  const { email } = await leavers.leaver()
  const other = `jo+${email}`
  const mail = { from: 'a@sender.test', to: [email, other], subject: 'S', text: 'T' }
  const { body } = await api.request<{ id: string }>('POST', '/v1/emails', mail)
  const rows = await db
    .selectFrom('deliveries')
    .select('id')
    .where('email_id', '=', body.id)
    .execute()
  const ids = rows.map(({ id }) => id)
  await bringTo(db, { ids }, 'delivered', deps.now())
  const links = (who: string) =>
    [who, encodeURIComponent(who), `1%26to%3D${encodeURIComponent(who)}`].map(
      (one) => `https://shop.test/?who=${one}&x`,
    )
  const longer = [...links(other), ...links(`${email}.au`)]
  await storeLinks(deps, [{ email_id: body.id, urls: [...links(email), ...longer] }])
  const values = [`who:${email}`, `who:jo${email}`, `who:${other}`, `who:${email}.au`]
  await sql`insert into email_stats (workspace_id, kind, hour, domain_id, value, accepted)
    select ${workspaceId}, 'tag', 1, 'dom', v, 1 from unnest(${values}::text[]) v`.execute(db)
  const path = `/v1/automation/contacts/${encodeURIComponent(email)}`
  expect((await api.request('DELETE', path)).status).toBe(204)
  expect(await carryOnErasing(deps)).toBe('completed')
  const { urls } = await db
    .selectFrom('email_links')
    .select('urls')
    .where('email_id', '=', body.id)
    .executeTakeFirstOrThrow()
  expect(urls).toEqual(['', '', '', ...longer])
  const { rows: stats } = await sql<{ value: string }>`select value from email_stats
    where hour = 1 and domain_id = 'dom' order by value collate "C"`.execute(db)
  const wanted = ['who:erased', ...values.slice(1)].sort()
  expect(stats.map(({ value }) => value)).toEqual(wanted)
})

test('a suppression that is made between the answer and the job names nobody to webhooks', async () => {
  await api.request('POST', '/v1/webhooks', {
    url: 'https://hooks.example.test/in',
    events: ['*'],
  })
  const one = await leavers.leaver()
  const id = await leavers.delivered(one)
  const path = `/v1/automation/contacts/${encodeURIComponent(one.email)}`
  expect((await api.request('DELETE', path)).status).toBe(204)
  expect(await leavers.report(id, 'complaint')).toBe('taken')
  const { rows } = await sql`select 1 from webhook_events
    where type = 'suppression.created' and data->>'email' = ${one.email}`.execute(db)
  expect(rows).toHaveLength(1)
  expect(await carryOnErasing(deps)).toBe('completed')
  expect(await traces(db, one.email)).toEqual([])
})

test('counts by tag are walked over in pages, however many there are', async () => {
  const { email } = await leavers.leaver()
  await sql`insert into email_stats (workspace_id, kind, hour, domain_id, value, accepted)
    select ${workspaceId}, 'tag', 2, 'dom', lpad(n::text, 4, '0') || case when n % 700 = 0 then ':' || ${email}::text else '' end, 1
    from generate_series(1, 2500) n
    union all select ${workspaceId}, 'tag', 3, 'dom', n || ':' || ${email}::text, 2 from generate_series(1, 1200) n`.execute(
    db,
  )
  await erase(email)
  const { rows } = await sql<{ hour: number; count: number }>`
    select hour, count(*)::int as count from email_stats where value like '%:erased' and hour in (2, 3)
    group by hour order by hour`.execute(db)
  expect(rows).toEqual([
    { hour: 2, count: 3 },
    { hour: 3, count: 1_200 },
  ])
  const { rows: jobs } = await sql<{ done: number }>`
    select done from jobs where kind = 'erasure' order by id desc limit 1`.execute(db)
  expect(jobs[0]?.done).toBeGreaterThanOrEqual(3_700)
})

test('mail of a workflow keeps its history, and names the contact as the email does', async () => {
  const one = await leavers.leaver()
  const { emailId, deliveryId } = await leavers.mail(one)
  await bringTo(db, { ids: [deliveryId] }, 'delivered', deps.now())
  await db
    .insertInto('email_events')
    .values({
      ...{ email_id: emailId, workspace_id: workspaceId, recipient: one.email },
      ...{ status: 'delivered', at: deps.now(), data: '{}' },
    })
    .execute()
  const read = async () => {
    const of = await api.request<{ emails: object[] }>(
      'GET',
      `/v1/workflows/${one.workflowId}/emails`,
    )
    const by = await api.request<{ emails: object[] }>(
      'GET',
      `/v1/executions/${one.executionId}/emails`,
    )
    return [of.body.emails, by.body.emails]
  }
  const events = [{ status: 'sent' }, { status: 'delivered' }]
  expect(await read()).toMatchObject([[{ recipient: one.email, events }], [{ events }]])
  await erase(one.email)
  expect(await read()).toMatchObject([
    [{ recipient: `erased-${deliveryId}`, events }],
    [{ events }],
  ])
})
