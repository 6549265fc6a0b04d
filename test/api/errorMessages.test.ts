// Every code that an error can carry, asked for by a real request: its status, and a message with the field, what came
// and what is allowed. Then the texts of the contract, which come without a code.
// Long because it is one table with a row for each code.
import { sql } from 'kysely'
import { beforeAll, describe, expect, it } from 'vitest'
import { createApp } from '../../api/http/app.ts'
import { type ErrorCode, errorCodeNames, errorCodes } from '../../api/http/errorCodes.ts'
import { connect } from '../../db/connect.ts'
import { readPage } from '../../dev/docs/pages.ts'
import type { JsonObject } from '../../rules/json.ts'
import { limits } from '../../rules/limits.ts'
import { createTestApi, insertTestDomain } from '../setup/api.ts'
import { welcomeDesign } from '../setup/designs.ts'
import { fencesOf } from '../setup/docs.ts'
import { eventually } from '../setup/eventually.ts'
import { limitTo } from '../setup/limits.ts'
import { listen } from '../setup/listening.ts'
import { head, openRaw } from '../setup/rawHttp.ts'
import { runSql } from '../setup/template.ts'
import { seedTenant } from '../setup/tenant.ts'

const api = await createTestApi()
const own = await seedTenant(api, 'test')
await insertTestDomain(api, 'new.test', 'NOT_STARTED')
const { token: eventsKey } = await api.createKey()
await api.db
  .updateTable('api_keys')
  .set({ permission: 'events_only' })
  .where('prefix', '=', eventsKey.slice(0, 12))
  .execute()

const { audiences, workflows, executions } = own.ids
const mail = { from: 'a@sender.test', to: 'you@example.test', subject: 'Hi', text: 'Hi' }
const event = { event_name: 'order.placed', email: 'ada@example.test' }
const workflow = `/v1/workflows/${workflows}`
const timestamp = Date.UTC(2100, 0, 1)

/** Ids of what the rows need, made before them. */
const made: Record<string, string> = {}
const make = async (path: string, body: object): Promise<string> => {
  const answer = await api.request('POST', path, body)
  if (answer.status >= 300) throw new Error(answer.text)
  return String(answer.body['id'] ?? answer.body['workflow_id'])
}

const byHand = (more: object) => ({
  nodes: [
    { id: 'start', type: 'trigger', data: { kind: 'manual', ...more } },
    { id: 'end', type: 'exit', data: {} },
  ],
  edges: [{ id: 'e', source: 'start', target: 'end' }],
})

beforeAll(async () => {
  const leaver = api.deps.addressMac(api.workspaceId, 'left@example.test')
  await sql`insert into opt_outs (id, workspace_id, scope, target_id, address_hmac, source, created_at)
    values ('opt_2', ${api.workspaceId}, 'audience', ${audiences}, ${leaver}, 'complaint', now())`.execute(
    api.db,
  )
  made['draft'] = await make('/v1/templates', { name: 'Draft', alias: 'draft' })
  made['used'] = await make('/v1/templates', { name: 'Used', subject: 'S', text: 'T' })
  await api.request('POST', `/v1/templates/${made['used']}/publish`)
  made['expired'] = await make('/v1/api-keys', {
    name: 'Old',
    permission: 'events_only',
    expires_at: timestamp,
  })
  await runSql(api.url, `update api_keys set expires_at = now() where id = '${made['expired']}'`)
  const [spent, hasty] = [await api.createKey(), await api.createKey()]
  made['spent'] = spent.token
  made['hasty'] = hasty.token
  const hooked = await api.createKey({ workspaceName: 'hooked' })
  made['hooked'] = hooked.token
  await sql`
    insert into webhooks (id, workspace_id, url, events, status, created_at, updated_at)
    select 'wh_' || lpad(n::text, 26, '0'), ${hooked.workspaceId}, 'https://a.test', '{*}', 'disabled', now(), now()
    from generate_series(1, ${limits.webhooksMax}) n`.execute(api.db)
  await limitTo(api.db, api.workspaceId, { emailsPerDay: 0 }, spent.keyId)
  await limitTo(api.db, api.workspaceId, { perSecond: 0.001 }, hasty.keyId)
  await eventually(async () => {
    const authorization = `Bearer ${hasty.token}`
    const { status } = await api.request('GET', '/v1/emails', undefined, { authorization })
    expect(status).toBe(429)
  })
  const hook = { url: 'https://hooks.example.test/in', events: ['webhook.test'] }
  made['replayed'] = await make('/v1/webhooks', hook)
  await make(`/v1/webhooks/${made['replayed']}/replay`, { since: 0 })
  const [start, , , , end] = welcomeDesign.nodes
  const data = { template_id: made['used'], from: 'a@sender.test' }
  const edges = [
    { id: 'e1', source: 'start', target: 'mail' },
    { id: 'e2', source: 'mail', target: 'end' },
  ]
  const sending = { nodes: [start, { id: 'mail', type: 'send_email', data }, end], edges }
  made['sender'] = await make('/v1/workflows', { name: 'S', status: 'active', design: sending })
  const once = byHand({ re_entry: { mode: 'once' } })
  made['once'] = await make('/v1/workflows', { name: 'Once', status: 'active', design: once })
  made['left'] = await make('/v1/workflows', { name: 'Left', status: 'active', design: byHand({}) })
  made['idle'] = await make('/v1/workflows', { name: 'Idle', design: byHand({}) })
  const starts = (id: string) => `/v1/workflows/${id}/executions`
  await api.request('POST', starts(made['once']), { email: own.contact })
  const seen = { ...event, event_name: 'order.seen' }
  made['event'] = String(
    (await api.request('POST', '/v1/automation/events', seen)).body['event_id'],
  )
  const hmac = api.deps.addressMac(api.workspaceId, own.contact).toString('hex')
  const unsubscribe = `insert into opt_outs (id, workspace_id, scope, target_id, address_hmac, source, created_at)
    values ('opt_1', '${api.workspaceId}', 'workflow', '${made['left']}', '\\x${hmac}', 'link', now())`
  const end_ = `update executions set ended_status = 'COMPLETED', completed_at = now()
    where id = '${executions}'`
  await api.request('POST', '/v1/audiences', { name: 'A' }, { 'idempotency-key': 'used' })
  for (const statement of [unsubscribe, end_]) await runSql(api.url, statement)
})

const FOR_EVER = '{% for i in (1..99999) %}{% for j in (1..99999) %}{% endfor %}{% endfor %}'

type Ask = [method: string, path: string, body?: unknown, headers?: Record<string, string>]
type Row = { asks: () => Ask; text: string | RegExp; more?: object }

const emails = (change: object): Ask => ['POST', '/v1/emails', { ...mail, ...change }]
const row = (text: Row['text'], ...ask: Ask): Row => ({ asks: () => ask, text })

const rows: Record<ErrorCode, Row> = {
  alias_taken: row('alias: another template has "draft" already', 'POST', '/v1/templates', {
    name: 'Other',
    alias: 'draft',
  }),
  api_key_expired: {
    asks: () => ['POST', `/v1/api-keys/${made['expired']}/rotate`, { grace_ms: 0 }],
    text: /^API key key_\w{26} has expired: make another one$/,
  },
  attachments_too_large: row(
    'attachments together must not exceed 25MB, have 27.00MB',
    ...emails({
      attachments: Array(3).fill({ filename: 'a', content: 'A'.repeat(12 * 2 ** 20) }),
    }),
  ),
  batch_refused: {
    ...row(
      'emails[1]: to field is required. Nothing was sent, because x-batch-validation is strict',
      ...(['POST', '/v1/emails/batch', { emails: [mail, { ...mail, to: [] }] }] satisfies Ask),
    ),
    more: { errors: [{ index: 1, message: 'to field is required', code: 'invalid_request' }] },
  },
  body_too_complex: row(
    'The body must not be nested deeper than 80 levels',
    'POST',
    '/v1/audiences',
    {
      name: 'x',
      more: JSON.parse(`${'['.repeat(limits.bodyDepthMax)}${']'.repeat(limits.bodyDepthMax)}`),
    },
  ),
  body_too_large: row('The body must not exceed 1048576 bytes', 'POST', '/v1/audiences', {
    name: 'x'.repeat(limits.requestBytesMax),
  }),
  // Asked below by a client that stops in the middle.
  body_too_slow: row('The body stopped for 0.1 seconds after 1 bytes', 'POST', '/v1/audiences'),
  contact_unsubscribed: {
    asks: () => ['POST', `/v1/workflows/${made['left']}/executions`, { email: own.contact }],
    text: 'The contact has unsubscribed from this workflow',
  },
  content_required: row('html, text or template_id is required', ...emails({ text: '' })),
  daily_limit: {
    asks: () => ['POST', '/v1/emails', mail, { authorization: `Bearer ${made['spent']}` }],
    text: 'This API key may send 0 emails a day (UTC), and has; try again tomorrow',
  },
  domain_exists: row(
    'name: domain sender.test is registered in this workspace already',
    ...(['POST', '/v1/domains', { name: 'sender.test' }] satisfies Ask),
  ),
  domain_not_found: row(
    'from: elsewhere.test is not a domain of this workspace',
    ...emails({ from: 'Ada <ada@elsewhere.test>' }),
  ),
  domain_not_verified: row(
    'from: the DNS records of new.test were not found',
    ...emails({ from: 'a@new.test' }),
  ),
  email_required: row('Email is required', 'DELETE', '/v1/suppressions/%20'),
  email_not_scheduled: {
    asks: () => ['POST', `/v1/emails/${own.ids['emails']}/cancel`],
    text: /^Email em_\w{26} does not wait for a time: it is sent already, or cancelled$/,
  },
  event_id_reused: {
    asks: () => ['POST', '/v1/automation/events', { ...event, event_id: made['event'] }],
    text: /^event_id: "evt_\w{26}" is that of an event with another event_name or email$/,
  },
  execution_not_running: row(
    'The execution has ended: its status is COMPLETED',
    'POST',
    `/v1/executions/${executions}/cancel`,
  ),
  // Asked below while another one is being done.
  idempotency_in_progress: row(
    'Idempotency-Key: a request with this key is being done now; ask again in a moment',
    ...(['POST', '/v1/audiences', { name: 'A' }, { 'idempotency-key': 'under-way' }] satisfies Ask),
  ),
  idempotency_key_reused: row(
    'Idempotency-Key: this key came with another body before; use a new key for each request',
    ...(['POST', '/v1/audiences', { name: 'B' }, { 'idempotency-key': 'used' }] satisfies Ask),
  ),
  // Both of these need a fault behind the API: see below.
  internal_error: row('Something failed on our side', 'GET', '/v1/automation/contacts'),
  service_unavailable: row('Cannot reach the database now; try again shortly', 'GET', '/v1/emails'),
  invalid_address: row(
    'cc[1] must be one address such as ada@example.com, or Ada <ada@example.com>, not "ada@"',
    ...emails({ cc: ['b@example.test', 'ada@'] }),
  ),
  invalid_api_key: row(
    'The API key is unknown, revoked or expired',
    'GET',
    '/v1/emails',
    undefined,
    {
      authorization: 'Bearer S3CRET',
    },
  ),
  invalid_authorization_header: row(
    'Send the header Authorization: Bearer <API_KEY>',
    ...(['GET', '/v1/emails', undefined, { authorization: 'Basic S3CRET' }] satisfies Ask),
  ),
  invalid_cursor: row(
    'cursor must be one that this list gave for the same filters, not "em_1"',
    ...(['GET', '/v1/emails?cursor=em_1'] satisfies Ask),
  ),
  invalid_design: {
    ...row('Workflow design is invalid', 'PATCH', workflow, { design: { nodes: [], edges: 1 } }),
    more: {
      problems: [
        {
          node_id: null,
          path: 'edges',
          message: 'edges must be an array, not a number',
          code: 'bad_design',
        },
      ],
    },
  },
  invalid_domain_name: row(
    'name must be a domain name such as mail.example.com, not "co.uk"',
    ...(['POST', '/v1/domains', { name: 'CO.uk' }] satisfies Ask),
  ),
  invalid_email: row(
    'email in the path must be an address such as ada@example.com, not "ada"',
    ...(['DELETE', `/v1/audiences/${audiences}/contacts/ada`] satisfies Ask),
  ),
  invalid_event_type: row(
    'events must name types of events, groups as email.* or *, not "email.send"',
    ...(['POST', '/v1/webhooks', { url: 'https://a.test', events: ['email.send'] }] satisfies Ask),
  ),
  invalid_header: row(
    'headers: the value of X-Key must not hold line breaks or other control characters',
    ...emails({ headers: { 'X-Key': 'S3CRET\r\n' } }),
  ),
  invalid_idempotency_key: row(
    'Idempotency-Key must be 1-256 visible ASCII characters',
    ...(['POST', '/v1/audiences', { name: 'A' }, { 'idempotency-key': 'a b' }] satisfies Ask),
  ),
  invalid_json: row('Invalid JSON payload', 'POST', '/v1/audiences', '{"name":'),
  invalid_request: row(
    'status must be one of draft, active, paused, not "activ"; did you mean active?',
    ...(['PATCH', workflow, { status: 'activ' }] satisfies Ask),
  ),
  invalid_template: {
    ...row('html: tag "iff" not found (line 2, column 3)', 'POST', '/v1/templates', {
      name: 'T',
      html: 'a\n  {% iff %}',
    }),
    more: { field: 'html', line: 2, column: 3 },
  },
  invalid_url: row(
    'url must be https on port 443 or 8443, without a user or a password, not "http://a.test"',
    ...(['POST', '/v1/webhooks', { url: 'http://a.test', events: ['*'] }] satisfies Ask),
  ),
  job_not_running: {
    asks: () => ['POST', `/v1/jobs/${own.ids['jobs']}/resume`],
    text: 'The job is queued, so it cannot resume',
  },
  method_not_allowed: row(
    'The method must be one of GET, HEAD, POST here, not PUT',
    ...(['PUT', '/v1/emails', {}] satisfies Ask),
  ),
  not_found: row('Audience x not found', 'GET', '/v1/audiences/x'),
  rate_limited: {
    asks: () => ['GET', '/v1/emails', undefined, { authorization: `Bearer ${made['hasty']}` }],
    text: /^This API key may make 0.001 requests a second, 1 at once; try again in \d+ s$/,
  },
  re_entry_refused: {
    asks: () => ['POST', `/v1/workflows/${made['once']}/executions`, { email: own.contact }],
    text: 're_entry once of the trigger start keeps the contact out',
  },
  opted_out: {
    asks: () => {
      const contact = { email: 'left@example.test', is_subscribed: true }
      return ['POST', `/v1/audiences/${audiences}/contacts`, contact]
    },
    text: 'left@example.test has unsubscribed from this audience by their own act (complaint), which no call takes back',
  },
  replay_in_progress: {
    asks: () => ['POST', `/v1/webhooks/${made['replayed']}/replay`, { since: 0 }],
    text: /^The job job_\w+ replays this webhook, and is not over$/,
  },
  reserved_event_name: row(
    'event_name must not begin with email. contact. audience. workflow. execution., as "email.sent" does',
    ...(['POST', '/v1/automation/events', { ...event, event_name: 'email.sent' }] satisfies Ask),
  ),
  reserved_header: row(
    'headers: Message-ID is written by the service or by mail servers and must be left out',
    ...emails({ headers: { 'Message-ID': '<a@b>' } }),
  ),
  restricted_api_key: row(
    'This API key has the permission events_only; this needs full_access or read_only',
    ...([
      'GET',
      '/v1/audiences',
      undefined,
      { authorization: `Bearer ${eventsKey}` },
    ] satisfies Ask),
  ),
  template_empty: {
    asks: () => ['POST', `/v1/templates/${made['draft']}/publish`],
    text: 'html or text is required before a template is published',
  },
  template_in_use: {
    asks: () => ['DELETE', `/v1/templates/${made['used']}`],
    text: /^The active workflow wf_\w{26} sends this template$/,
  },
  template_not_published: row(
    'template_id: template "draft" is not published',
    ...emails({ text: undefined, template_id: 'draft' }),
  ),
  template_too_slow: {
    ...row(
      'html: rendering took over 5 s of processor time, and was given up',
      ...emails({ html: FOR_EVER, variables: {} }),
    ),
    more: { part: 'html', ms: 5_000 },
  },
  text_too_large: row(
    'text must not exceed 40MB, has 40.01MB',
    ...emails({ text: 'x'.repeat(limits.htmlBytesMax + 10_000) }),
  ),
  too_many_buckets: row(
    'since and until are 1001 hours apart, and one answer has at most 1000: ask for less time, or for interval=day',
    ...(['GET', '/v1/stats/emails?since=0&until=3600000001'] satisfies Ask),
  ),
  too_many_webhooks: {
    asks: () => [
      'POST',
      '/v1/webhooks',
      { url: 'https://a.test', events: ['*'] },
      { authorization: `Bearer ${made['hooked']}` },
    ],
    text: 'This workspace has 50 webhooks already; delete one first',
  },
  unsupported_media_type: row(
    'Content-Type must be application/json, not "text/plain"',
    ...([
      'POST',
      '/v1/audiences',
      '{}',
      { 'content-type': 'text/plain', 'content-length': '2' },
    ] satisfies Ask),
  ),
  version_conflict: row(
    'expected_version is 7, but the workflow is at version 1',
    ...(['PATCH', workflow, { name: 'Flow', expected_version: 7 }] satisfies Ask),
  ),
  workflow_not_active: {
    asks: () => ['POST', `/v1/workflows/${made['idle']}/executions`, { email: own.contact }],
    text: 'The workflow must be active to be started, and is draft',
  },
}

/** Mounts with shape B; a 403 has shape A everywhere. */
const shapeB = /^\/v1\/(workflows|executions|automation)/
const keyOf = (path: string, status: number) =>
  shapeB.test(path) && status !== 403 ? 'error' : 'message'

/** Runs `work` while no query finds contacts or emails in the database. */
async function whileBroken<T>(work: () => Promise<T>): Promise<T> {
  await runSql(api.url, 'alter table contacts rename to no_contacts')
  await runSql(api.url, 'alter table emails rename to no_emails')
  try {
    return await work()
  } finally {
    await runSql(api.url, 'alter table no_contacts rename to contacts')
    await runSql(api.url, 'alter table no_emails rename to emails')
  }
}

/** The application over a Postgres that does not answer. */
async function askWithoutDatabase(...[method, path]: Ask) {
  const options = { url: 'postgres://127.0.0.1:1/none', poolSize: 1, name: 'test' }
  const { db } = connect({ ...options, onIdleError: () => undefined })
  const headers = { authorization: `Bearer ${api.key}` }
  const answer = await createApp({ ...api.deps, db }).request(path, { method, headers })
  await db.destroy()
  const body = (await answer.json()) as Record<string, unknown>
  return { status: answer.status, headers: answer.headers, body, text: JSON.stringify(body) }
}

const askFor = (code: ErrorCode, ask: Ask) => {
  if (code === 'body_too_slow') return askSlowly()
  if (code === 'idempotency_in_progress') return askTwiceAtOnce(ask)
  if (code === 'template_too_slow') return askUntilTried(ask)
  if (code === 'internal_error') return whileBroken(() => api.request(...ask))
  return code === 'service_unavailable' ? askWithoutDatabase(...ask) : api.request(...ask)
}

/** Asks until it is no longer answered that the machine has too little time to render it: a few times at most. */
async function askUntilTried(ask: Ask) {
  let answer = await api.request(...ask)
  while (answer.status === 503) answer = await api.request(...ask)
  return answer
}

/** Asks the same twice while the first one waits for a lock. @returns the answer that comes at once */
async function askTwiceAtOnce(ask: Ask) {
  const client = await api.pool.connect()
  await client.query('begin; lock table audiences in exclusive mode')
  const asked = [api.request(...ask), api.request(...ask)]
  const first = await Promise.race(asked)
  await client.query('rollback')
  client.release()
  await Promise.all(asked)
  return first
}

/** Sends the first byte of a body and no more. */
async function askSlowly() {
  const { port, close } = await listen(api, { bodies: { silent_ms: 100 } })
  const connection = await openRaw(port)
  await connection.write(`${head('/v1/audiences', api.key, { 'content-length': 2 })}{`)
  const [, text = ''] = (await connection.answers()).split('\r\n\r\n')
  await close()
  const body = JSON.parse(text) as JsonObject
  return { status: connection.statuses()[0] ?? 0, headers: new Headers(), body, text }
}

describe('codes', () => {
  it.each(errorCodeNames)('%s', async (code) => {
    const { asks, text, more = {} } = rows[code]
    const ask = asks()
    const answer = await askFor(code, ask)
    const { status } = errorCodes[code]
    expect([answer.status, answer.body]).toEqual([
      status,
      {
        [keyOf(ask[1], status)]: typeof text === 'string' ? text : expect.stringMatching(text),
        code,
        ...(status >= 500 ? { request_id: answer.headers.get('x-request-id') } : {}),
        ...more,
      },
    ])
    expect(answer.text).not.toContain('S3CRET')
  })

  it('says when to come back, and which methods there are', async () => {
    const down = await askWithoutDatabase('GET', '/v1/emails')
    expect(Number(down.headers.get('retry-after'))).toBeGreaterThan(0)
    const put = await api.request('PUT', '/v1/emails', {})
    expect(put.headers.get('allow')).toBe('GET, HEAD, POST')
  })
})

const properties = (body: unknown): Ask => ['PATCH', `/v1/automation/contacts/${own.contact}`, body]

/** The texts of the contract: the whole body, but for the `details` of a failure. */
const bare: [status: number, text: string, ask: Ask][] = [
  [400, 'from field is required', emails({ from: '' })],
  [400, 'to field is required', emails({ to: [] })],
  [400, 'subject field is required', emails({ subject: null })],
  [400, 'template_id cannot be used together with html', emails({ template_id: 'x', html: 'x' })],
  [
    400,
    'html content size (40.01MB) exceeds maximum of 40MB',
    emails({ html: 'x'.repeat(limits.htmlBytesMax + 10_000) }),
  ],
  [
    400,
    'Too many recipients: 51. Maximum allowed is 50',
    emails({ to: Array(51).fill('a@example.test') }),
  ],
  [400, 'Invalid email format in from field', emails({ from: 'ada' })],
  [404, "Template 'gone' not found", emails({ text: '', template_id: 'gone' })],
  [400, 'Email is required', ['PATCH', '/v1/automation/contacts/%20', {}]],
  [400, 'Invalid email format', ['PATCH', '/v1/automation/contacts/ada', {}]],
  [400, 'Invalid JSON payload', properties('{')],
  [400, 'properties must be an object', properties({ properties: [] })],
  [400, 'properties cannot be empty', properties({ properties: {} })],
  [
    404,
    'Contact not found. Send an event first to create the contact.',
    ['PATCH', '/v1/automation/contacts/nobody@example.test', { properties: { a: 1 } }],
  ],
  [404, 'Execution not found', ['GET', '/v1/executions/x']],
  [500, 'Failed to update contact metadata', properties({ properties: { a: 1 } })],
  [
    500,
    'Failed to list contact executions',
    ['GET', `/v1/automation/contacts/${own.contact}/executions`],
  ],
  [500, 'Failed to get execution emails', ['GET', `/v1/executions/${executions}/emails`]],
]

describe('texts of the contract', () => {
  it.each(bare)('%i %s', async (status, text, ask) => {
    const answer =
      status === 500 ? await whileBroken(() => api.request(...ask)) : await api.request(...ask)
    const details = `Unexpected failure; request ${answer.headers.get('x-request-id')}`
    expect([answer.status, answer.body]).toEqual([
      status,
      { [keyOf(ask[1], status)]: text, ...(status === 500 ? { details } : {}) },
    ])
  })

  it('stand in the docs', () => {
    const page = readPage('docs/errors.md')
    const shape = (text: string) => text.replace(/'gone'/, "'<id>'").replace(/(\d+\.\d+|51)/, '<n>')
    const texts = bare.map(([, text]) => shape(text))
    expect(texts.filter((text) => !page.includes(text))).toEqual([])
  })
})

it('answers as docs/errors.md shows', async () => {
  const wait = { id: 'wait', type: 'delay', data: { duration: '3 days' } }
  const { nodes, edges } = byHand({})
  const [start, end] = nodes
  const design = {
    nodes: [start, wait, end],
    edges: [
      ...edges.map((edge) => ({ ...edge, target: 'wait' })),
      { id: 'f', source: 'wait', target: 'end' },
    ],
  }
  const answers = [
    await api.request('POST', '/v1/audiences', { name: 12 }),
    await api.request('POST', `${workflow}/validate`, { design }),
  ]
  const shown = fencesOf(['docs/errors.md']).filter(({ language }) => language === 'json')
  expect(shown.map(({ text }) => JSON.parse(text))).toEqual(answers.map(({ body }) => body))
})

describe('ids that came', () => {
  it.each([
    ['audiences', `Audience ${'x'.repeat(60)}… not found`],
    ['templates', `Template '${'x'.repeat(60)}…' not found`],
    ['workflows', `Workflow ${'x'.repeat(60)}… not found`],
    ['emails', `Email ${'x'.repeat(60)}… not found`],
    ['domains', `Domain ${'x'.repeat(60)}… not found`],
  ])('are cut in the answer of /v1/%s', async (name, text) => {
    const answer = await api.request('GET', `/v1/${name}/${'x'.repeat(5_000)}`)
    expect([answer.status, answer.body[keyOf(`/v1/${name}`, 404)]]).toEqual([404, text])
  })

  it('show nothing unseen', async () => {
    const answer = await api.request('DELETE', '/v1/api-keys/%E2%80%AEa%0Ab')
    expect(answer.body['message']).toBe('API key \\u202ea\\u000ab not found')
  })
})
