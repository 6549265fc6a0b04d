// Sending to webhooks: what receivers get and verify, what becomes of each kind of answer, and that an endpoint delays no other.
// Long because it has an endpoint for each way of going wrong.
import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net'
import { sql } from 'kysely'
import { Webhook as Verifier } from 'standardwebhooks'
import { afterAll, afterEach, describe, expect, it, onTestFinished } from 'vitest'
import { listDueDeliveries, renewWebhooks, takeWebhooks } from '../../db/webhooks/lanes.ts'
import { clearUp } from '../../delivery/webhooks/housekeeping.ts'
import { createWebhookPlaces } from '../../delivery/webhooks/places.ts'
import { webhookRetries_ms } from '../../rules/webhooks/outcome.ts'
import { createTestApi } from '../setup/api.ts'
import { fencesOf } from '../setup/docs.ts'
import { eventually } from '../setup/eventually.ts'
import { type CameRequest, createHttpServer, json } from '../setup/httpServer.ts'
import { untilWaiting } from '../setup/lockWaits.ts'
import { openSession } from '../setup/session.ts'
import { deliveriesOf, hasten, startTestSender, webhookDeps } from '../setup/webhookSender.ts'

const api = await createTestApi({ env: { ALLOW_PRIVATE_WEBHOOKS: 'true' } })
const { db, workspaceId } = api
const server = await createHttpServer()
let made = 0

/** Makes a webhook that asks for no event of its own accord. */
async function makeWebhook(url = `${server.url}/${++made}`, events = ['broadcast.started']) {
  const { body } = await api.request<{ id: string; signing_secret: string }>(
    'POST',
    '/v1/webhooks',
    { url, events },
  )
  return { id: body.id, secret: body.signing_secret, path: new URL(url).pathname }
}
// A workspace may have 50.
afterEach(async () => {
  await sql`update webhooks set status = 'disabled', deleted_at = now(), epoch = epoch + 1, leased_until = null
    where deleted_at is null`.execute(db)
})
const sendTest = (id: string) =>
  api.request<{ event_id: string }>('POST', `/v1/webhooks/${id}/test`)

/** Writes so many events for a webhook. */
async function tell(id: string, count: number): Promise<void> {
  await sql`
    with event as (
      insert into webhook_events (id, workspace_id, type, at, data)
      select webhook_id(), ${workspaceId}, 'webhook.test', now(), jsonb_build_object('n', n)
      from generate_series(1, ${count}) n returning id, (data->>'n')::int as n
    )
    insert into webhook_deliveries (id, webhook_id, event_id, workspace_id, next_at, created_at)
    select webhook_id(), ${id}, id, ${workspaceId}, clock_timestamp(), clock_timestamp() from event order by n
  `.execute(db)
}
const numberOf = ({ body }: CameRequest) => (JSON.parse(body) as { data: { n: number } }).data.n
const webhook = (id: string) =>
  db.selectFrom('webhooks').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
const verify = (secret: string, { body, headers }: CameRequest) =>
  new Verifier(secret).verify(body, headers as Record<string, string>)
/** What the page of the docs shows to those without a library. */
async function docsVerifier() {
  const [fence] = fencesOf(['docs/webhooks.md']).filter(({ language }) => language === 'js')
  const url = `data:text/javascript,${encodeURIComponent(fence?.text ?? '')}`
  const module = (await import(url)) as {
    verify: (secret: string, headers: object, body: string) => unknown
  }
  return module.verify
}
const settled = (id: string, attempts = 1) =>
  eventually(
    async () => {
      const [row] = await deliveriesOf(api, id)
      expect(row?.attempts).toBe(attempts)
    },
    { deadline_ms: 60_000 },
  )

describe('a request', () => {
  it('is signed as Standard Webhooks says, and is the same when it is tried again', async () => {
    const { id, secret, path } = await makeWebhook()
    server.answer(path, json(500, {}), json(200, {}))
    const { event_id } = (await sendTest(id)).body
    startTestSender(api)
    await settled(id)
    await hasten(api, id)
    await settled(id, 2)
    const [first, second] = server.came(path) as [CameRequest, CameRequest]
    expect(verify(secret, first)).toMatchObject({
      type: 'webhook.test',
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      data: { id, status: 'enabled' },
    })
    expect(verify(secret, second)).toEqual(JSON.parse(first.body))
    const byHand = await docsVerifier()
    expect(byHand(secret, first.headers, first.body)).toEqual(JSON.parse(first.body))
    expect(() => byHand(secret, first.headers, `${first.body} `)).toThrow('not signed')
    expect(() => byHand(`whsec_${'A'.repeat(44)}`, first.headers, first.body)).toThrow('not signed')
    expect([first, second].map(({ headers }) => headers['webhook-id'])).toEqual([
      event_id,
      event_id,
    ])
    expect(first).toMatchObject({
      method: 'POST',
      body: second.body,
      headers: { 'content-type': 'application/json' },
    })
    expect(await deliveriesOf(api, id)).toEqual([
      { state: 'succeeded', attempts: 2, response_status: 200, in_s: null },
    ])
  })

  it('says when its event happened to the millisecond, in UTC, and has its texts as they are', async () => {
    const { id, secret, path } = await makeWebhook()
    await tell(id, 1)
    const data = { text: 'Grüße, "Ada" \\ \u2028 </script>', list: [1, null] }
    await sql`
      update webhook_events e set at = '2026-11-02 10:00:00.005+01', data = ${JSON.stringify(data)}::jsonb
      from webhook_deliveries d where d.webhook_id = ${id} and e.id = d.event_id`.execute(db)
    startTestSender(api)
    await settled(id)
    const [came] = server.came(path) as [CameRequest]
    const timestamp = '2026-11-02T09:00:00.005Z'
    expect(verify(secret, came)).toEqual({ type: 'webhook.test', timestamp, data })
  })

  it('is signed with both secrets for a day after a rotation', async () => {
    const { id, secret, path } = await makeWebhook()
    const { body } = await api.request('POST', `/v1/webhooks/${id}/rotate-secret`)
    const rotated = String(body['signing_secret'])
    startTestSender(api)
    await sendTest(id)
    await settled(id)
    const [came] = server.came(path) as [CameRequest]
    for (const one of [secret, rotated]) expect(verify(one, came)).toBeDefined()
    await sql`update webhook_secrets set valid_until = now() where valid_until is not null`.execute(
      db,
    )
    await sendTest(id)
    await eventually(() => expect(server.came(path)).toHaveLength(2))
    const second = server.came(path)[1] as CameRequest
    expect(() => verify(secret, second)).toThrow()
    expect(verify(rotated, second)).toBeDefined()
  })

  it('is written once though two workers send', async () => {
    const { id, path } = await makeWebhook()
    await tell(id, 60)
    startTestSender(api)
    startTestSender(api)
    await eventually(() => expect(server.came(path)).toHaveLength(60))
    expect(new Set(server.came(path).map(({ headers }) => headers['webhook-id'])).size).toBe(60)
  })

  it('is made again by another worker when the one that had the endpoint is gone', async () => {
    const { id, path } = await makeWebhook()
    await tell(id, 1)
    await sql`update webhooks set epoch = 5, leased_until = clock_timestamp() + interval '1 hour'
      where id = ${id}`.execute(db)
    const other = await makeWebhook()
    await tell(other.id, 1)
    startTestSender(api)
    await settled(other.id)
    expect(server.came(path)).toHaveLength(0)
    await sql`update webhooks set leased_until = clock_timestamp() where id = ${id}`.execute(db)
    await settled(id)
    expect((await webhook(id)).epoch).toBe(6)
  })
})

describe('a changed webhook', () => {
  it('gets what was read for its old URL, and nothing more goes there', async () => {
    const { id, path } = await makeWebhook()
    const open: ServerResponse[] = []
    server.answer(path, json(200, {}), (res) => void open.push(res))
    await tell(id, 20)
    startTestSender(api)
    await eventually(() => expect(open).toHaveLength(8))
    const moved = `${path}-moved`
    await api.request('PATCH', `/v1/webhooks/${id}`, { url: `${server.url}${moved}` })
    for (const res of open) res.writeHead(410).end()
    await eventually(() => expect(new Set(server.came(moved).map(numberOf)).size).toBe(19), {
      deadline_ms: 60_000,
    })
    expect(await webhook(id)).toMatchObject({ status: 'enabled', disabled_reason: null })
  })

  it.each([
    ['moved', 'PATCH', '', { url: 'https://moved.example.test/' }],
    ['disabled', 'PATCH', '', { status: 'disabled' }],
    ['given another secret', 'POST', '/rotate-secret', undefined],
    ['deleted', 'DELETE', '', undefined],
  ] as const)("that is %s is no worker's any more", async (_, method, path, body) => {
    const { id } = await makeWebhook()
    const places = { healthy: { free: 9, full: [] }, others: { free: 9, full: [] } }
    await tell(id, 1)
    const [taken] = await takeWebhooks(db as never, [id], places)
    const had = { id, epoch: taken?.epoch ?? 0 }
    await api.request(method, `/v1/webhooks/${id}${path}`, body)
    expect(await renewWebhooks(db as never, [had])).toEqual([])
    expect(await listDueDeliveries(db, had, { but: [], limit: 9 })).toEqual([])
    expect((await webhook(id)).leased_until).toBeNull()
  })

  it('of a full workspace is not taken, and workspaces take turns', async () => {
    const all = await Promise.all(Array.from({ length: 12 }, () => makeWebhook()))
    const { workspaceId: other } = await api.createKey({ workspaceName: 'beside' })
    const last = all.at(-1)?.id ?? ''
    await sql`update webhooks set workspace_id = ${other} where id = ${last}`.execute(db)
    for (const { id } of all) await tell(id, 1)
    const ids = all.map(({ id }) => id)
    const take = (free: number, full: string[]) =>
      takeWebhooks(db as never, ids, { healthy: { free, full }, others: { free, full } })
    expect((await take(10, [workspaceId])).map(({ id }) => id)).toEqual([last])
    await sql`update webhooks set leased_until = null where id = ${last}`.execute(db)
    const taken = await take(10, [])
    expect(taken.filter((one) => one.workspace_id === workspaceId)).toHaveLength(8)
    expect(taken.map(({ id }) => id)).toContain(last)
  })
})

describe('an answer', () => {
  it.each([
    [301, 'a redirect, which is not followed'],
    [307, 'another redirect'],
    [404, 'what is not there'],
    [500, 'an error'],
    [429, 'too many requests'],
  ])('%i is tried again: %s', async (status) => {
    const { id, path } = await makeWebhook()
    server.answer(path, json(status, {}, { location: `${server.url}/elsewhere` }))
    startTestSender(api)
    await sendTest(id)
    await settled(id)
    const [row] = await deliveriesOf(api, id)
    expect(row).toMatchObject({ state: 'pending', response_status: status })
    expect(Math.abs((row?.in_s ?? 0) - 5)).toBeLessThanOrEqual(5)
    expect(server.came('/elsewhere')).toEqual([])
  })

  it('that fails each time is tried after 5 s, 5 m, 30 m, 2 h, 5 h, 10 h, 10 h, and then no more', async () => {
    const { id, path } = await makeWebhook()
    server.answer(path, json(500, {}))
    startTestSender(api)
    await sendTest(id)
    for (const [at, pause_ms] of webhookRetries_ms.entries()) {
      await settled(id, at + 1)
      const [row] = await deliveriesOf(api, id)
      expect(row?.state).toBe('pending')
      // A slow machine looks some seconds later.
      expect(row?.in_s).toBeLessThanOrEqual(pause_ms / 1000)
      if (pause_ms > 60_000) expect(row?.in_s).toBeGreaterThan(pause_ms / 1000 - 120)
      await hasten(api, id)
    }
    await settled(id, 8)
    expect(await deliveriesOf(api, id)).toMatchObject([{ state: 'failed', in_s: null }])
    expect(server.came(path)).toHaveLength(8)
  })

  it('may ask for a longer pause', async () => {
    const { id, path } = await makeWebhook()
    server.answer(path, json(503, {}, { 'retry-after': '3600' }))
    startTestSender(api)
    await sendTest(id)
    await settled(id)
    const [row] = await deliveriesOf(api, id)
    expect(row?.in_s).toBeGreaterThan(3400)
    expect(row?.in_s).toBeLessThanOrEqual(3600)
  })

  it('410 disables, and others are told', async () => {
    const { id, path } = await makeWebhook()
    const watching = await makeWebhook(undefined, ['webhook.disabled'])
    server.answer(path, json(410, {}))
    startTestSender(api)
    await sendTest(id)
    await eventually(async () =>
      expect(await webhook(id)).toMatchObject({ status: 'disabled', disabled_reason: 'gone' }),
    )
    await eventually(() => expect(server.came(watching.path)).toHaveLength(1))
    const [told] = server.came(watching.path) as [CameRequest]
    expect(JSON.parse(told.body)).toMatchObject({
      type: 'webhook.disabled',
      data: { id, status: 'disabled', disabled_reason: 'gone' },
    })
    await api.request('DELETE', `/v1/webhooks/${watching.id}`)
  })

  it('that has failed for five days disables; a success between begins anew', async () => {
    const { id, path } = await makeWebhook()
    server.answer(path, json(500, {}), json(200, {}), json(500, {}))
    const long = sql`update webhooks set failing_since = now() - interval '5 days 1 second',
      failed_at = now() - interval '1 hour' where id = ${id}`
    startTestSender(api)
    for (const attempts of [1, 2]) {
      await sendTest(id)
      await eventually(() => expect(server.came(path)).toHaveLength(attempts))
      await eventually(async () => {
        expect((await webhook(id)).failing_since === null).toBe(attempts === 2)
      })
    }
    await long.execute(db)
    await sendTest(id)
    await eventually(async () =>
      expect(await webhook(id)).toMatchObject({ status: 'disabled', disabled_reason: 'failing' }),
    )
  })
})

/** A server that does as it likes with each connection. */
async function rawServer(onConnection: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>()
  const raw = createTcpServer((socket) => {
    sockets.add(socket.on('error', () => undefined))
    onConnection(socket)
  }).listen(0, '127.0.0.1')
  await once(raw, 'listening')
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    raw.close()
  })
  return `http://127.0.0.1:${(raw.address() as AddressInfo).port}/in`
}

const HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n'

describe('an endpoint that', () => {
  it.each<[string, (socket: Socket) => void]>([
    ['closes before it answers', (socket) => socket.once('data', () => socket.destroy())],
    ['closes at once', (socket) => socket.destroy()],
    ['closes in its status line', (socket) => socket.once('data', () => socket.end('HTTP/1.1 2'))],
    ['speaks no HTTP', (socket) => socket.once('data', () => socket.end('220 mail ESMTP\r\n'))],
  ])('%s has not answered', async (_, behave) => {
    const { id } = await makeWebhook(await rawServer(behave))
    startTestSender(api)
    await sendTest(id)
    await settled(id)
    expect(await deliveriesOf(api, id)).toMatchObject([{ state: 'pending', response_status: null }])
  })

  it.each<[string, (socket: Socket) => void]>([
    [
      'closes in the middle of its body',
      (socket) => socket.once('data', () => socket.end(`${HEAD}content-length: 100\r\n\r\nhal`)),
    ],
    [
      'streams for ever',
      (socket) =>
        socket.once('data', () => {
          socket.write(`${HEAD}\r\n`)
          const more = () =>
            socket.writable && socket.write('x'.repeat(1000), () => setImmediate(more))
          more()
        }),
    ],
    [
      'never ends its body',
      (socket) => socket.once('data', () => socket.write(`${HEAD}content-length: 100\r\n\r\n`)),
    ],
  ])('%s has answered by its status', async (_, behave) => {
    const { id } = await makeWebhook(await rawServer(behave))
    startTestSender(api)
    await sendTest(id)
    await settled(id)
    expect(await deliveriesOf(api, id)).toMatchObject([
      { state: 'succeeded', response_status: 200 },
    ])
  })

  it.each<[string, (socket: Socket) => void]>([
    ['hangs', () => undefined],
    [
      'sends its headers a byte a second',
      (socket) => {
        let sent = 0
        const timer = setInterval(() => socket.write(HEAD[sent++] ?? ' '), 1_000)
        socket.on('close', () => clearInterval(timer))
      },
    ],
  ])(
    '%s is left after ten seconds, and delays nobody',
    async (_, behave) => {
      // Before the server: it closes first, so that the sender does not wait ten seconds for what it began last.
      startTestSender(api)
      const { id } = await makeWebhook(await rawServer(behave))
      const { id: other, path } = await makeWebhook()
      await tell(id, 20)
      await tell(other, 20)
      await eventually(() => expect(server.came(path)).toHaveLength(20))
      const [first] = await deliveriesOf(api, id)
      expect(first?.attempts).toBe(0)
      await eventually(
        async () => {
          const rows = await deliveriesOf(api, id)
          expect(rows.filter(({ attempts }) => attempts === 1).length).toBeGreaterThan(0)
        },
        { deadline_ms: 60_000 },
      )
      const { rows } = await sql<{ ms: number }>`select max(response_ms)::int as ms
      from webhook_deliveries where webhook_id = ${id}`.execute(db)
      expect(rows[0]?.ms).toBeGreaterThanOrEqual(9_990)
      await api.request('DELETE', `/v1/webhooks/${id}`)
    },
    120_000,
  )
})

describe('many deliveries', () => {
  it('begin in order, eight at a time, and one that is tried again holds none of them', async () => {
    const open: { res: ServerResponse; n: number }[] = []
    let most = 0
    const { id, path } = await makeWebhook()
    const hold = (res: ServerResponse, came: CameRequest) => {
      open.push({ res, n: numberOf(came) })
      most = Math.max(most, open.length)
    }
    // The first one alone, since the endpoint has never answered.
    server.answer(path, json(200, {}), hold)
    await tell(id, 30)
    startTestSender(api)
    await eventually(() => expect(open).toHaveLength(8))
    const began = () => server.came(path).map(numberOf)
    expect(began()).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9])
    // The second never ends well; all others do.
    const failed = open.shift()
    failed?.res.writeHead(500).end()
    while (server.came(path).length < 30 || open.length > 0) {
      for (const { res } of open.splice(0, 3)) res.writeHead(200).end()
      await eventually(() => expect(open.length > 0 || server.came(path).length >= 30).toBe(true))
    }
    await eventually(async () => {
      const rows = await deliveriesOf(api, id)
      expect(rows.filter(({ state }) => state === 'succeeded')).toHaveLength(29)
    })
    expect(most).toBe(8)
    const order = began().slice(0, 30)
    // Requests on several connections may arrive a little out of order.
    for (const [at, n] of order.entries()) expect(Math.abs(n - 1 - at)).toBeLessThan(8)
  })

  it('that were read are sent while the next ones are read', async () => {
    const held: ServerResponse[] = []
    const { id, path } = await makeWebhook()
    server.answer(path, json(200, {}), (res) => held.push(res))
    await tell(id, 40)
    startTestSender(api)
    await eventually(() => expect(held).toHaveLength(8))
    // To read a body is to read its event.
    const reader = await openSession(api.url)
    await reader.run('begin; lock table webhook_events in access exclusive mode')
    const answer = (res: ServerResponse) => res.writeHead(200).end()
    server.answer(path, answer)
    held.forEach(answer)
    await untilWaiting(db, 1)
    // The first one, alone, and the sixteen that such an endpoint is read at once.
    await eventually(() => expect(server.came(path).length).toBeGreaterThanOrEqual(17))
    await reader.run('commit')
    await eventually(() => expect(server.came(path)).toHaveLength(40))
  })

  it('of an endpoint that fails are tried less and less often, and go on when it is back', async () => {
    const { id, path } = await makeWebhook()
    let isUp = false
    server.answer(path, (res) => res.writeHead(isUp ? 200 : 500).end())
    await tell(id, 100)
    startTestSender(api)
    await eventually(async () => expect((await webhook(id)).rests_until).not.toBeNull())
    const { failures } = await webhook(id)
    expect(failures).toBeGreaterThanOrEqual(10)
    expect(failures).toBeLessThan(20)
    isUp = true
    await hasten(api, id)
    await eventually(
      async () => {
        const rows = await deliveriesOf(api, id)
        expect(rows.filter(({ state }) => state === 'succeeded')).toHaveLength(100)
      },
      { deadline_ms: 60_000 },
    )
    expect(await webhook(id)).toMatchObject({ failures: 0, failing_since: null, rests_until: null })
  })
})

describe('ten thousand dead endpoints', () => {
  let hanging: Server
  afterAll(() => {
    hanging?.closeAllConnections()
    hanging?.close()
  })

  it('beside one that lives take a part of the places, and delay it little', async () => {
    let connections = 0
    let most = 0
    hanging = createServer(() => {
      connections += 1
      most = Math.max(most, connections)
    }).listen(0, '127.0.0.1')
    await once(hanging, 'listening')
    hanging.on('connection', (socket) => socket.on('close', () => (connections -= 1)))
    const dead = `http://127.0.0.1:${(hanging.address() as AddressInfo).port}/`
    const living = await makeWebhook()
    const sender = startTestSender(api, {}, createWebhookPlaces(40, 30))
    await sendTest(living.id)
    await settled(living.id)
    await sql`
      insert into webhooks (id, workspace_id, url, events, status, created_at, updated_at)
      select 'wh_' || lpad(n::text, 26, '0'), ${workspaceId}, ${dead}, '{webhook.test}', 'enabled', now(), now()
      from generate_series(1, 10000) n`.execute(db)
    await sql`
      with event as (
        insert into webhook_events (id, workspace_id, type, at, data)
        values (webhook_id(), ${workspaceId}, 'webhook.test', now(), '{"n": 0}') returning id
      )
      insert into webhook_deliveries (id, webhook_id, event_id, workspace_id, next_at, created_at)
      select webhook_id(), w.id, event.id, ${workspaceId}, now(), now()
      from event, webhooks w cross join generate_series(1, 3) where w.url = ${dead}`.execute(db)
    // Half of those for endpoints that have never answered, since all are of one workspace.
    await eventually(() => expect(connections).toBe(15))
    for (let n = 1; n <= 5; n++) {
      const before = server.came(living.path).length
      await sendTest(living.id)
      await eventually(() => expect(server.came(living.path).length).toBe(before + 1))
    }
    expect(most).toBeLessThanOrEqual(15)
    await eventually(() =>
      expect(sender.outcomes.filter((one) => one === 'succeeded').length).toBeGreaterThanOrEqual(6),
    )
    await sql`delete from webhook_deliveries where webhook_id <> ${living.id}`.execute(db)
    await sql`delete from webhooks where url = ${dead}`.execute(db)
    hanging.closeAllConnections()
  }, 120_000)
})

describe('what is cleared up', () => {
  const deps = webhookDeps(api)

  it('an endpoint with too much that waits is disabled', async () => {
    const { id } = await makeWebhook()
    const { id: fine } = await makeWebhook()
    await tell(id, 50)
    await tell(fine, 49)
    await clearUp(deps, undefined, 50)
    expect(await webhook(id)).toMatchObject({ status: 'disabled', disabled_reason: 'backlog' })
    expect(await webhook(fine)).toMatchObject({ status: 'enabled' })
  })

  it('what a deleted webhook leaves', async () => {
    const { id } = await makeWebhook()
    await tell(id, 5)
    await clearUp(deps)
    expect(await deliveriesOf(api, id)).toHaveLength(5)
    await api.request('DELETE', `/v1/webhooks/${id}`)
    await clearUp(deps)
    expect(await deliveriesOf(api, id)).toHaveLength(0)
    const left = await db.selectFrom('webhooks').select('id').where('id', '=', id).execute()
    expect(left).toEqual([])
  })
})
