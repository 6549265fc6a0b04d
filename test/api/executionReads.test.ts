// Long histories: steps, and the mail of an execution and of a workflow, page by page.
import { beforeAll, describe, expect, it } from 'vitest'
import { createTestApi, insertTestDomain } from '../setup/api.ts'
import { seedTenant } from '../setup/tenant.ts'

const api = await createTestApi()
const tenant = await seedTenant(api, 'test')
const execution = tenant.ids['executions'] ?? ''
const workflow = tenant.ids['workflows'] ?? ''

interface Mail {
  email_id: string
  subject: string
  recipient?: string
  updated_at: number
  events: { status: string; timestamp: number }[]
}

interface Page {
  emails: Mail[]
  steps: { seq: number; node_id: string }[]
  count: number
  cursor: string | null
}

const get = (path: string) => api.request<Page>('GET', path)
let domainId: string

/** Inserts an email of the execution. @returns its id */
async function insertMail(n: number): Promise<string> {
  const id = api.deps.newId('email')
  const created_at = new Date()
  await api.db
    .insertInto('emails')
    .values({
      id,
      workspace_id: api.workspaceId,
      type: 'transactional',
      category: 'marketing',
      from: 'a@mail.test',
      to: [`r${n}@example.test`],
      cc: [],
      bcc: [],
      reply_to: [],
      subject: `Mail ${n}`,
      html: null,
      text: 'x',
      template_id: null,
      domain_id: domainId,
      headers: '{}',
      tags: '{}',
      metadata: '{}',
      message_id: `${id}@mail.test`,
      workflow_id: workflow,
      execution_id: execution,
      node_id: 'hello',
      unsubscribe_token: null,
      track_opens: false,
      track_clicks: false,
      tracking_host: null,
      created_at,
    })
    .execute()
  const event = { email_id: id, workspace_id: api.workspaceId, recipient: `r${n}@example.test` }
  const at = (ms: number) => new Date(created_at.getTime() + ms)
  await api.db
    .insertInto('email_events')
    .values([
      { ...event, status: 'sent', at: at(0), data: '{}' },
      { ...event, status: 'opened', at: at(20), data: '{}' },
      { ...event, status: 'delivered', at: at(10), data: '{}' },
    ])
    .execute()
  return id
}

const newest: string[] = []

beforeAll(async () => {
  domainId = await insertTestDomain(api, 'mail.test')
  for (let n = 0; n < 60; n++) newest.unshift(await insertMail(n))
  await api.db
    .insertInto('execution_steps')
    .values(
      Array.from({ length: 120 }, (_, i) => ({
        execution_id: execution,
        seq: i + 1,
        segment: i,
        node_id: `n${i + 1}`,
        type: 'delay',
        handle: i === 119 ? null : 'default',
        why: null,
        at: new Date(i),
      })),
    )
    .execute()
})

describe('mail', () => {
  it('of an execution comes in one page, newest first, without a cursor', async () => {
    const { status, body } = await get(`/v1/executions/${execution}/emails`)
    expect(status).toBe(200)
    expect(Object.keys(body).sort()).toEqual(['count', 'emails'])
    expect(body.count).toBe(60)
    expect(body.emails.map((mail) => mail.email_id)).toEqual(newest)
    const [first] = body.emails
    expect(first).not.toHaveProperty('recipient')
    expect(first?.events.map((event) => event.status)).toEqual(['sent', 'delivered', 'opened'])
    expect(first?.updated_at).toBe(first?.events.at(-1)?.timestamp)
  })

  it('of a workflow comes 50 a page, each email once while more are sent', async () => {
    const path = `/v1/workflows/${workflow}/emails`
    const first = await get(path)
    expect(first.body.emails.map((mail) => mail.email_id)).toEqual(newest.slice(0, 50))
    expect(first.body.emails[0]).toMatchObject({
      recipient: 'r59@example.test',
      subject: 'Mail 59',
    })
    await insertMail(60)
    // A cursor is a position: the email that it names may be deleted.
    await api.db
      .deleteFrom('emails')
      .where('id', '=', newest[49] ?? '')
      .execute()
    const second = await get(`${path}?cursor=${first.body.cursor}`)
    expect(second.body.emails.map((mail) => mail.email_id)).toEqual(newest.slice(50))
    expect([second.body.count, second.body.cursor]).toEqual([10, null])
  })

  it('stays readable when the workflow has been archived', async () => {
    expect((await api.request('DELETE', `/v1/workflows/${workflow}`)).status).toBe(204)
    expect((await get(`/v1/workflows/${workflow}/emails`)).body.count).toBe(50)
    expect((await get(`/v1/executions/${execution}/emails`)).status).toBe(200)
    expect((await get(`/v1/workflows/${workflow}/executions`)).status).toBe(200)
    expect((await get(`/v1/workflows/${workflow}`)).status).toBe(404)
  })
})

describe('steps', () => {
  it('come in their order, 50 a page', async () => {
    const path = `/v1/executions/${execution}/steps`
    const seen: number[] = []
    const counts: number[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const { body }: { body: Page } = await get(cursor ? `${path}?cursor=${cursor}` : path)
      seen.push(...body.steps.map((step) => step.seq))
      counts.push(body.count)
      cursor = body.cursor
    }
    expect(counts).toEqual([50, 50, 20])
    expect(seen).toEqual(Array.from({ length: 120 }, (_, i) => i + 1))
    const { body } = await get(path)
    expect(body.steps[0]).toEqual({
      seq: 1,
      node_id: 'n1',
      type: 'delay',
      handle: 'default',
      why: null,
      at: 0,
    })
  })
})
