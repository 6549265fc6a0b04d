// Unsubscribe links: one-click, GET with undo, requests that change nothing, and what one commit changes.
import { describe, expect, it } from 'vitest'
import { createTestApi, insertTestDomain, type TestApi } from '../setup/api.ts'
import { tableCounts } from '../setup/tableCounts.ts'
import { uniqueName } from '../setup/unique.ts'
import { createWorkflowClient, exitDesign } from '../setup/workflowClient.ts'

const direct = await createTestApi()
const confirm = await createTestApi({ env: { UNSUBSCRIBE_LINK_MODE: 'confirm' } })

/** A running execution that has sent an email with an unsubscribe link. */
async function sentMail(api: TestApi, settings: object = {}) {
  const eventName = uniqueName('begun')
  const { create } = createWorkflowClient(api)
  const design = { ...exitDesign(eventName), settings }
  const { workflow_id: workflowId } = await create({ status: 'active', design })
  const email = `${uniqueName('c')}@example.test`
  const begin = async () => {
    const event = { event_name: eventName, email }
    const { body } = await api.request<{ executions: string[] }>(
      'POST',
      '/v1/automation/events',
      event,
    )
    return body.executions
  }
  const [executionId = ''] = await begin()
  const token = Buffer.from(crypto.getRandomValues(new Uint8Array(16))).toString('base64url')
  const domain_id = await insertTestDomain(api, `${uniqueName('d')}.test`)
  const id = api.deps.newId('email')
  await api.db
    .insertInto('emails')
    .values({
      id,
      workspace_id: api.workspaceId,
      type: 'transactional',
      category: 'marketing',
      from: 'a@d.test',
      to: [email],
      cc: [],
      bcc: [],
      reply_to: [],
      subject: 'Hello',
      html: null,
      text: 'x',
      template_id: null,
      domain_id,
      headers: '{}',
      tags: '{}',
      metadata: '{}',
      message_id: `${id}@d.test`,
      workflow_id: workflowId,
      execution_id: executionId,
      node_id: 'send',
      unsubscribe_token: token,
      track_opens: false,
      track_clicks: false,
      tracking_host: null,
      created_at: new Date(),
    })
    .execute()
  const statusOf = async () => {
    const { ended_status, cancellation_reason } = await api.db
      .selectFrom('executions')
      .select(['ended_status', 'cancellation_reason'])
      .where('id', '=', executionId)
      .executeTakeFirstOrThrow()
    return [ended_status, cancellation_reason]
  }
  return { api, id, email, workflowId, executionId, token, begin, statusOf }
}

const open = (
  { api, token }: Pick<Awaited<ReturnType<typeof sentMail>>, 'api' | 'token'>,
  method: string,
  headers: Record<string, string> = {},
  more = '',
) => api.request(method, `/u/${token}${more}`, undefined, { authorization: '', ...headers })

const oneClick = (mail: Awaited<ReturnType<typeof sentMail>>) =>
  mail.api.request('POST', `/u/${mail.token}`, 'List-Unsubscribe=One-Click', {
    authorization: '',
    'content-type': 'application/x-www-form-urlencoded',
  })

const live = [null, null]
const left = ['CANCELLED', 'unsubscribed']

describe('POST, one-click', () => {
  it('cancels the executions, records the event and blocks new ones, in 200 without a redirect', async () => {
    const mail = await sentMail(direct)
    direct.woken.length = 0
    const answer = await oneClick(mail)
    expect(answer.status).toBe(200)
    expect(answer.headers.get('set-cookie')).toBeNull()
    expect(await mail.statusOf()).toEqual(left)
    expect(direct.woken).toEqual(['dripline_outbox'])
    const outbox = await direct.db
      .selectFrom('outbox')
      .select(['kind', 'payload'])
      .where('execution_id', '=', mail.executionId)
      .orderBy('id')
      .execute()
    expect(outbox).toEqual([
      { kind: 'start', payload: {} },
      { kind: 'cancel', payload: { reason: 'unsubscribed' } },
    ])
    const { body } = await direct.request<{ events: object[] }>(
      'GET',
      `/v1/automation/contacts/${mail.email}/events`,
    )
    expect(body.events[0]).toMatchObject({
      event_name: 'email.unsubscribed',
      properties: { email_id: mail.id, workflow_id: mail.workflowId, node_id: 'send' },
    })
    expect(await mail.begin()).toEqual([])
    const path = `/v1/workflows/${mail.workflowId}/executions`
    const byHand = await direct.request('POST', path, { email: mail.email })
    expect(byHand).toMatchObject({ status: 409, body: { code: 'contact_unsubscribed' } })
  })

  it('may be repeated, also concurrently', async () => {
    const mail = await sentMail(direct)
    const answers = await Promise.all(Array.from({ length: 6 }, () => oneClick(mail)))
    expect(answers.map((answer) => answer.status)).toEqual(Array(6).fill(200))
    const before = await tableCounts(direct)
    expect((await oneClick(mail)).status).toBe(200)
    expect(await tableCounts(direct)).toEqual(before)
    const { body } = await direct.request('GET', `/v1/automation/contacts/${mail.email}`)
    expect(body).toMatchObject({ event_count: 2, last_event: 'email.unsubscribed' })
  })

  it('does not affect other contacts, nor other workflows of the contact', async () => {
    const [mail, another] = [await sentMail(direct), await sentMail(direct)]
    await oneClick(mail)
    expect(await another.statusOf()).toEqual(live)
    expect(await another.begin()).toHaveLength(1)
  })

  it('only skips sends if the design says so', async () => {
    const mail = await sentMail(direct, { on_unsubscribe: 'skip_sends' })
    await oneClick(mail)
    expect(await mail.statusOf()).toEqual(live)
    expect(await mail.begin()).toEqual([])
  })
})

describe('GET', () => {
  it('blocks new executions and shows a page with undo, which costs no running one', async () => {
    const mail = await sentMail(direct)
    const page = await open(mail, 'GET')
    expect(page.status).toBe(200)
    expect(page.headers.get('content-type')).toMatch(/^text\/html/)
    expect(page.headers.get('cache-control')).toBe('no-store')
    expect(page.headers.get('referrer-policy')).toBe('no-referrer')
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'")
    expect(page.text).toContain(`action="/u/${mail.token}/undo"`)
    expect(await mail.begin()).toEqual([])
    // Nothing is cancelled while a scanner may still show itself.
    expect(await mail.statusOf()).toEqual(live)
    expect((await open(mail, 'POST', {}, '/undo')).status).toBe(200)
    expect(await mail.begin()).toHaveLength(1)
    expect(await mail.statusOf()).toEqual(live)
  })

  it.each([
    ['HEAD', {}],
    ['OPTIONS', {}],
    ['GET', { 'sec-purpose': 'prefetch;prerender' }],
    ['GET', { purpose: 'prefetch' }],
    ['GET', { 'x-purpose': 'preview' }],
    ['GET', { 'x-moz': 'prefetch' }],
  ])('%s with %j never acts', async (method, headers) => {
    const mail = await sentMail(direct)
    await open(mail, method, headers)
    expect(await mail.statusOf()).toEqual(live)
    expect(await mail.begin()).toHaveLength(1)
  })

  it('asks first if the operator configured it', async () => {
    const mail = await sentMail(confirm)
    const page = await open(mail, 'GET')
    expect(page.text).toContain(`<form method="post" action="/u/${mail.token}">`)
    expect(await mail.statusOf()).toEqual(live)
    expect((await open(mail, 'POST')).status).toBe(200)
    expect(await mail.statusOf()).toEqual(left)
  })
})

describe('an invalid token', () => {
  it.each(['AAAAAAAAAAAAAAAAAAAAAA', 'x', '%00', '%zz', 'a'.repeat(5000), "'--"])(
    '%s is a 404 page',
    async (token) => {
      const before = await tableCounts(direct)
      for (const [method, more] of [
        ['GET', ''],
        ['POST', ''],
        ['POST', '/undo'],
      ] as const) {
        const answer = await open({ api: direct, token }, method, {}, more)
        expect([method, answer.status]).toEqual([method, 404])
        expect(answer.headers.get('content-type')).toMatch(/^text\/html/)
      }
      expect(await tableCounts(direct)).toEqual(before)
    },
  )
})
