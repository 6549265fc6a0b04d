// A key that is bound to one domain: mail and domains beside it do not exist, and nothing sends from another.
import { beforeAll, describe, expect, it } from 'vitest'
import { createTestApi, insertTestDomain } from '../setup/api.ts'
import { createBoundKey, sending } from '../setup/boundKey.ts'

const api = await createTestApi()
const own = await insertTestDomain(api, 'own.test')
const other = await insertTestDomain(api, 'other.test')

const bound = await createBoundKey(api, own)
const beside = await createBoundKey(api, other)

const as = (token: string) => (method: string, path: string, body?: unknown) =>
  api.request<Record<string, unknown>>(method, path, body, { authorization: `Bearer ${token}` })
const ask = as(bound.token)
const full = as(api.key)

const person = 'ada@example.test'
const mailFrom = (from: string) => ({ from, to: person, subject: from, text: 'Hi' })
const foreign = sending({ from: 'a@other.test', text: 'Hi' })
const mine = sending({ from: 'a@own.test', text: 'Hi' })

const made: Record<string, string> = {}

beforeAll(async () => {
  const make = async (path: string, body: object) => {
    const answer = await full('POST', path, body)
    if (answer.status >= 300) throw new Error(`${path}: ${answer.text}`)
    return String(answer.body['id'] ?? answer.body['workflow_id'])
  }
  await full('POST', '/v1/automation/events', { event_name: 'seen', email: person })
  made['own mail'] = await make('/v1/emails', mailFrom('a@own.test'))
  made['other mail'] = await make('/v1/emails', mailFrom('a@other.test'))
  made['template'] = await make('/v1/templates', {
    name: 'T',
    alias: 'foreign',
    subject: 'S',
    text: 'T',
    from: 'a@other.test',
  })
  await full('POST', '/v1/templates/foreign/publish')
  made['workflow'] = await make('/v1/workflows', { name: 'W', status: 'active', design: foreign })
  made['paused'] = await make('/v1/workflows', { name: 'P', status: 'paused', design: foreign })
  const event = { event_name: 'bound.asked', email: person }
  const started = await full('POST', '/v1/automation/events', event)
  made['execution'] = (started.body['executions'] as string[])[0] ?? ''
  for (const id of [made['own mail'], made['other mail']]) {
    await api.db
      .updateTable('emails')
      .set({ workflow_id: made['workflow'] ?? '', execution_id: made['execution'] ?? '' })
      .where('id', '=', id ?? '')
      .execute()
  }
})

const idsOf = (body: Record<string, unknown>, list: string) =>
  (body[list] as { id?: string; email_id?: string }[]).map(({ id, email_id }) => id ?? email_id)

describe('mail of another domain', () => {
  it('is a 404 by its id, with its attempts', async () => {
    for (const rest of ['', '?expand=details', '/attempts']) {
      const answers = [made['own mail'], made['other mail']].map((id) =>
        ask('GET', `/v1/emails/${id}${rest}`),
      )
      expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([200, 404])
      expect((await full('GET', `/v1/emails/${made['other mail']}${rest}`)).status).toBe(200)
    }
  })

  it('is in no list: of emails, of a workflow, of an execution', async () => {
    const of = `/v1/workflows/${made['workflow']}/emails`
    for (const path of ['/v1/emails', of, `/v1/executions/${made['execution']}/emails`]) {
      expect([path, idsOf((await ask('GET', path)).body, 'emails')]).toEqual([
        path,
        [made['own mail']],
      ])
      expect(idsOf((await full('GET', path)).body, 'emails')).toHaveLength(2)
    }
  })

  it('shows nothing of itself among the events of a contact', async () => {
    const path = `/v1/automation/contacts/${person}/events`
    const sent = (body: Record<string, unknown>) =>
      (body['events'] as { event_name: string; properties: Record<string, unknown> }[])
        .filter(({ event_name }) => event_name === 'email.sent')
        .map(({ properties }) => properties['email_id'])
    expect(sent((await full('GET', path)).body)).toEqual([made['other mail'], made['own mail']])
    const { body } = await ask('GET', path)
    expect(sent(body)).toEqual([undefined, made['own mail']])
    expect(JSON.stringify(body)).not.toContain('a@other.test')
  })

  it('cannot be sent, whether the domain is registered or not', async () => {
    expect((await ask('POST', '/v1/emails', mailFrom('a@own.test'))).status).toBe(200)
    for (const name of ['other.test', 'nowhere.test']) {
      const answer = await ask('POST', '/v1/emails', mailFrom(`a@${name}`))
      const message = `from: this API key may not send from ${name}`
      expect([answer.status, answer.body]).toEqual([403, { message, code: 'domain_not_found' }])
    }
  })
})

describe('another domain', () => {
  it('is a 404 to read, change, check and delete, and in no list', async () => {
    const requests: [string, string, object?][] = [
      ['GET', ''],
      ['GET', '?expand=details'],
      ['PATCH', '', { open_tracking_enabled: true }],
      ['POST', '/verify', {}],
      ['POST', '/rotate-dkim', {}],
      ['DELETE', ''],
    ]
    for (const [method, rest, body] of requests) {
      const answer = await ask(method, `/v1/domains/${other}${rest}`, body)
      expect([method, rest, answer.status]).toEqual([method, rest, 404])
    }
    expect((await ask('GET', `/v1/domains/${own}`)).status).toBe(200)
    expect(idsOf((await ask('GET', '/v1/domains')).body, 'domains')).toEqual([own])
    expect(idsOf((await full('GET', '/v1/domains')).body, 'domains')).toHaveLength(2)
  })

  it('cannot be registered', async () => {
    const answer = await ask('POST', '/v1/domains', { name: 'third.example.com' })
    expect([answer.status, answer.body['code']]).toEqual([403, 'restricted_api_key'])
    expect((await full('GET', '/v1/domains')).body['count']).toBe(2)
  })
})

it('sees and revokes no key but those for its domain', async () => {
  expect(idsOf((await ask('GET', '/v1/api-keys')).body, 'api_keys')).toEqual([bound.keyId])
  for (const id of [api.keyId, beside.keyId]) {
    expect((await ask('DELETE', `/v1/api-keys/${id}`)).status).toBe(404)
  }
  expect((await as(beside.token)('GET', '/v1/emails')).status).toBe(200)
})

describe('a design that sends from another domain', () => {
  const problem = (node_id: string | null, path: string, key: string) => ({
    node_id,
    path,
    message: `${key}: the domain other.test is not a verified domain that this API key may send from`,
    code: 'domain_not_verified',
  })
  const ways: [string, object, object][] = [
    ['by its from', foreign, problem('mail', 'nodes.1.data.from', 'from')],
    [
      "by its template's from",
      sending({ template_id: 'foreign' }),
      problem('mail', 'nodes.1.data.template_id', 'template_id'),
    ],
    [
      'by default_from',
      sending({ text: 'Hi' }, { default_from: 'a@other.test' }),
      problem(null, 'settings.default_from', 'default_from'),
    ],
  ]
  const refused = (found: object) => ({
    status: 400,
    body: { error: 'Workflow design is invalid', code: 'invalid_design', problems: [found] },
  })

  it.each(ways)('%s is refused, as a draft and as an active one', async (_, design, found) => {
    const { body } = await ask('POST', '/v1/workflows', { name: 'Mine', design: mine })
    for (const status of ['draft', 'active', 'paused']) {
      const answer = await ask('POST', '/v1/workflows', { name: 'X', design, status })
      expect(answer).toMatchObject(refused(found))
      const path = `/v1/workflows/${body['workflow_id']}`
      expect(await ask('PATCH', path, { design, status })).toMatchObject(refused(found))
      expect((await full('GET', path)).body).toMatchObject({ status: 'draft', design: mine })
    }
    const check = `/v1/workflows/${body['workflow_id']}/validate`
    expect((await ask('POST', check, { design })).body).toEqual({ valid: false, problems: [found] })
    expect((await full('POST', check, { design })).body['valid']).toBe(true)
  })

  it('is refused as a draft also behind more problems than an answer shows', async () => {
    const rules = Array.from({ length: 600 }, (_, i) => ({
      type: 'audience',
      audience_id: `aud_${i}`,
      member: true,
    }))
    const asks = { id: 'asks', type: 'condition', data: { condition: { type: 'or', rules } } }
    const design = { ...foreign, nodes: [asks, ...foreign.nodes] }
    const answer = await ask('POST', '/v1/workflows', { name: 'X', design })
    expect(answer).toMatchObject(refused(problem('mail', 'nodes.2.data.from', 'from')))
    expect((await full('POST', '/v1/workflows', { name: 'X', design })).status).toBe(201)
  })

  it('cannot be duplicated, restored, made active or started by hand', async () => {
    const found = problem('mail', 'nodes.1.data.from', 'from')
    const requests: [string, string, object?][] = [
      ['POST', `${made['workflow']}/duplicate`],
      ['POST', `${made['paused']}/versions/1/restore`],
      ['PATCH', `${made['paused']}`, { status: 'active' }],
      ['POST', `${made['workflow']}/executions`, { email: person }],
    ]
    for (const [method, path, body] of requests) {
      const answer = await ask(method, `/v1/workflows/${path}`, body)
      expect([path, answer]).toMatchObject([path, refused(found)])
      expect((await full(method, `/v1/workflows/${path}`, body)).status).toBeLessThan(300)
    }
  })

  it('may be stopped, and one of its own domain may do all of it', async () => {
    const stopped = await ask('PATCH', `/v1/workflows/${made['workflow']}`, { status: 'paused' })
    expect(stopped.status).toBe(200)
    const { body } = await ask('POST', '/v1/workflows', {
      name: 'Own',
      status: 'active',
      design: mine,
    })
    const path = `/v1/workflows/${body['workflow_id']}`
    for (const rest of ['/duplicate', '/versions/1/restore']) {
      expect((await ask('POST', path + rest)).status).toBeLessThan(300)
    }
    expect((await ask('POST', `${path}/executions`, { email: person })).status).toBe(201)
  })
})

it('no template gets a sender of another domain, nor goes out with it', async () => {
  const name = { name: 'Mine', alias: 'mine', subject: 'S', text: 'T', from: 'a@own.test' }
  expect((await ask('POST', '/v1/templates', name)).status).toBe(201)
  const requests: [string, string, object?][] = [
    ['POST', '/v1/templates', { ...name, alias: 'next', from: 'A <a@OTHER.test>' }],
    ['PATCH', '/v1/templates/mine', { from: 'a@other.test' }],
    // Another template must not take the name that a design of this key sends.
    ['PATCH', '/v1/templates/foreign', { alias: 'theirs' }],
    ['POST', '/v1/templates/foreign/publish'],
    ['POST', '/v1/templates/foreign/duplicate'],
    ['DELETE', '/v1/templates/foreign'],
  ]
  for (const [method, path, body] of requests) {
    const answer = await ask(method, path, body)
    const told = [method, path, answer.status, answer.body['code']]
    expect(told).toEqual([method, path, 403, 'domain_not_found'])
  }
  expect((await ask('POST', '/v1/templates/mine/publish')).status).toBe(200)
})
