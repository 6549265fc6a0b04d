// Scheduled mail as callers see it: accepted, read back, listed, moved and cancelled, and whose it is.
import { describe, expect, it, onTestFinished, test } from 'vitest'
import { insertTestDomain } from '../setup/api.ts'
import { createBoundKey } from '../setup/boundKey.ts'
import { createScheduledApi } from '../setup/scheduledMail.ts'
import { idOf, messageOf, startTestSubmission, submit } from '../setup/submission.ts'

const { api, clock, domainId, address, schedule, move, cancel, read, statusesOf, ready } =
  await createScheduledApi()
const HOUR_MS = 3_600_000
const mail = (more: object = {}) => ({
  from: 'a@sender.test',
  to: address(),
  subject: 'S',
  text: 'T',
  ...more,
})
const notScheduled = { status: 409, body: { code: 'email_not_scheduled' } }
const withKey = (token: string) => ({ authorization: `Bearer ${token}` })
const listed = async (status: string) => {
  const path = `/v1/emails?status=${status}`
  const { body } = await api.request<{ emails: { id: string }[] }>('GET', path)
  return body.emails.map(({ id }) => id)
}

describe('accepted', () => {
  it('shows that it is scheduled, and when it is due', async () => {
    const [to, cc] = [address(), address()]
    const { id, status, scheduled_at } = await schedule(HOUR_MS, to, { cc })
    expect(status).toBe('scheduled')
    expect(await read(id)).toMatchObject({
      last_event: { status: 'scheduled', timestamp: clock.ms },
      email_sent_timestamp: scheduled_at,
      status: 'scheduled',
      scheduled_at,
      recipient_statuses: [
        { recipient: to, events: [{ status: 'scheduled' }] },
        { recipient: cc, events: [{ status: 'scheduled' }] },
      ],
    })
    expect(await listed('scheduled')).toContain(id)
    expect(await listed('sent')).not.toContain(id)
  })

  it('by ISO 8601, with or without an offset', async () => {
    const at = new Date(clock.ms + HOUR_MS)
    for (const text of [at.toISOString(), at.toISOString().slice(0, -1)]) {
      const { id } = await schedule(0, address(), { scheduled_at: text })
      expect((await read(id)).scheduled_at).toBe(at.getTime())
    }
  })

  it.each([
    ['now', () => clock.ms],
    ['a time that has gone', () => clock.ms - HOUR_MS],
    ['1970', () => 0],
    ['null', () => null],
    ['an empty text', () => ''],
  ])('%s is sent at once', async (_, at) => {
    const { id, status } = await schedule(0, address(), { scheduled_at: at() })
    expect(status).toBe('queued')
    expect(await read(id)).toMatchObject({
      last_event: { status: 'sent' },
      scheduled_at: null,
      email_sent_timestamp: clock.ms,
    })
  })

  it('in a batch, beside mail that goes at once', async () => {
    const scheduled_at = clock.ms + HOUR_MS
    const emails = [mail(), mail({ scheduled_at }), mail({ scheduled_at: clock.ms - 1 })]
    const { body } = await api.request('POST', '/v1/emails/batch', { emails })
    expect(body).toMatchObject({
      emails: [{ status: 'queued' }, { status: 'scheduled' }, { status: 'queued' }],
    })
    const wrong = [mail({ scheduled_at: 'soon' })]
    const refused = await api.request('POST', '/v1/emails/batch', { emails: wrong })
    expect(refused).toMatchObject({
      status: 400,
      body: { errors: [{ index: 0, code: 'invalid_request' }] },
    })
  })

  it('by SMTP', async () => {
    const server = await startTestSubmission(api, {}, onTestFinished)
    const send = (scheduled_at: unknown, more: object = {}) => {
      const options = JSON.stringify({ scheduled_at, ...more })
      return submit(server.port, api.key, messageOf({ 'X-Dripline-Options': options }))
    }
    const scheduled_at = clock.ms + HOUR_MS
    expect(await read(idOf(await send(scheduled_at)))).toMatchObject({
      status: 'scheduled',
      scheduled_at,
    })
    expect(await read(idOf(await send(clock.ms - 1)))).toMatchObject({ status: 'queued' })
    expect(await send('soon')).toMatch(/^550 5\.6\.0 invalid_request: scheduled_at must be a time/)
    const named = { idempotency_key: 'scheduled-1' }
    expect(await send(scheduled_at, named)).toBe(await send(scheduled_at, named))
    expect(await send(scheduled_at + 1, named)).toMatch(/^550 .*idempotency_key_reused/)
  })

  it('says nothing yet of a recipient who is suppressed', async () => {
    const to = address()
    await api.request('POST', '/v1/suppressions', { email: to })
    const { id } = await schedule(HOUR_MS, to)
    expect(await statusesOf(id)).toEqual([['scheduled']])
  })
})

describe('moved', () => {
  it('to a later time, as often as one likes', async () => {
    const { id } = await schedule(HOUR_MS, [address(), address()])
    for (const hours of [3, 2]) {
      const at = clock.ms + hours * HOUR_MS
      expect(await move(id, at)).toMatchObject({ status: 200, body: { id, status: 'scheduled' } })
      expect(await read(id)).toMatchObject({
        scheduled_at: at,
        email_sent_timestamp: at,
        last_event: { status: 'scheduled' },
      })
      expect(await statusesOf(id)).toEqual([['scheduled'], ['scheduled']])
    }
  })

  it('to a time that has come: it is sent now', async () => {
    const { id } = await schedule(HOUR_MS)
    const answer = await move(id, clock.ms)
    expect(answer).toMatchObject({ status: 200, body: { id, status: 'queued' } })
    expect(await statusesOf(id)).toEqual([['sent']])
    expect((await read(id)).status).toBe('queued')
    expect(await move(id, clock.ms + HOUR_MS)).toMatchObject(notScheduled)
    expect(await cancel(id)).toMatchObject(notScheduled)
  })

  const table: [name: string, body: unknown, text: string][] = [
    ['nothing', {}, 'scheduled_at is required'],
    ['an empty text', { scheduled_at: '' }, 'scheduled_at is required'],
    ['null', { scheduled_at: null }, 'scheduled_at must be a number or a string, not null'],
    ['an object', { scheduled_at: {} }, 'scheduled_at must be a number or a string, not an object'],
    ['half a ms', { scheduled_at: 1.5 }, 'scheduled_at must be a whole number or a string'],
    ['words', { scheduled_at: 'soon' }, 'scheduled_at must be a time in ms since 1970'],
    ['too far', { scheduled_at: '2999-01-01' }, 'scheduled_at must be at most 3653 days ahead'],
  ]
  it.each(table)('not by %s', async (_, body, text) => {
    const { id, scheduled_at } = await schedule(HOUR_MS)
    const answer = await api.request<{ message: string }>('PATCH', `/v1/emails/${id}`, body)
    expect(answer.status).toBe(400)
    expect(answer.body.message).toContain(text)
    expect((await read(id)).scheduled_at).toBe(scheduled_at)
  })
})

describe('cancelled', () => {
  it('once: nothing of it is ever due', async () => {
    const { id } = await schedule(HOUR_MS, [address(), address()])
    expect(await cancel(id)).toMatchObject({ status: 200, body: { id, status: 'cancelled' } })
    expect(await read(id)).toMatchObject({
      last_event: { status: 'bounced', type: 'Permanent', subtype: 'Cancelled' },
      status: 'settled',
    })
    expect(await statusesOf(id)).toEqual([['bounced'], ['bounced']])
    expect(await listed('scheduled')).not.toContain(id)
    expect(await listed('sent')).not.toContain(id)
    expect(await cancel(id)).toMatchObject(notScheduled)
    expect(await move(id, clock.ms + HOUR_MS)).toMatchObject(notScheduled)
    clock.ms += 2 * HOUR_MS
    await ready()
    expect(await statusesOf(id)).toEqual([['bounced'], ['bounced']])
  })

  it('not when it is due, or was never scheduled', async () => {
    const { id } = await schedule(HOUR_MS)
    clock.ms += HOUR_MS
    await ready()
    const atOnce = await schedule(0)
    for (const one of [id, atOnce.id]) {
      expect(await cancel(one)).toMatchObject(notScheduled)
      expect(await move(one, clock.ms + HOUR_MS)).toMatchObject(notScheduled)
      expect(await statusesOf(one)).toEqual([['sent']])
    }
  })
})

describe('whose it is', () => {
  const NONE = 'em_00000000000000000000000000'
  test('an unknown id, another workspace’s and another domain’s are 404', async () => {
    await insertTestDomain(api, 'other.test')
    const { id } = await schedule(HOUR_MS)
    const foreign = await schedule(HOUR_MS, address(), { from: 'a@other.test' })
    const { token } = await api.createKey({ workspaceName: 'foreign' })
    const bound = (await createBoundKey(api, domainId, { permission: 'sending_access' })).token
    const asks: [string, string][] = [
      [id, token],
      [foreign.id, bound],
      [NONE, api.key],
      ['x', api.key],
    ]
    for (const [one, by] of asks) {
      expect(await cancel(one, withKey(by))).toMatchObject({ status: 404 })
      expect(await move(one, clock.ms, withKey(by))).toMatchObject({ status: 404 })
    }
    expect(await statusesOf(id)).toEqual([['scheduled']])
    expect(await move(id, clock.ms + 2 * HOUR_MS, withKey(bound))).toMatchObject({ status: 200 })
    expect(await cancel(id, withKey(bound))).toMatchObject({ status: 200 })
  })
})
