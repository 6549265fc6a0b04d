// GET /v1/emails and /v1/emails/{id}: exact fields, statuses from the events, pages.
import { beforeAll, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../rules/json.ts'
import { createTestApi, insertTestDomain, type TestApi } from '../setup/api.ts'
import { bringTo } from '../setup/states.ts'

let api: TestApi
let domainId: string

const mail = {
  from: 'Acme <hello@acme.test>',
  to: ['jane@example.com', 'b@example.org'],
  cc: 'cc@example.com',
  subject: 'Hi',
  html: '<p>Hello <b>you</b></p>',
}

type Listed = { emails: { id: string; to: string[] }[]; count: number; cursor: string | null }

beforeAll(async () => {
  api = await createTestApi()
  domainId = await insertTestDomain(api, 'acme.test')
})

const get = <T = JsonObject>(path: string) => api.request<T>('GET', path)

async function send(body: object = {}): Promise<{ id: string; at: number }> {
  const { body: sent } = await api.request<{ id: string }>('POST', '/v1/emails', {
    ...mail,
    ...body,
  })
  const row = await api.db
    .selectFrom('emails')
    .select(['id', 'created_at'])
    .where('id', '=', sent.id)
    .executeTakeFirstOrThrow()
  return { id: row.id, at: row.created_at.getTime() }
}

const addEvent = (
  emailId: string,
  recipient: string,
  status: 'delivered' | 'opened' | 'clicked' | 'bounced',
  at: number,
  data: object = {},
) =>
  api.db
    .insertInto('email_events')
    .values({
      email_id: emailId,
      workspace_id: api.workspaceId,
      recipient,
      status,
      at: new Date(at),
      data: JSON.stringify(data),
    })
    .execute()

describe('one email', () => {
  it('has exactly the fields of the contract', async () => {
    const { id, at } = await send()
    const sent = { status: 'sent', timestamp: at }
    const { status, body } = await get(`/v1/emails/${id}`)
    expect(status).toBe(200)
    expect(body).toEqual({
      id,
      type: 'transactional',
      to: mail.to,
      subject: 'Hi',
      email_sent_timestamp: at,
      last_event: { ...sent, recipient: 'cc@example.com' },
      template_id: null,
      domain_id: domainId,
      html: mail.html,
      text: 'Hello you',
      from: mail.from,
      recipient_statuses: [...mail.to, 'cc@example.com'].map((recipient) => ({
        recipient,
        events: [sent],
      })),
    })
  })

  it('shows its text, and an empty html if there is none', async () => {
    const { id } = await send({ html: undefined, text: 'plain' })
    expect((await get(`/v1/emails/${id}`)).body).toMatchObject({ html: '', text: 'plain' })
  })

  it('shows events in time order, with the fields of each status', async () => {
    const { id, at } = await send({ cc: undefined })
    const [jane = '', b = ''] = mail.to
    const delivered = {
      processing_time_millis: 12,
      reporting_mta: 'mx.mail.test',
      smtp_response: '250 ok',
    }
    const seen = { user_agent: 'Agent/1', ip: '192.0.2.1' }
    await addEvent(id, jane, 'clicked', at + 30, { ...seen, link: 'https://x.test/', secret: 1 })
    await addEvent(id, jane, 'delivered', at + 10, delivered)
    await addEvent(id, jane, 'opened', at + 20, seen)
    await addEvent(id, b, 'bounced', at + 15, { type: 'Permanent', subtype: 'General' })
    const { body } = await get(`/v1/emails/${id}`)
    expect(body).toMatchObject({
      last_event: { status: 'clicked', link: 'https://x.test/', recipient: jane, ...seen },
    })
    expect(body['last_event']).not.toHaveProperty('secret')
    expect(body['recipient_statuses']).toEqual([
      {
        recipient: jane,
        events: [
          { status: 'sent', timestamp: at },
          { status: 'delivered', timestamp: at + 10 },
          { status: 'opened', timestamp: at + 20, ...seen },
          { status: 'clicked', timestamp: at + 30, link: 'https://x.test/', ...seen },
        ],
      },
      {
        recipient: b,
        events: [
          { status: 'sent', timestamp: at },
          { status: 'bounced', timestamp: at + 15, type: 'Permanent', subtype: 'General' },
        ],
      },
    ])
    const listed = await get<Listed>('/v1/emails')
    expect(listed.body.emails[0]).toMatchObject({
      id,
      recipient_statuses: [
        { recipient: jane, status: 'clicked', timestamp: at + 30 },
        { recipient: b, status: 'bounced', timestamp: at + 15, type: 'Permanent' },
      ],
    })
    await addEvent(id, b, 'delivered', at + 40, delivered)
    expect((await get(`/v1/emails/${id}`)).body['last_event']).toEqual({
      status: 'delivered',
      timestamp: at + 40,
      recipient: b,
      ...delivered,
    })
  })

  it('shows further fields with expand=details', async () => {
    const { id } = await send({ bcc: 'bcc@example.com', tags: { a: 'b' }, reply_to: 'r@acme.test' })
    expect((await get(`/v1/emails/${id}?expand=details`)).body).toMatchObject({
      cc: ['cc@example.com'],
      bcc: ['bcc@example.com'],
      reply_to: ['r@acme.test'],
      tags: { a: 'b' },
      metadata: {},
      headers: {},
      status: 'queued',
      scheduled_at: null,
      broadcast_id: null,
    })
    await bringTo(api.db, { emailId: id as string }, 'delivered', new Date())
    expect((await get(`/v1/emails/${id}?expand=details`)).body['status']).toBe('settled')
    const listed = await get<{ emails: object[] }>('/v1/emails?expand=details')
    expect(listed.body.emails[0]).toMatchObject({ id, bcc: ['bcc@example.com'], status: 'settled' })
    const wrong = await get('/v1/emails?expand=all')
    expect([wrong.status, wrong.body]).toMatchObject([400, { code: 'invalid_request' }])
  })

  it.each(['em_0', 'nothing', '%00', 'tpl_00000000000000000000000000', 'em_'.padEnd(29, '0')])(
    'is a 404 where there is none: %s',
    async (id) => {
      const answer = await get(`/v1/emails/${id}`)
      expect([answer.status, answer.body]).toMatchObject([404, { code: 'not_found' }])
    },
  )

  it('is a 404 for another workspace', async () => {
    const { id } = await send()
    const { token } = await api.createKey({ workspaceName: 'other' })
    const headers = { authorization: `Bearer ${token}` }
    expect((await api.request('GET', `/v1/emails/${id}`, undefined, headers)).status).toBe(404)
    const listed = await api.request('GET', '/v1/emails', undefined, headers)
    expect(listed.body).toEqual({ emails: [], count: 0, cursor: null })
  })
})

describe('the list', () => {
  it('has exactly the fields of the contract', async () => {
    const { id, at } = await send()
    const { body } = await get<Listed>('/v1/emails')
    const latest = { status: 'sent', timestamp: at }
    expect(body.emails[0]).toEqual({
      id,
      type: 'transactional',
      to: mail.to,
      subject: 'Hi',
      last_event: { ...latest, recipient: 'cc@example.com' },
      email_sent_timestamp: at,
      recipient_statuses: [...mail.to, 'cc@example.com'].map((recipient) => ({
        recipient,
        ...latest,
      })),
    })
  })

  it('pages by 50, newest first, with the last id as cursor, while mail is being added', async () => {
    await api.db.deleteFrom('emails').execute()
    const sent: string[] = []
    for (let i = 0; i < 100; i++) sent.unshift((await send({ to: `r${i}@example.com` })).id)
    const first = await get<Listed>('/v1/emails')
    expect(first.body.emails.map((email) => email.id)).toEqual(sent.slice(0, 50))
    expect([first.body.count, first.body.cursor]).toEqual([50, sent[49]])
    await send()
    await api.db
      .deleteFrom('emails')
      .where('id', '=', sent[49] ?? '')
      .execute()
    const second = await get<Listed>(`/v1/emails?cursor=${first.body.cursor}`)
    expect(second.body.emails.map((email) => email.id)).toEqual(sent.slice(50))
    expect([second.body.count, second.body.cursor]).toEqual([50, null])
  })

  it.each(['', 'x', 'aud_00000000000000000000000000', '%00', 'em_1'])(
    'refuses the cursor "%s"',
    async (cursor) => {
      const answer = await get(`/v1/emails?cursor=${cursor}`)
      expect([answer.status, answer.body]).toMatchObject([400, { code: 'invalid_cursor' }])
    },
  )
})
