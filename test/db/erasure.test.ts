// Erasing a contact: no column of any table names them any more, also after a page that came to nothing; what they left stays left.
// Long because one person leaves every kind of trace, and each is looked for.
import { sql } from 'kysely'
import { beforeAll, describe, expect, test } from 'vitest'
import { recordCall } from '../../commands/executions/recordCall.ts'
import { runJobPage } from '../../commands/jobs/runPage.ts'
import { transact } from '../../commands/transact.ts'
import { insertCall } from '../../db/executions/calls.ts'
import { listLiveJobs } from '../../db/jobs/reads.ts'
import { foldEmailStats } from '../../db/stats/fold.ts'
import { createTestApi, insertTestDomain } from '../setup/api.ts'
import { createBoundKey } from '../setup/boundKey.ts'
import { welcomeDesign } from '../setup/designs.ts'
import { carryOnErasing, traces } from '../setup/traces.ts'

const api = await createTestApi()
const { db, deps, workspaceId } = api
const domainId = await insertTestDomain(api, 'sender.test')

const FROM = 'Shop <hello@sender.test>'
const ADA = 'ada.lovelace+shop@person.test'
const NAME = 'Countess-Lovelace'
const path = (email: string) => `/v1/automation/contacts/${encodeURIComponent(email)}`

const post = async (to: string, body: object, key?: string) => {
  const headers = key ? { 'idempotency-key': key } : {}
  const answer = await api.request('POST', `/v1${to}`, body, headers)
  expect(answer.status, `${to} ${answer.text}`).toBeLessThan(300)
  return answer.body
}

const found = (...values: string[]) => traces(db, ...values)
const carryOn = () => carryOnErasing(deps)

const eraseJobs = async () =>
  (await api.request<{ jobs: { id: string; status: string }[] }>('GET', '/v1/jobs?kind=erasure'))
    .body.jobs

const statesOf = async (emailId: string) =>
  (
    await sql<{ state: string; recipient: string }>`
      select state, recipient from deliveries where email_id = ${emailId} order by id`.execute(db)
  ).rows

/** What is known of them: everything that a person leaves behind. @returns ids of mail */
async function leaveTraces(email: string) {
  const contact_properties = { first_name: NAME, address: { street: `Street of ${NAME}` } }
  const event = {
    event_name: 'user.signed_up',
    email,
    contact_properties,
    properties: { by: NAME },
    event_id: `signup ${email}`,
  }
  await post('/automation/events', event, 'event-of-ada')
  const batch = [
    { event_name: 'seen', email },
    { event_name: 'seen', email: `x${email}` },
  ]
  await post('/automation/events/batch', { events: batch }, 'events-of-two')
  const audience = String((await post('/audiences', { name: 'All' }))['id'])
  const member = { email, first_name: NAME, properties: { phone: NAME } }
  await post(`/audiences/${audience}/contacts`, member, 'member-ada')
  const mail = {
    from: FROM,
    to: `${NAME} <${email}>`,
    subject: `For ${NAME}`,
    html: `<p>${NAME}, ${email}</p>`,
    headers: { 'X-For': email },
    tags: { who: email },
    metadata: { name: NAME },
    attachments: [{ filename: `${NAME}.txt`, content: Buffer.from(email).toString('base64') }],
  }
  const delivered = String((await post('/emails', mail))['id'])
  const waiting = String((await post('/emails', mail))['id'])
  const both = { ...mail, to: [mail.to, 'other@person.test'] }
  const shared = String((await post('/emails', both, 'mail-to-ada'))['id'])
  await sql`
    with token as (select gen_random_uuid() as id)
    update deliveries set state = 'sending', lease_until = now(), lease_token = token.id, fence = token.id
    from token
    where email_id in (${delivered}, ${shared})`.execute(db)
  await sql`update deliveries set state = 'data_sent' where email_id = ${delivered}`.execute(db)
  await sql`update deliveries set state = 'delivered', settled_at = now(), lease_until = null, lease_token = null,
    last_response = ${`250 for ${email}`} where email_id = ${delivered}`.execute(db)
  await sql`
    insert into email_events (email_id, workspace_id, recipient, status, at, data)
    select ${delivered}, ${workspaceId}, recipient, 'delivered', now(),
      jsonb_build_object('smtp_response', ${`250 for ${email}`}::text, 'ip', '192.0.2.7')
    from deliveries where email_id = ${delivered}`.execute(db)
  await sql`
    insert into delivery_attempts (delivery_id, attempt, started_at, ended_at, outcome, response, conversation)
    select id, 1, now(), now(), 'delivered', ${`250 for ${email}`}, ${`RCPT TO:<${email}>`}
    from deliveries where email_id = ${delivered}`.execute(db)
  await sql`insert into email_links (email_id, urls) values (${delivered},
    array[${`https://shop.test/?who=${encodeURIComponent(email)}`}])`.execute(db)
  const raw = `To: ${email}\r\n\r\n${Buffer.from(email).toString('base64')}`
  await sql`insert into email_sources (email_id, position, content)
    values (${delivered}, 0, ${Buffer.from(raw)})`.execute(db)
  await sql`insert into soft_bounces (workspace_id, email, day)
    values (${workspaceId}, ${email}, '2026-01-01')`.execute(db)
  return { audience, delivered, waiting, shared }
}

const mails = { audience: '', delivered: '', waiting: '', shared: '' }
beforeAll(async () => {
  await post('/webhooks', { url: 'https://hooks.example.test/in', events: ['*'] })
  const design = welcomeDesign
  await post('/workflows', { name: 'Flow', status: 'active', design })
  Object.assign(mails, await leaveTraces(ADA))
})

describe('erasing a contact', () => {
  test('ends what goes on in the answer, tells nobody who they were, and starts nothing', async () => {
    expect(await found(ADA)).not.toEqual([])
    const before = await sql<{ last: string }>`
      select coalesce(max(id), '') as last from automation_events`.execute(db)
    expect((await api.request('DELETE', path(ADA))).status).toBe(204)
    expect(await api.request('DELETE', path(ADA))).toMatchObject({
      status: 404,
      body: { code: 'not_found' },
    })
    expect((await api.request('GET', path(ADA))).status).toBe(404)
    const waiting = await statesOf(mails.waiting)
    expect(waiting.map(({ state }) => state)).toEqual(['cancelled'])
    const { rows: executions } = await sql<{ ended_status: string; cancellation_reason: string }>`
      select ended_status, cancellation_reason from executions`.execute(db)
    expect(executions).toEqual([
      { ended_status: 'CANCELLED', cancellation_reason: 'contact_deleted' },
    ])
    const { rows: events } = await sql`
      select 1 from automation_events where id > ${before.rows[0]?.last ?? ''}`.execute(db)
    expect(events).toEqual([])
    const { rows: told } = await sql<{ type: string; email: string | null }>`
      select type, data->>'email' as email from webhook_events
      where type in ('contact.deleted', 'execution.cancelled', 'audience.left') order by type`.execute(
      db,
    )
    expect(told).toEqual([
      { type: 'audience.left', email: '' },
      { type: 'contact.deleted', email: null },
      { type: 'execution.cancelled', email: '' },
    ])
    const audience = await api.request('GET', '/v1/audiences')
    expect(JSON.stringify(audience.body)).toContain('"contact_count":0')
  })

  test('leaves no trace once mail under way has ended, also after a page that came to nothing', async () => {
    const [job] = await eraseJobs()
    const killed = transact(deps, async (inTrx) => {
      await runJobPage({ ...deps, ...inTrx }, { id: job?.id ?? '' })
      throw new Error('killed')
    })
    await expect(killed).rejects.toThrow('killed')
    expect(await carryOn()).toBe('running')
    const shared = await statesOf(mails.shared)
    expect(shared.map(({ recipient }) => recipient)).toContain(ADA)
    await sql`update deliveries set state = 'data_sent' where email_id = ${mails.shared}`.execute(
      db,
    )
    await sql`update deliveries set state = 'delivered', settled_at = now(), lease_until = null,
      lease_token = null where email_id = ${mails.shared}`.execute(db)
    // Folded ones stand in another table.
    await transact(deps, ({ db: trx }) => foldEmailStats(trx, 1))
    expect(await carryOn()).toBe('completed')
    // What is left names somebody else, whose address ends like theirs.
    const kept = (await found(ADA, NAME)).filter((trace) => !/ (x|78)/.test(trace))
    const other = await sql`delete from contacts where email = ${`x${ADA}`}`.execute(db)
    expect(other.numAffectedRows).toBe(1n)
    await sql`delete from automation_events where email = ${`x${ADA}`}`.execute(db)
    await sql`delete from webhook_events where webhook_person(data) = ${`x${ADA}`}`.execute(db)
    const { rows: answers } = await sql<{ body: string }>`
      select body from idempotency_keys where body like ${`%x${ADA}%`}`.execute(db)
    expect(answers).toHaveLength(1)
    expect(JSON.parse(answers[0]?.body ?? '{}').events).toMatchObject([
      { email: '', event_name: 'seen' },
      { email: `x${ADA}`, event_name: 'seen' },
    ])
    await sql`delete from idempotency_keys where body like ${`%x${ADA}%`}`.execute(db)
    expect(await found(ADA, NAME), String(kept)).toEqual([])
    const others = await statesOf(mails.shared)
    expect(others.map(({ recipient }) => recipient).sort()).toEqual([
      expect.stringMatching(/^erased-[0-9]+$/),
      'other@person.test',
    ])
    const { rows: jobs } = await sql`select input from jobs where id = ${job?.id}`.execute(db)
    expect(jobs).toEqual([{ input: { contact_id: expect.any(String) } }])
    const { rows: tags } = await sql`select value, accepted from email_stats where kind = 'tag'
      union all select tags->>'who', accepted from email_stat_changes where tags ? 'who' and accepted > 0`.execute(
      db,
    )
    expect(tags.length).toBeGreaterThan(0)
    expect(JSON.stringify(tags)).toContain('erased')
    expect((await runJobPage(deps, { id: job?.id ?? '' })).more).toBe(false)
  })

  test('an event_id of theirs that comes again starts nothing, alone and in a batch', async () => {
    const again = { event_name: 'user.signed_up', email: ADA, event_id: `signup ${ADA}` }
    const alone = await post('/automation/events', again)
    expect(alone).toMatchObject({ executions: [], deduplicated: true, event_id: again.event_id })
    const { events } = await post('/automation/events/batch', { events: [again] })
    expect(events).toMatchObject([{ executions: [], deduplicated: true }])
    expect((await api.request('GET', path(ADA))).status).toBe(404)
    const { rows } = await sql`select 1 from executions where ended_status is null`.execute(db)
    expect(rows).toEqual([])
    const other = { ...again, event_id: `signup ${ADA.toUpperCase()}` }
    expect(await post('/automation/events', other)).toMatchObject({ deduplicated: false })
    expect((await api.request('DELETE', path(ADA))).status).toBe(204)
    expect(await carryOn()).toBe('completed')
    expect(await found(ADA)).toEqual([])
  })

  test('keeps a suppression as a keyed hash, which still stops mail and is found by the address', async () => {
    const email = 'suppressed@person.test'
    await post('/automation/events', { event_name: 'seen', email })
    await post('/suppressions', { email })
    const told = async () => {
      const { rows } = await sql<{ count: number }>`
        select count(*)::int as count from webhook_events where type like 'suppression.%'`.execute(
        db,
      )
      return rows[0]?.count
    }
    const before = await told()
    expect((await api.request('DELETE', path(email))).status).toBe(204)
    expect(await carryOn()).toBe('completed')
    expect(await told()).toBe(before)
    expect(await found(email)).toEqual([])
    const list = (cursor = '') =>
      api.request<{ suppressions: { email: string | null; reason: string }[] }>(
        'GET',
        `/v1/suppressions${cursor}`,
      )
    expect((await list()).body.suppressions).toMatchObject([{ email: null, reason: 'manual' }])
    for (const text of ['T', 'T'.repeat(60_000)]) {
      const sent = await post('/emails', { from: FROM, to: email, subject: 'S', text })
      expect(await statesOf(String(sent['id']))).toEqual([
        { state: 'suppressed', recipient: email },
      ])
    }
    const again = await api.request('POST', '/v1/suppressions', { email })
    expect([again.status, again.body['email']]).toEqual([200, null])
    const gone = () => api.request('DELETE', `/v1/suppressions/${encodeURIComponent(email)}`)
    expect((await gone()).status).toBe(204)
    expect((await gone()).status).toBe(404)
    const free = await post('/emails', { from: FROM, to: email, subject: 'S', text: 'T' })
    expect((await statesOf(String(free['id']))).map(({ state }) => state)).toEqual(['queued'])
  })

  test('who had left an audience has still left it, and what came after the erasure stays', async () => {
    const email = 'left@person.test'
    await post('/automation/events', { event_name: 'seen', email })
    await post(`/audiences/${mails.audience}/contacts`, { email, is_subscribed: false })
    expect((await api.request('DELETE', path(email))).status).toBe(204)
    const { rows } = await sql`select 1 from opt_outs
      where address_hmac = ${deps.addressMac(workspaceId, email)}`.execute(db)
    expect(rows).toHaveLength(1)
    await post('/automation/events', { event_name: 'seen', email })
    const kept = await post('/emails', { from: FROM, to: email, subject: 'S', text: 'T' })
    expect(await carryOn()).toBe('completed')
    expect((await api.request('GET', path(email))).status).toBe(200)
    expect(await statesOf(String(kept['id']))).toEqual([{ state: 'queued', recipient: email }])
  })

  test('mail that waits for others is not waited for when it is scheduled, and reaches them', async () => {
    const email = 'invited@person.test'
    await post('/automation/events', { event_name: 'seen', email })
    const scheduled_at = Date.now() + 365 * 86_400_000
    const to = [email, 'host@person.test']
    const mail = { from: FROM, to, cc: email.toUpperCase(), subject: 'S', text: 'T', scheduled_at }
    const { id } = await post('/emails', { ...mail, cc: undefined })
    expect((await api.request('DELETE', path(email))).status).toBe(204)
    expect(await carryOn()).toBe('completed')
    expect(await found(email)).toEqual([])
    expect(await statesOf(String(id))).toMatchObject([{ state: 'cancelled' }, { state: 'queued' }])
    const shown = await api.request('GET', `/v1/emails/${id}`)
    expect(shown.body).toMatchObject({ to: ['host@person.test'], subject: 'S', text: 'T' })
  })

  test('a job that rests keeps no other from being carried on', async () => {
    const held: string[] = []
    for (let n = 0; n < 4; n++) {
      const email = `rests-${n}@person.test`
      await post('/automation/events', { event_name: 'seen', email })
      const { id } = await post('/emails', { from: FROM, to: email, subject: 'S', text: 'T' })
      await sql`with token as (select gen_random_uuid() as id)
        update deliveries set state = 'sending', lease_until = now(), lease_token = token.id, fence = token.id
        from token where email_id = ${String(id)}`.execute(db)
      expect((await api.request('DELETE', path(email))).status).toBe(204)
      held.push((await eraseJobs())[0]?.id ?? '')
    }
    const listed = new Set<string>()
    for (let round = 0; round < 4; round++) {
      for (const { id } of await listLiveJobs(db, 10)) {
        listed.add(id)
        await runJobPage(deps, { id })
      }
    }
    expect(held.filter((id) => !listed.has(id))).toEqual([])
    await sql`update deliveries set state = 'cancelled', settled_at = now(), lease_until = null, lease_token = null
      where recipient like 'rests-%'`.execute(db)
    await sql`update jobs set status = 'cancelled' where id = any(${held}::text[])`.execute(db)
  })

  test('the answer of a request of a node that comes after the erasure is not kept', async () => {
    const email = 'asked@person.test'
    const { executions } = await post('/automation/events', { event_name: 'user.signed_up', email })
    const [executionId = ''] = executions as string[]
    await transact(deps, ({ db: trx }) =>
      insertCall(trx, workspaceId, {
        executionId,
        segment: 1,
        nodeId: 'n',
        storeAs: 'who',
        request: Buffer.from('x'),
        goalsReached: [],
        now: new Date(),
      }),
    )
    expect((await api.request('DELETE', path(email))).status).toBe(204)
    expect(await carryOn()).toBe('completed')
    const answer = { status: 200, headers: {}, body: { email } }
    const end = { outcome: 'success', why: '200', answer } as const
    const given = { executionId, segment: 1, tries: 1, took_ms: 1, status: 200, end }
    expect(await recordCall(deps, workspaceId, given)).toBe(true)
    expect(await found(email)).toEqual([])
  })

  test('DELETE, events, mail and audiences at once: one of them erases, and the next one erases the rest', async () => {
    const email = 'busy@person.test'
    await post('/automation/events', { event_name: 'seen', email })
    const mail = { from: FROM, to: email, subject: 'S', text: 'T' }
    const erase = () => api.request('DELETE', path(email))
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => [
        erase(),
        api.request('POST', '/v1/automation/events', { event_name: 'user.signed_up', email }),
        api.request('POST', '/v1/emails', mail),
        api.request('POST', `/v1/audiences/${mails.audience}/contacts`, { email }),
      ]).flat(),
    )
    const statuses = answers.map(({ status }) => status)
    expect(statuses.filter((status) => status === 204).length).toBeGreaterThanOrEqual(1)
    expect(statuses.filter((status) => status >= 500)).toEqual([])
    await post('/automation/events', { event_name: 'seen', email })
    const last = await Promise.all(Array.from({ length: 8 }, erase))
    expect(last.map(({ status }) => status).sort()).toEqual([204, ...Array(7).fill(404)])
    expect(await carryOn()).toBe('completed')
    expect(await found(email)).toEqual([])
    const { rows: live } =
      await sql`select 1 from executions where email <> '' and ended_status is null
      and contact_id not in (select id from contacts)`.execute(db)
    expect(live).toEqual([])
  })

  test('another workspace\u2019s contact is a 404, a key of one domain is refused', async () => {
    const other = await api.createKey({ workspaceName: 'other' })
    const headers = { authorization: `Bearer ${other.token}` }
    await post('/automation/events', { event_name: 'seen', email: 'kept@person.test' })
    const asked = await api.request('DELETE', path('kept@person.test'), undefined, headers)
    expect(asked.status).toBe(404)
    const { token } = await createBoundKey(api, domainId)
    const bound = { authorization: `Bearer ${token}` }
    expect(await api.request('DELETE', path('kept@person.test'), undefined, bound)).toMatchObject({
      status: 403,
      body: { code: 'restricted_api_key' },
    })
    expect((await api.request('GET', path('kept@person.test'))).status).toBe(200)
    for (const [given, status] of [
      ['not an address', 404],
      ['a@b@c.test', 404],
      [' ', 400],
      ['nobody@person.test', 404],
    ] as const) {
      const answer = await api.request('DELETE', `/v1/automation/contacts/${encodeURI(given)}`)
      expect([given, answer.status]).toEqual([given, status])
    }
  })
})
