// POST /v1/emails: what is written when an email is accepted.

import { beforeAll, describe, expect, it } from 'vitest'
import type { WorkspaceId } from '../../rules/ids.ts'
import { createTestApi, insertTestDomain, type TestApi } from '../setup/api.ts'

let api: TestApi

const mail = {
  from: 'Acme <hello@acme.test>',
  to: 'jane@example.com',
  subject: 'Hi',
  html: '<p>Hello</p>',
}

let domainId: string

beforeAll(async () => {
  api = await createTestApi()
  domainId = await insertTestDomain(api, 'acme.test')
  await insertTestDomain(api, 'new.test', 'NOT_STARTED')
  await insertTestDomain(api, 'shaky.test', 'TEMPORARY_FAILURE')
})

const send = (body: unknown, headers?: Record<string, string>) =>
  api.request<{ id: string; status: string }>('POST', '/v1/emails', body, headers)

const without = (field: keyof typeof mail) => ({ ...mail, [field]: undefined })
const many = (count: number) => Array.from({ length: count }, (_, i) => `r${i}@example.com`)

describe('accepted', () => {
  const rowsOf = async (id: string) => ({
    email: await api.db.selectFrom('emails').selectAll().where('id', '=', id).executeTakeFirst(),
    deliveries: await api.db
      .selectFrom('deliveries')
      .selectAll()
      .where('email_id', '=', id)
      .orderBy('id')
      .execute(),
    events: await api.db
      .selectFrom('email_events')
      .selectAll()
      .where('email_id', '=', id)
      .orderBy('id')
      .execute(),
    files: await api.db
      .selectFrom('email_attachments')
      .selectAll()
      .where('email_id', '=', id)
      .orderBy('position')
      .execute(),
  })

  it('writes the email, a delivery and an event for each address, and wakes the lanes', async () => {
    api.woken.length = 0
    const answer = await send({
      ...mail,
      to: ['Jane <jane@EXAMPLE.com>', 'b@example.org'],
      cc: 'jane@example.com',
      bcc: ['secret@example.net'],
      reply_to: 'Help <help@acme.test>',
      headers: { 'X-Ref': '42' },
      tags: { kind: 'welcome' },
      metadata: { deep: { a: [null] } },
      tracking: { opens: false },
      unknown_key: true,
    })
    expect([answer.status, answer.body.status]).toEqual([200, 'queued'])
    expect(answer.body.id).toMatch(/^em_[0-9A-Z]{26}$/)
    const { email, deliveries, events } = await rowsOf(answer.body.id)
    expect(email).toMatchObject({
      type: 'transactional',
      category: 'transactional',
      from: mail.from,
      to: ['Jane <jane@EXAMPLE.com>', 'b@example.org'],
      cc: ['jane@example.com'],
      bcc: ['secret@example.net'],
      reply_to: ['Help <help@acme.test>'],
      subject: 'Hi',
      html: mail.html,
      text: null,
      domain_id: domainId,
      headers: { 'X-Ref': '42' },
      tags: { kind: 'welcome' },
      metadata: { deep: { a: [null] } },
      message_id: expect.stringMatching(/^[0-9A-Z]{26}\.[\w-]{11}@acme\.test$/),
      unsubscribe_token: null,
      track_opens: false,
      track_clicks: false,
      tracking_host: null,
    })
    const recipients = ['jane@example.com', 'b@example.org', 'secret@example.net']
    expect(deliveries.map((row) => row.recipient)).toEqual(recipients)
    for (const row of deliveries) {
      expect(row).toMatchObject({ state: 'queued', attempt: 0, settled_at: null })
      expect(row.next_at).toEqual(email?.created_at)
      expect(row.expires_at.getTime() - row.created_at.getTime()).toBe(24 * 3_600_000)
    }
    expect(new Set(deliveries.map((row) => row.shard)).size).toBe(3)
    expect(events.map((row) => [row.recipient, row.status, row.data])).toEqual(
      recipients.map((recipient) => [recipient, 'sent', {}]),
    )
    expect(api.woken).toEqual(['dripline_deliveries'])
  })

  it('keeps every attachment, decoded', async () => {
    const { body } = await send({
      ...mail,
      attachments: [
        { filename: 'ä.txt', content: 'aGVs\nbG8=', content_type: 'text/plain; charset=utf-8' },
        {
          filename: 'b.png',
          content: Buffer.from([0, 255]).toString('base64'),
          content_id: 'pic@1',
        },
      ],
    })
    const { files } = await rowsOf(body.id)
    expect(files.map(({ email_id, ...file }) => file)).toEqual([
      {
        position: 0,
        filename: 'ä.txt',
        content: Buffer.from('hello'),
        content_type: 'text/plain; charset=utf-8',
        content_id: null,
      },
      {
        position: 1,
        filename: 'b.png',
        content: Buffer.from([0, 255]),
        content_type: null,
        content_id: 'pic@1',
      },
    ])
  })

  it('sends to the other recipients when one is suppressed', async () => {
    const far = new Date(Date.now() + 3_600_000)
    const past = new Date(Date.now() - 1000)
    const row = { workspace_id: api.workspaceId, source_id: null, created_at: past }
    await api.db
      .insertInto('suppressions')
      .values([
        { ...row, email: 'gone@example.com', reason: 'bounce', expires_at: null },
        { ...row, email: 'soft@example.com', reason: 'bounce', expires_at: far },
        { ...row, email: 'back@example.com', reason: 'bounce', expires_at: past },
        {
          ...row,
          workspace_id: 'ws_other' as WorkspaceId,
          email: 'here@example.com',
          reason: 'manual',
          expires_at: null,
        },
      ])
      .execute()
    const to = ['Gone@example.com', 'soft@example.com', 'back@example.com', 'here@example.com']
    const { body } = await send({ ...mail, to })
    const { deliveries, events } = await rowsOf(body.id)
    expect(deliveries.map((row) => row.state)).toEqual([
      'suppressed',
      'suppressed',
      'queued',
      'queued',
    ])
    expect(deliveries.map((row) => row.settled_at !== null)).toEqual([true, true, false, false])
    const bounce = { type: 'Permanent', subtype: 'OnAccountSuppressionList' }
    expect(events.slice(4).map((row) => [row.recipient, row.status, row.data])).toEqual([
      ['Gone@example.com', 'bounced', bounce],
      ['soft@example.com', 'bounced', bounce],
    ])
  })

  it('records email.sent for recipients that are automation contacts', async () => {
    const at = new Date()
    await api.db
      .insertInto('contacts')
      .values(
        ['ann@example.com', 'bob@example.com'].map((email) => ({
          id: api.deps.newId('contact'),
          workspace_id: api.workspaceId,
          email,
          properties: '{}',
          first_seen: at,
          last_seen: at,
          last_event: 'signed_up',
          created_at: at,
          updated_at: at,
        })),
      )
      .execute()
    const { body } = await send({ ...mail, to: ['Ann@example.com', 'zoe@example.com'] })
    const told = await api.db.selectFrom('automation_events').selectAll().execute()
    expect(told).toHaveLength(1)
    expect(told[0]).toMatchObject({
      event_name: 'email.sent',
      email: 'ann@example.com',
    })
    // `email.sent` always has the same properties; they are null without an execution.
    expect(told[0]?.properties).toEqual({
      status: 'sent',
      email_id: body.id,
      subject: 'Hi',
      recipient: 'ann@example.com',
      workflow_id: null,
      execution_id: null,
      node_id: null,
    })
    const ann = await api.db
      .selectFrom('contacts')
      .selectAll()
      .where('email', '=', 'ann@example.com')
      .executeTakeFirstOrThrow()
    expect(ann).toMatchObject({ event_count: 1, last_event: 'email.sent' })
    const { deliveries } = await rowsOf(body.id)
    expect(deliveries).toHaveLength(2)
  })

  it('accepts 40 MB of html, text without html, and a domain in TEMPORARY_FAILURE', async () => {
    expect((await send({ ...mail, html: 'a'.repeat(40 * 1024 * 1024) })).status).toBe(200)
    expect((await send({ ...without('html'), text: 'Hi' })).status).toBe(200)
    expect((await send({ ...mail, from: 'a@Shaky.TEST' })).status).toBe(200)
    expect((await send({ ...mail, to: many(50) })).status).toBe(200)
  })
})
