// Webhooks: made, shown without their secret, changed, deleted; their deliveries listed and replayed; what is refused.
// Long because it has each operation, and each wrong input.
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { reEncryptAll } from '../../commands/secrets/reEncrypt.ts'
import { limits } from '../../rules/limits.ts'
import { webhookEventTypes } from '../../rules/webhooks/eventTypes.ts'
import { createSecrets } from '../../runtime/secrets.ts'
import { createTestApi } from '../setup/api.ts'
import { TEST_SECRET_KEY } from '../setup/processes.ts'

interface Webhook {
  id: string
  url: string
  events: string[]
  status: string
  disabled_reason: string | null
  signing_secret: string
}
interface Delivery {
  id: string
  event_id: string
  type: string
  status: string
  attempts: number
  next_attempt_at: number | null
}
interface Deliveries {
  deliveries: Delivery[]
  count: number
  cursor: string | null
}

let time = Date.UTC(2026, 0, 1)
const api = await createTestApi({ now: () => new Date(time) })
const url = 'https://hooks.example.test/in'
const make = (change: object = {}) =>
  api.request<Webhook>('POST', '/v1/webhooks', { url, events: ['email.*'], ...change })
const change = (id: string, body: object) =>
  api.request<Webhook>('PATCH', `/v1/webhooks/${id}`, body)
const sendTest = (id: string) => api.request<Delivery>('POST', `/v1/webhooks/${id}/test`)
const list = (id: string, query = '') =>
  api.request<Deliveries>('GET', `/v1/webhooks/${id}/deliveries${query}`)
const rows = (id: string) =>
  api.db
    .selectFrom('webhook_secrets')
    .selectAll()
    .where('webhook_id', '=', id)
    .orderBy('id')
    .execute()

describe('a webhook', () => {
  it('shows its secret when it is made and when it is rotated, and never else', async () => {
    const made = await make({ description: 'Mail', events: ['email.*', 'email.*', '*'] })
    expect(made.status).toBe(201)
    const { signing_secret: secret, ...shown } = made.body
    expect(shown).toEqual({
      id: expect.stringMatching(/^wh_\w{26}$/),
      url,
      events: ['email.*', '*'],
      description: 'Mail',
      status: 'enabled',
      disabled_reason: null,
      created: time,
      updated: time,
    })
    expect(Buffer.from(secret.replace('whsec_', ''), 'base64')).toHaveLength(32)
    expect((await api.request('GET', `/v1/webhooks/${shown.id}`)).body).toEqual(shown)
    const { body } = await api.request<{ webhooks: object[] }>('GET', '/v1/webhooks')
    expect(body.webhooks[0]).toEqual(shown)

    time += 1000
    const rotated = await api.request<Webhook>('POST', `/v1/webhooks/${shown.id}/rotate-secret`)
    expect(rotated.status).toBe(200)
    expect(rotated.body).toEqual({ ...shown, updated: time, signing_secret: expect.any(String) })
    expect(rotated.body.signing_secret).not.toBe(secret)
    expect((await rows(shown.id)).map(({ valid_until }) => valid_until?.getTime() ?? null)).toEqual(
      [time + 24 * 3_600_000, null],
    )
    // A day later the next rotation forgets the first one.
    time += 24 * 3_600_000
    await api.request('POST', `/v1/webhooks/${shown.id}/rotate-secret`)
    expect(await rows(shown.id)).toHaveLength(2)
  })

  it('keeps its secret encrypted, also when SECRET_KEY changes', async () => {
    const { id, signing_secret } = (await make()).body
    const plain = Buffer.from(signing_secret.replace('whsec_', ''), 'base64')
    const [before] = await rows(id)
    expect(before?.secret.includes(plain)).toBe(false)
    const after = createSecrets(Buffer.alloc(32, 7), [Buffer.from(TEST_SECRET_KEY, 'base64')])
    const { db, deps } = api
    expect(await reEncryptAll({ db, secrets: after, wake: deps.wake }, 2)).toMatchObject({
      unread: [],
    })
    const [row] = await rows(id)
    const alone = createSecrets(Buffer.alloc(32, 7))
    expect(alone.decrypt('webhook', row?.secret ?? Buffer.alloc(0))).toEqual(plain)
    // As the others of this file need it.
    const back = createSecrets(Buffer.from(TEST_SECRET_KEY, 'base64'), [Buffer.alloc(32, 7)])
    await reEncryptAll({ db, secrets: back, wake: deps.wake }, 2)
  })

  it('is changed, disabled by hand, and enabled again as if nothing had failed', async () => {
    const { id } = (await make()).body
    time += 1000
    const to = { url: 'https://other.example.test:8443/x?y=1', events: ['contact.created'] }
    expect((await change(id, { ...to, description: null })).body).toMatchObject({
      ...to,
      description: null,
      status: 'enabled',
      updated: time,
    })
    expect((await change(id, { status: 'disabled' })).body).toMatchObject({
      status: 'disabled',
      disabled_reason: 'manual',
    })
    await sql`update webhooks set disabled_reason = 'gone', failures = 99, failing_since = now(),
      rests_until = now() where id = ${id}`.execute(api.db)
    expect((await change(id, { status: 'disabled' })).body.disabled_reason).toBe('gone')
    expect((await change(id, { status: 'enabled' })).body).toMatchObject({
      status: 'enabled',
      disabled_reason: null,
    })
    expect(
      await api.db
        .selectFrom('webhooks')
        .select(['failures', 'failing_since', 'rests_until'])
        .where('id', '=', id)
        .executeTakeFirst(),
    ).toEqual({ failures: 0, failing_since: null, rests_until: null })
  })

  it('is gone when it was deleted', async () => {
    const { id } = (await make()).body
    expect((await api.request('DELETE', `/v1/webhooks/${id}`)).status).toBe(204)
    for (const [method, path, body] of [
      ['GET', ''],
      ['PATCH', '', { events: ['*'] }],
      ['DELETE', ''],
      ['POST', '/test'],
      ['POST', '/rotate-secret'],
      ['GET', '/deliveries'],
      ['POST', '/deliveries/att_00000000000000000000000000/replay'],
    ] as const) {
      const answer = await api.request(method, `/v1/webhooks/${id}${path}`, body)
      expect([answer.status, answer.body['code']], `${method} ${path}`).toEqual([404, 'not_found'])
    }
    const { text } = await api.request('GET', '/v1/webhooks')
    expect(text).not.toContain(id)
  })
})

describe('deliveries', () => {
  it('are listed by status, newest first, page by page', async () => {
    const { id } = (await make({ events: ['webhook.disabled'] })).body
    const made: string[] = []
    for (let n = 0; n < 52; n++) made.push((await sendTest(id)).body.id)
    const first = await list(id)
    expect([first.body.count, first.body.deliveries.map((one) => one.id)]).toEqual([
      50,
      made.toReversed().slice(0, 50),
    ])
    const second = await list(id, `?cursor=${first.body.cursor}`)
    expect(second.body).toMatchObject({ count: 2, cursor: null })
    expect((await list(id, `?status=pending&cursor=${first.body.cursor}`)).body).toMatchObject({
      code: 'invalid_cursor',
    })
    expect((await list(id, '?status=pending')).body.count).toBe(50)
    expect((await list(id, '?status=failed')).body).toEqual({
      deliveries: [],
      count: 0,
      cursor: null,
    })
    expect(first.body.deliveries[0]).toMatchObject({
      event_id: expect.stringMatching(/^msg_\w{26}$/),
      type: 'webhook.test',
      status: 'pending',
      attempts: 0,
      response_status: null,
      response_ms: null,
    })
  })

  it('are replayed with the same event', async () => {
    const { id } = (await make({ events: ['webhook.disabled'] })).body
    const sent = (await sendTest(id)).body
    await sql`update webhook_deliveries set state = 'failed', next_at = null, attempts = 8,
      response_status = 500 where webhook_id = ${id}`.execute(api.db)
    expect((await list(id)).body.deliveries[0]).toMatchObject({
      status: 'failed',
      next_attempt_at: null,
    })
    const again = await api.request('POST', `/v1/webhooks/${id}/deliveries/${sent.id}/replay`)
    expect(again.status).toBe(202)
    expect(again.body).toMatchObject({
      id: sent.id,
      event_id: sent.event_id,
      status: 'pending',
      attempts: 0,
    })
    // Of another webhook it does not exist.
    const other = (await make()).body.id
    const foreign = await api.request('POST', `/v1/webhooks/${other}/deliveries/${sent.id}/replay`)
    expect(foreign.status).toBe(404)
  })
})

describe('what is refused', () => {
  it.each([
    'http://hooks.example.test/in',
    'https://hooks.example.test:444/in',
    'https://user@hooks.example.test/in',
    'https://user:secret@hooks.example.test/in',
    'ftp://hooks.example.test/in',
    'hooks.example.test/in',
    'https://',
    'https:hooks.example.test',
    ' https://hooks.example.test/in',
  ])('the url %s', async (bad) => {
    const answer = await make({ url: bad })
    expect([answer.status, answer.body]).toMatchObject([400, { code: 'invalid_url' }])
    const { id } = (await make()).body
    expect((await change(id, { url: bad })).body).toMatchObject({ code: 'invalid_url' })
    expect((await api.request('GET', `/v1/webhooks/${id}`)).body).toMatchObject({ url })
  })

  it.each(['email', 'email.', 'Email.sent', 'email.*x', '**', '.*', 'email.sent ', '__proto__'])(
    'the event %s',
    async (bad) => {
      const answer = await make({ events: ['email.sent', bad] })
      expect([answer.status, answer.body]).toMatchObject([400, { code: 'invalid_event_type' }])
    },
  )

  it.each([
    [{ events: [] }, 'events'],
    [{ events: 'email.sent' }, 'events'],
    [{ events: [1] }, 'events'],
    [{ url: 1 }, 'url'],
    [{ url: '' }, 'url'],
    [{ url: `https://a.test/${'x'.repeat(2_048)}` }, 'url'],
    [{ description: 'x'.repeat(501) }, 'description'],
    [{ description: 'a\u0000b' }, 'description'],
  ])('%j', async (bad, field) => {
    const answer = await make(bad)
    expect([answer.status, answer.text]).toEqual([400, expect.stringContaining(field)])
  })

  it('a body that changes nothing', async () => {
    const { id } = (await make()).body
    expect((await change(id, {})).status).toBe(400)
    expect((await change(id, { status: 'paused' })).status).toBe(400)
  })
})

it('may ask for every type', async () => {
  expect((await make({ events: webhookEventTypes })).status).toBe(201)
})

it('may have any http URL where the settings say so', async () => {
  const lax = await createTestApi({ env: { ALLOW_PRIVATE_WEBHOOKS: 'true' } })
  const to = (given: string) => lax.request('POST', '/v1/webhooks', { url: given, events: ['*'] })
  expect((await to('http://127.0.0.1:1234/in')).status).toBe(201)
  expect((await to('ftp://127.0.0.1/in')).body).toMatchObject({ code: 'invalid_url' })
})

it('a workspace has 50 webhooks at most, two at once among them', async () => {
  const { token, workspaceId } = await api.createKey({ workspaceName: 'many' })
  await sql`
    insert into webhooks (id, workspace_id, url, events, status, created_at, updated_at)
    select 'wh_' || lpad(n::text, 26, '0'), ${workspaceId}, ${url}, '{*}', 'disabled', now(), now()
    from generate_series(1, ${limits.webhooksMax - 1}) n`.execute(api.db)
  const headers = { authorization: `Bearer ${token}` }
  const one = () => api.request<Webhook>('POST', '/v1/webhooks', { url, events: ['*'] }, headers)
  const answers = await Promise.all([one(), one(), one(), one()])
  expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409])
  expect(answers.find(({ status }) => status === 409)?.body).toMatchObject({
    code: 'too_many_webhooks',
  })
  const id = answers.find(({ status }) => status === 201)?.body.id
  await api.request('DELETE', `/v1/webhooks/${id}`, undefined, headers)
  expect((await one()).status).toBe(201)
})
