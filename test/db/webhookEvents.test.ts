// What webhooks are told: each type is written in the transaction that it tells of, for those alone that ask for it.
// Long because it provokes each type of event.
import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { recordDomainCheck } from '../../commands/domains/recordCheck.ts'
import { recordMailEvent } from '../../commands/events/recordMail.ts'
import { setLimit } from '../../commands/limits/set.ts'
import { takeReport } from '../../commands/reports/take.ts'
import { transact } from '../../commands/transact.ts'
import { stopWaiting } from '../../db/deliveries/stop.ts'
import { insertSegment } from '../../db/executions/segments.ts'
import { takeDayPlaces } from '../../db/limits/writes.ts'
import { insertTracked } from '../../db/tracking/writes.ts'
import { clearUp } from '../../delivery/webhooks/housekeeping.ts'
import { toldTypes } from '../../dev/docs/webhookTypes.ts'
import type { JsonObject } from '../../rules/json.ts'
import { createTestApi, insertTestDomain } from '../setup/api.ts'
import { createBoundKey } from '../setup/boundKey.ts'
import { fencesOf } from '../setup/docs.ts'
import { design, insertFlow, onEvent } from '../setup/flows.ts'
import { bringTo } from '../setup/states.ts'
import { uniqueName } from '../setup/unique.ts'
import { webhookDeps } from '../setup/webhookSender.ts'

const api = await createTestApi()
const domainId = await insertTestDomain(api, 'sender.test')
await insertTestDomain(api, 'other.test')
const { db, workspaceId } = api

/** Asks for everything. */
const all = await makeWebhook(['*'])

async function makeWebhook(events: string[], token = api.key): Promise<string> {
  const headers = { authorization: `Bearer ${token}` }
  const body = { url: 'https://hooks.example.test/in', events }
  return (await api.request<{ id: string }>('POST', '/v1/webhooks', body, headers)).body.id
}

/** What a webhook was told, in order, since the beginning of the test. */
async function told(webhookId = all): Promise<{ type: string; data: JsonObject }[]> {
  const { rows } = await sql<{ type: string; data: JsonObject }>`
    select e.type, e.data from webhook_deliveries d join webhook_events e on e.id = d.event_id
    where d.webhook_id = ${webhookId} order by d.next_at, d.id
  `.execute(db)
  return rows
}
const types = async (webhookId = all) => (await told(webhookId)).map(({ type }) => type)
const dataOf = async (type: string) => (await told()).find((one) => one.type === type)?.data

/** The first body of each type that the tests of this file have provoked. */
const bodies = new Map<string, { data: JsonObject }>()
afterEach(async () => {
  for (const one of await told()) if (!bodies.has(one.type)) bodies.set(one.type, one)
})

beforeEach(async () => {
  await sql`delete from webhook_deliveries`.execute(db)
  await sql`delete from webhook_events`.execute(db)
})

const address = () => `${uniqueName('r')}@example.test`
async function send(to: string | string[], more: object = {}): Promise<string> {
  const mail = { from: 'Shop <a@sender.test>', to, subject: 'S', text: 'T', ...more }
  const answer = await api.request<{ id: string }>('POST', '/v1/emails', mail)
  if (answer.status !== 200) throw new Error(answer.text)
  return answer.body.id
}
const post = (email: string, more: object = {}) =>
  api.request('POST', '/v1/automation/events', { event_name: 'asked', email, ...more })

describe('of mail', () => {
  it('sent, once for each recipient, with what the mail says', async () => {
    const [to, second] = [address(), address()]
    const id = await send([to, second], { tags: { kind: 'receipt' }, metadata: { order: 1 } })
    const events = await told()
    expect(events.map(({ type }) => type)).toEqual(['email.sent', 'email.sent'])
    expect(events[0]?.data).toEqual({
      email_id: id,
      type: 'transactional',
      recipient: to,
      from: 'Shop <a@sender.test>',
      subject: 'S',
      tags: { kind: 'receipt' },
      metadata: { order: 1 },
      timestamp: expect.any(Number),
    })
  })

  it('suppressed, after sent', async () => {
    const to = address()
    await api.request('POST', '/v1/suppressions', { email: to })
    await send(to)
    expect(await types()).toEqual(['suppression.created', 'email.sent', 'email.suppressed'])
    expect(await dataOf('email.suppressed')).toMatchObject({
      bounce: { type: 'Permanent', subtype: 'OnAccountSuppressionList' },
    })
  })

  it.each(['delivered', 'bounced', 'deferred'] as const)('%s', async (state) => {
    const to = address()
    const emailId = await send(to)
    await bringTo(db, { emailId }, 'data_sent', new Date())
    await settleAs(emailId, state)
    expect(await types()).toEqual(['email.sent', `email.${state}`])
    expect(await dataOf(`email.${state}`)).toMatchObject({ email_id: emailId, recipient: to })
  })

  it('opened and clicked by a person, and not by a machine', async () => {
    const recipient = address()
    const email_id = await send(recipient)
    for (const machine of ['burst', null]) {
      for (const [status, data] of [
        ['opened', {}],
        ['clicked', { link: 'https://a.test' }],
      ] as const) {
        const event = { status, at: new Date(), data, machine }
        await transact.one(api.deps, ({ db: trx }) =>
          insertTracked(trx, workspaceId, { email_id, recipient }, event, new Date()),
        )
      }
    }
    expect(await types()).toEqual(['email.sent', 'email.opened', 'email.clicked'])
    expect(await dataOf('email.clicked')).toMatchObject({ link: 'https://a.test' })
  })

  it('cancelled, because the recipient left', async () => {
    const to = address()
    await send(to)
    await transact.one(api.deps, ({ db: trx }) =>
      stopWaiting(trx, workspaceId, { emails: [to] }, 'left', new Date()),
    )
    expect(await types()).toEqual(['email.sent', 'email.cancelled'])
  })

  it('scheduled, moved, sent when it is due, or cancelled', async () => {
    const [first, second] = [address(), address()]
    const scheduled_at = Date.now() + 3_600_000
    const id = await send(first, { scheduled_at })
    await api.request('PATCH', `/v1/emails/${id}`, { scheduled_at: scheduled_at + 1 })
    await api.request('PATCH', `/v1/emails/${id}`, { scheduled_at: 0 })
    const other = await send(second, { scheduled_at })
    await api.request('POST', `/v1/emails/${other}/cancel`)
    const events = await told()
    expect(events.map(({ type, data }) => [type, data['recipient']])).toEqual([
      ['email.scheduled', first],
      ['email.scheduled', first],
      ['email.sent', first],
      ['email.scheduled', second],
      ['email.cancelled', second],
    ])
    expect(events.map(({ data }) => data['scheduled_at']).slice(0, 2)).toEqual([
      scheduled_at,
      scheduled_at + 1,
    ])
    expect(events.at(-1)?.data).toMatchObject({ bounce: { subtype: 'Cancelled' }, scheduled_at })
  })

  it('unsubscribed, with the contact', async () => {
    const email = address()
    await post(email)
    const email_id = await send(email)
    const about = { subject: 'S', workflow_id: null, execution_id: null, node_id: null }
    await transact(api.deps, (inTrx) =>
      recordMailEvent(
        inTrx,
        { ...about, workspace_id: workspaceId, email, email_id, chain_depth: 0 },
        { name: 'unsubscribed', at: new Date() },
      ),
    )
    const events = (await told()).filter(({ type }) => type.endsWith('.unsubscribed'))
    expect(events.map(({ type }) => type)).toEqual(['email.unsubscribed', 'contact.unsubscribed'])
    expect(events.map(({ data }) => data)).toMatchObject([
      { email_id, recipient: email },
      { email },
    ])
  })

  it('complained, once, with the suppression', async () => {
    const to = address()
    const emailId = await send(to)
    const [deliveryId = 0] = await bringTo(db, { emailId }, 'delivered', new Date())
    await takeReport(api.deps, deliveryId, { kind: 'complaint', feedbackType: 'abuse' })
    await takeReport(api.deps, deliveryId, { kind: 'complaint', feedbackType: 'abuse' })
    expect((await types()).filter((type) => /complained|suppression/.test(type))).toEqual([
      'suppression.created',
      'email.complained',
    ])
  })

  it('complained, of a second mail to somebody who is suppressed for the first', async () => {
    const to = address()
    const ids = [await send(to), await send(to)]
    const deliveries: number[] = []
    for (const emailId of ids) {
      deliveries.push(...(await bringTo(db, { emailId }, 'delivered', new Date())))
    }
    for (const deliveryId of deliveries) {
      await takeReport(api.deps, deliveryId, { kind: 'complaint', feedbackType: 'abuse' })
    }
    const complained = (await told()).filter(({ type }) => type === 'email.complained')
    expect(complained.map(({ data }) => data['email_id'])).toEqual(ids)
  })

  it('to a key for one domain that of its domain alone', async () => {
    const { token } = await createBoundKey(api, domainId)
    const bound = await makeWebhook(['*'], token)
    await send(address())
    await send(address(), { from: 'a@other.test' })
    await post(address())
    await api.request('POST', '/v1/suppressions', { email: address() })
    expect(await types(bound)).toEqual(['email.sent'])
    expect((await types()).filter((type) => type === 'email.sent')).toHaveLength(2)
    await api.request('DELETE', `/v1/webhooks/${bound}`)
  })
})

/** Ends the attempt that is under way as a lane would. */
async function settleAs(emailId: string, state: 'delivered' | 'bounced' | 'deferred') {
  await sql`
    with settled as (
      update deliveries set state = ${state}, lease_token = null, lease_until = null,
        settled_at = case when ${state} = 'deferred' then null else now() end
      where email_id = ${emailId} returning *
    ), tried as (
      insert into delivery_attempts (delivery_id, attempt, started_at, ended_at, outcome, conversation)
      select id, attempt, now(), now(), ${state === 'delivered' ? 'delivered' : 'rejected'}, '' from settled
    )
    insert into email_events (email_id, workspace_id, recipient, status, at, data)
    select email_id, workspace_id, recipient, ${state}, now(), '{"type": "Permanent", "subtype": "General"}'
    from settled where state <> 'deferred'
  `.execute(db)
}

describe('of contacts', () => {
  it('created with the event that made them, and updated when a property changes', async () => {
    const email = address()
    await post(email, { contact_properties: { plan: 'pro' } })
    expect((await types()).filter((type) => type.startsWith('contact.'))).toEqual([
      'contact.created',
    ])
    expect(await dataOf('contact.created')).toMatchObject({
      email,
      last_event: 'asked',
      event_count: 1,
      workspace_id: workspaceId,
    })
    await post(email)
    expect((await types()).filter((type) => type.startsWith('contact.'))).toHaveLength(1)
    await api.request('PATCH', `/v1/automation/contacts/${email}`, { properties: { plan: 'free' } })
    expect((await types()).filter((type) => type.startsWith('contact.'))).toEqual([
      'contact.created',
      'contact.updated',
    ])
    const shown = (await dataOf('contact.updated')) ?? {}
    const read = await api.request('GET', `/v1/automation/contacts/${email}`)
    const { properties: _, ...listed } = read.body
    expect(shown).toEqual(listed)
  })

  it('deleted, without the address', async () => {
    const email = address()
    await post(email)
    await sql`delete from automation_events where email = ${email}`.execute(db)
    await sql`delete from contacts where email = ${email}`.execute(db)
    expect(await dataOf('contact.deleted')).toMatchObject({ id: expect.any(String), email: null })
  })

  it('joined and left an audience, and not when the audience goes', async () => {
    const audience = (await api.request('POST', '/v1/audiences', { name: 'A' })).body['id']
    const path = `/v1/audiences/${audience}/contacts`
    const [email, stays] = [address(), address()]
    await api.request('POST', path, { email, first_name: 'Ada' })
    await api.request('POST', path, { email: stays })
    await api.request('DELETE', `${path}/${email}`)
    await api.request('DELETE', `/v1/audiences/${audience}`)
    expect(await types()).toEqual(['audience.joined', 'audience.joined', 'audience.left'])
    expect(await dataOf('audience.left')).toMatchObject({
      audience_id: audience,
      email,
      first_name: 'Ada',
      is_subscribed: true,
    })
  })

  it('suppressed and not any more', async () => {
    const email = address()
    await api.request('POST', '/v1/suppressions', { email })
    await api.request('DELETE', `/v1/suppressions/${email}`)
    const events = await told()
    expect(events.map(({ type }) => type)).toEqual(['suppression.created', 'suppression.deleted'])
    expect(events[0]?.data).toMatchObject({ email, reason: 'manual', source_id: null })
  })
})

describe('of workflows and executions', () => {
  const flow = design(
    {
      start: onEvent('flow.asked'),
      wait: ['delay', { ms: 86_400_000 }],
      end: ['exit', { outcome: 'done' }],
    },
    [
      ['start', 'wait'],
      ['wait', 'end'],
    ],
  )

  it('activated, updated, paused, archived', async () => {
    const body = { name: 'Flow', status: 'active', design: flow }
    const id = (await api.request('POST', '/v1/workflows', body)).body['workflow_id']
    await api.request('PATCH', `/v1/workflows/${id}`, { name: 'Flow 2' })
    await api.request('PATCH', `/v1/workflows/${id}`, { status: 'paused' })
    await api.request('DELETE', `/v1/workflows/${id}`)
    expect(await types()).toEqual([
      'workflow.activated',
      'workflow.updated',
      'workflow.paused',
      'workflow.archived',
    ])
    expect(await dataOf('workflow.updated')).toMatchObject({ workflow_id: id, name: 'Flow 2' })
  })

  it('started and cancelled', async () => {
    await insertFlow(db, api, flow)
    const posted = await post(address(), { event_name: 'flow.asked' })
    const [id] = posted.body['executions'] as string[]
    await api.request('POST', `/v1/executions/${id}/cancel`, { reason: 'Enough' })
    const events = (await told()).filter(({ type }) => type.startsWith('execution.'))
    expect(events.map(({ type }) => type)).toEqual(['execution.started', 'execution.cancelled'])
    expect(events.map(({ data }) => data)).toMatchObject([
      { execution_id: id, status: 'IN_PROGRESS', step_count: 0, completed_at: null },
      { execution_id: id, status: 'CANCELLED', cancellation_reason: 'Enough' },
    ])
  })

  it('waiting, completed, failed', async () => {
    const [first, second] = await Promise.all(
      [address(), address()].map(async (email) => {
        const posted = await post(email, { event_name: 'flow.asked' })
        return (posted.body['executions'] as string[])[0] ?? ''
      }),
    )
    const result = {
      next: { kind: 'wait', nodeId: 'wait', until: 1_800_000_000_000, since: 1 },
      step: 'wait',
      step_count: 2,
    }
    const writes = { segment: 0, steps: [], isReleased: false, left: null, waits: [], depth: null }
    const ends = [
      [first, 'COMPLETED', null],
      [second, 'FAILED', 'no domain'],
    ] as const
    for (const [executionId = '', status, error] of ends) {
      const end = {
        status,
        error,
        reason: null,
        outcome: null,
        stepId: 'end',
        stepCount: 3,
        code: null,
      }
      for (const [segment, more] of [
        [0, { end: null, result }],
        [1, { end, result: { next: { kind: 'end', status, error }, step: 'end', step_count: 3 } }],
      ] as const) {
        const all = { ...writes, ...more, executionId, segment, now: new Date() }
        await transact.one(api.deps, ({ db: trx }) => insertSegment(trx, workspaceId, all))
      }
    }
    const of = (await told()).filter(({ data }) => data['execution_id'] === first)
    expect(of.map(({ type }) => type)).toEqual([
      'execution.started',
      'execution.waiting',
      'execution.completed',
    ])
    expect(of[1]?.data).toMatchObject({
      status: 'WAITING',
      current_step_id: 'wait',
      step_count: 2,
      wait_until: 1_800_000_000_000,
    })
    expect(await dataOf('execution.failed')).toMatchObject({
      execution_id: second,
      error: 'no domain',
      current_step_id: 'end',
      step_count: 3,
      completed_at: expect.any(Number),
    })
  })
})

describe('who is told', () => {
  it('those that ask for the type, its group or everything, and are enabled', async () => {
    const [exact, group, other, off] = await Promise.all(
      [['email.sent'], ['email.*'], ['email.opened', 'contact.*'], ['*']].map((events) =>
        makeWebhook(events),
      ),
    )
    await api.request('PATCH', `/v1/webhooks/${off}`, { status: 'disabled' })
    await send(address())
    for (const [id, count] of [
      [exact, 1],
      [group, 1],
      [all, 1],
      [other, 0],
      [off, 0],
    ] as const) {
      expect((await types(id)).length).toBe(count)
    }
    // The body stands there once for all of them.
    const events = await db.selectFrom('webhook_events').select('id').execute()
    expect(events).toHaveLength(1)
    for (const id of [exact, group, other, off]) await api.request('DELETE', `/v1/webhooks/${id}`)
  })

  it('nobody, when the transaction is rolled back', async () => {
    await transact(api.deps, async ({ db: trx }) => {
      await sql`insert into suppressions (workspace_id, email, reason, created_at)
        values (${workspaceId}, ${address()}, 'manual', now())`.execute(trx)
      throw new Error('undone')
    }).catch(() => undefined)
    expect(await types()).toEqual([])
  })

  it('nobody of another workspace', async () => {
    const { token } = await api.createKey({ workspaceName: 'another' })
    const foreign = await makeWebhook(['*'], token)
    await api.request('POST', '/v1/suppressions', { email: address() })
    expect(await types(foreign)).toEqual([])
  })
})

describe('of webhooks', () => {
  it('test to one, disabled to others', async () => {
    const id = await makeWebhook(['email.sent'])
    await api.request('POST', `/v1/webhooks/${id}/test`)
    expect([await types(id), await types()]).toEqual([['webhook.test'], []])
    bodies.set('webhook.test', { data: (await told(id))[0]?.data ?? {} })
    await sql`
      insert into webhook_deliveries (id, webhook_id, event_id, workspace_id, next_at, created_at)
      select webhook_id(), webhook_id, event_id, workspace_id, next_at, created_at from webhook_deliveries
      where webhook_id = ${id}`.execute(db)
    await clearUp(webhookDeps(api), undefined, 2)
    expect(await types()).toEqual(['webhook.disabled'])
    expect(await dataOf('webhook.disabled')).toMatchObject({ id, disabled_reason: 'backlog' })
    await api.request('DELETE', `/v1/webhooks/${id}`)
  })
})

describe('of domains', () => {
  it('created, updated, deleted, as lists show them', async () => {
    const made = await api.request<{ id: string }>('POST', '/v1/domains', { name: 'mail.acme.com' })
    const { id } = made.body
    await api.request('PATCH', `/v1/domains/${id}`, { open_tracking_enabled: true })
    const { body } = await api.request<{ domains: JsonObject[] }>('GET', '/v1/domains')
    const listed = body.domains.find((one) => one['id'] === id)
    await api.request('DELETE', `/v1/domains/${id}`)
    const events = await told()
    expect(events.map(({ type }) => type)).toEqual([
      'domain.created',
      'domain.updated',
      'domain.deleted',
    ])
    for (const { data } of events) expect(data).toEqual(listed)
  })

  it('updated when a check activates a key, and when one retires it, and by no other check', async () => {
    const id = await insertTestDomain(api, 'rotates.test')
    await api.request('POST', `/v1/domains/${id}/rotate-dkim`)
    const { rows } = await sql<{ selector: string }>`
      select selector from domain_keys where domain_id = ${id}`.execute(db)
    const dkim = Object.fromEntries(rows.map(({ selector }) => [selector, 'SUCCESS' as const]))
    const records = { mx: 'SUCCESS', spf: 'SUCCESS', dmarc: 'SUCCESS' } as const
    const findings = { ...records, soa: null, dkim, tracking: null }
    const check = (days: number) => {
      const at = new Date(Date.now() + days * 86_400_000)
      const input = { id, trackingDomain: null, findings }
      return recordDomainCheck({ ...api.deps, now: () => at }, workspaceId, input)
    }
    const keys = async () => (await told()).map(({ data }) => data['public_key'])
    await check(0)
    await check(0)
    expect(await types()).toEqual(['domain.updated', 'domain.updated'])
    const [rotated, activated] = await keys()
    expect(activated).not.toBe(rotated)
    await check(30)
    await check(30)
    expect(await types()).toEqual(['domain.updated', 'domain.updated', 'domain.updated'])
    await api.request('DELETE', `/v1/domains/${id}`)
  })
})

describe('of the workspace', () => {
  it('that the limit of its day is near: once, by whoever takes the place', async () => {
    const take = (day: string, wanted: number) =>
      takeDayPlaces(db, workspaceId, { subject: workspaceId, day, limit: 10, wanted, all: false })
    await take('2026-05-04', 7)
    expect(await types()).toEqual([])
    await Promise.all(Array.from({ length: 5 }, () => take('2026-05-04', 1)))
    expect(await types()).toEqual(['workspace.limit_near'])
    expect(await dataOf('workspace.limit_near')).toEqual({
      workspace_id: workspaceId,
      limit: 'emails_per_day',
      emails_per_day: 10,
      emails: 8,
      day: '2026-05-04',
    })
    await take('2026-05-05', 10)
    expect(await types()).toHaveLength(2)
  })

  it('that the limit was lowered below what is used, at once, and to whoever sends next', async () => {
    const lower = (emailsPerDay: number | null, day: string) =>
      setLimit({ ...api.deps, now: () => new Date(`${day}T12:00:00Z`) }, workspaceId, {
        subject: workspaceId,
        change: { emailsPerDay },
      })
    const day = '2026-06-04'
    const taken = { subject: workspaceId, day, limit: 100, wanted: 40, all: false }
    await takeDayPlaces(db, workspaceId, taken)
    await lower(60, day)
    expect(await types()).toEqual([])
    await lower(0, day)
    expect(await types()).toEqual([])
    await lower(30, day)
    const told = { emails_per_day: 30, emails: 40, day }
    expect(await dataOf('workspace.limit_near')).toMatchObject(told)
    await lower(20, day)
    expect(await types()).toHaveLength(1)
    const next = { ...taken, day: '2026-06-05' }
    await takeDayPlaces(db, workspaceId, next)
    expect(await takeDayPlaces(db, workspaceId, { ...next, limit: 25, wanted: 1 })).toBe(0)
    expect(await types()).toHaveLength(2)
    await lower(null, day)
  })
})

describe('the page of the docs', () => {
  const shapeOf = (value: unknown): unknown => {
    if (value === null || typeof value !== 'object' || Array.isArray(value)) return 'a value'
    return Object.fromEntries(
      Object.entries(value)
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([key, one]) => [
          key,
          ['tags', 'metadata', 'properties'].includes(key) ? 'any' : shapeOf(one),
        ]),
    )
  }

  it('has a body of each shape that was told, and no other', () => {
    const shown = fencesOf(['docs/webhooks.md'])
      .filter(({ language, info }) => language === 'json' && info === 'body')
      .map(({ text }) => JSON.parse(text) as { type: string; timestamp: string; data: JsonObject })
    const groupOf = (type: string) => type.split('.')[0]
    for (const { type, timestamp, data } of shown) {
      expect(new Date(timestamp).toISOString()).toBe(timestamp)
      expect(shapeOf(bodies.get(type)?.data), type).toEqual(shapeOf(data))
    }
    for (const [type, { data }] of bodies) {
      const shapes = shown
        .filter((one) => groupOf(one.type) === groupOf(type))
        .map((one) => shapeOf(one.data))
      expect(shapes, type).toContainEqual(shapeOf(data))
    }
  })

  it('has every type that was told, and each was told here', () => {
    expect([...bodies.keys()].sort()).toEqual(toldTypes().sort())
  })
})
