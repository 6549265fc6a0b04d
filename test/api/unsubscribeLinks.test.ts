// Further rules of unsubscribe links: headers of every page, waits, the event, and repeated changes.
import { beforeAll, describe, expect, it } from 'vitest'
import { createTestApi, insertTestDomain } from '../setup/api.ts'
import { describeTables } from '../setup/tables.ts'
import { uniqueName } from '../setup/unique.ts'
import { createWorkflowClient, exitDesign } from '../setup/workflowClient.ts'

const api = await createTestApi()
const { create } = createWorkflowClient(api)
let domainId: string

beforeAll(async () => {
  domainId = await insertTestDomain(api, 'sender.test')
})

const post = async (event_name: string, email: string) => {
  const path = '/v1/automation/events'
  const { body } = await api.request<{ executions: string[] }>('POST', path, { event_name, email })
  return body.executions
}

/** A contact in a workflow whose emails have a link; further executions may start. */
async function subscriber() {
  const eventName = uniqueName('begun')
  const { workflow_id } = await create({ status: 'active', design: exitDesign(eventName) })
  const email = `${uniqueName('c')}@example.test`
  const [execution_id = ''] = await post(eventName, email)
  const token = Buffer.from(crypto.getRandomValues(new Uint8Array(16))).toString('base64url')
  const id = api.deps.newId('email')
  await api.db
    .insertInto('emails')
    .values({
      id,
      workspace_id: api.workspaceId,
      type: 'transactional',
      category: 'marketing',
      from: 'a@sender.test',
      to: [email],
      cc: [],
      bcc: [],
      reply_to: [],
      subject: 'Hello',
      html: null,
      text: 'x',
      template_id: null,
      domain_id: domainId,
      headers: '{}',
      tags: '{}',
      metadata: '{}',
      message_id: `${id}@sender.test`,
      workflow_id,
      execution_id,
      node_id: 'send',
      unsubscribe_token: token,
      track_opens: false,
      track_clicks: false,
      tracking_host: null,
      created_at: new Date(),
    })
    .execute()
  return { email, token, execution_id, workflow_id, begin: () => post(eventName, email) }
}

const open = (method: string, path: string, headers: Record<string, string> = {}) =>
  api.request(method, path, undefined, { authorization: '', ...headers })
const statusOf = async (id: string) => {
  const { body } = await api.request('GET', `/v1/executions/${id}`)
  return [body['status'], body['cancellation_reason']]
}
const eventsOf = async (email: string) => {
  const { body } = await api.request('GET', `/v1/automation/contacts/${email}/events`)
  return (body['events'] as { event_name: string }[]).map((event) => event.event_name)
}

describe('every page', () => {
  it('is private, small, and free of cookies, scripts and redirects', async () => {
    const { token } = await subscriber()
    const wrong = 'A'.repeat(22)
    for (const [method, path, headers] of [
      ['GET', `/u/${token}`, { purpose: 'prefetch' }],
      ['HEAD', `/u/${token}`, {}],
      ['GET', `/u/${token}`, {}],
      ['GET', `/u/${token}`, {}],
      ['POST', `/u/${token}`, {}],
      ['POST', `/u/${token}/undo`, {}],
      ['GET', `/u/${wrong}`, {}],
      ['POST', `/u/${wrong}`, {}],
      ['POST', `/u/${wrong}/undo`, {}],
    ] as const) {
      const answer = await open(method, path, headers)
      const what = `${method} ${path}`
      expect([what, answer.status]).toEqual([what, path.includes(wrong) ? 404 : 200])
      expect(Object.fromEntries(answer.headers)).toMatchObject({
        'cache-control': 'no-store',
        'content-type': expect.stringMatching(/^text\/html/),
        'referrer-policy': 'no-referrer',
        'x-content-type-options': 'nosniff',
        'x-robots-tag': 'noindex',
        'content-security-policy': expect.stringMatching(/default-src 'none'.*form-action 'self'/),
        'x-request-id': expect.any(String),
      })
      for (const name of ['set-cookie', 'location', 'refresh'])
        expect(answer.headers.has(name)).toBe(false)
      expect(answer.text).not.toMatch(/<script|http-equiv|src=|@example/i)
    }
  })
})

describe('leaving', () => {
  it('cancels every running execution of that workflow, and their waits consume no event', async () => {
    const { email, token, execution_id, begin } = await subscriber()
    const [second = ''] = await begin()
    const { contact_id } = await api.db
      .selectFrom('executions')
      .select('contact_id')
      .where('id', '=', second)
      .executeTakeFirstOrThrow()
    const eventName = uniqueName('awaited')
    await api.db
      .insertInto('event_waits')
      .values({
        execution_id: second,
        segment: 0,
        node_id: 'wait',
        workspace_id: api.workspaceId,
        contact_id,
        event_name: eventName,
        filter: null,
        deadline: null,
        consumed_by: null,
        created_at: new Date(),
      })
      .execute()
    await open('POST', `/u/${token}`)
    const cancelled = ['CANCELLED', 'unsubscribed']
    expect([await statusOf(execution_id), await statusOf(second)]).toEqual([cancelled, cancelled])
    await post(eventName, email)
    const signals = await api.db
      .selectFrom('outbox')
      .select(['kind', 'execution_id'])
      .where('execution_id', 'in', [execution_id, second])
      .where('kind', '<>', 'start')
      .orderBy('execution_id')
      .execute()
    expect(signals).toEqual(
      [execution_id, second].sort().map((id) => ({ kind: 'cancel', execution_id: id })),
    )
  })

  it('starts a workflow that has it as trigger, once', async () => {
    const { email, token, workflow_id } = await subscriber()
    const goodbye = await create({ status: 'active', design: exitDesign('email.unsubscribed') })
    for (const method of ['GET', 'POST', 'GET']) await open(method, `/u/${token}`)
    const started = await api.db
      .selectFrom('executions')
      .select(['workflow_id', 'ended_status'])
      .where('email', '=', email)
      .orderBy('id')
      .execute()
    expect(started).toEqual([
      { workflow_id, ended_status: 'CANCELLED' },
      { workflow_id: goodbye.workflow_id, ended_status: null },
    ])
  })

  it('works when the workflow has been archived', async () => {
    const { token, execution_id, workflow_id } = await subscriber()
    await api.request('DELETE', `/v1/workflows/${workflow_id}`)
    expect(await statusOf(execution_id)).toEqual(['IN_PROGRESS', null])
    expect((await open('POST', `/u/${token}`)).status).toBe(200)
    expect(await statusOf(execution_id)).toEqual(['CANCELLED', 'unsubscribed'])
  })

  it('and undoing may alternate; each unsubscription is recorded', async () => {
    const { email, token, begin } = await subscriber()
    await open('GET', `/u/${token}`)
    expect(await begin()).toEqual([])
    for (let i = 0; i < 2; i++) expect((await open('POST', `/u/${token}/undo`)).status).toBe(200)
    const [again = ''] = await begin()
    await open('POST', `/u/${token}`)
    expect(await statusOf(again)).toEqual(['CANCELLED', 'unsubscribed'])
    expect(await begin()).toEqual([])
    const left = (await eventsOf(email)).filter((name) => name === 'email.unsubscribed')
    expect(left).toHaveLength(2)
  })

  it('does not happen by an undo before it, nor by a GET after it', async () => {
    const { token, execution_id } = await subscriber()
    const before = await describeTables(api.db)
    await open('POST', `/u/${token}/undo`)
    await open('HEAD', `/u/${token}`)
    expect(await describeTables(api.db)).toBe(before)
    // A POST confirms the unsubscription of a GET; repetitions change nothing.
    await open('GET', `/u/${token}`)
    await open('POST', `/u/${token}`)
    const after = await describeTables(api.db)
    for (const method of ['GET', 'HEAD', 'POST']) await open(method, `/u/${token}`)
    expect(await describeTables(api.db)).toBe(after)
    expect(await statusOf(execution_id)).toEqual(['CANCELLED', 'unsubscribed'])
  })
})
