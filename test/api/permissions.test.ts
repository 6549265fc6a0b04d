// Every cell of the table of operations and keys in the docs, called: what it allows, refuses, and hides of another domain.
import { describe, expect, it } from 'vitest'
import { lacksAddress } from '../../api/http/missingAddress.ts'
import { transact } from '../../commands/transact.ts'
import { upsertSuppression } from '../../db/suppressions/writes.ts'
import { permissions } from '../../rules/permissions.ts'
import { makeReady } from '../setup/actedOn.ts'
import { type Answer, createTestApi } from '../setup/api.ts'
import { createBoundKey } from '../setup/boundKey.ts'
import { readKeyRows } from '../setup/keyCells.ts'
import { bodyOf, fillPath, guardedRoutes, type TestRoute } from '../setup/routes.ts'
import { seedTenant, type Tenant } from '../setup/tenant.ts'

const api = await createTestApi()

/** One of two domains of the same workspace, with things that send from it and a key for it of each permission. */
interface Side extends Tenant {
  domain: string
  tokens: Map<string, string>
}

async function makeSide(domain: string): Promise<Side> {
  const tenant = await seedTenant(api, 'test', { domain, eventName: `asked.${domain}` })
  const domainId = tenant.ids['domains'] ?? ''
  const tokens = new Map<string, string>()
  for (const permission of permissions) {
    tokens.set(permission, (await createBoundKey(api, domainId, { permission })).token)
  }
  const { keyId } = await createBoundKey(api, domainId, { name: 'spare' })
  const suppressed = `suppressed@${domain}`
  const secret = `KEY_${domain.replaceAll('.', '_')}`
  const authorization = `Bearer ${tokens.get('full_access')}`
  const value = { value: 'sk_live_1' }
  await api.request('PUT', `/v1/automation/secrets/${secret}`, value, { authorization })
  await api.request('POST', '/v1/suppressions', { email: suppressed })
  // To the contact, so that it is among their events.
  const mail = { from: `a@${domain}`, to: tenant.contact, subject: 'S', text: 'T' }
  const { id } = (await api.request<{ id: string }>('POST', '/v1/emails', mail)).body
  const { webhook, delivery, job } = await makeWebhook(tokens.get('full_access') ?? '')
  return {
    ...tenant,
    domain,
    tokens,
    suppressed,
    secret,
    delivery,
    ids: { ...tenant.ids, 'api-keys': keyId, emails: id, webhooks: webhook, jobs: job },
  }
}

/** A webhook of a key, which has been sent an event, and a job about it. */
async function makeWebhook(
  token: string,
): Promise<{ webhook: string; delivery: string; job: string }> {
  const ask = async (path: string, body?: object) => {
    const headers = { authorization: `Bearer ${token}` }
    return (await api.request<{ id: string }>('POST', `/v1/webhooks${path}`, body, headers)).body.id
  }
  const webhook = await ask('', { url: 'https://hooks.example.test/in', events: ['email.sent'] })
  const job = await ask(`/${webhook}/replay`, { since: 0 })
  return { webhook, delivery: await ask(`/${webhook}/test`), job }
}

const own = await makeSide('sender.test')
const other = await makeSide('other.test')

const unbound = new Map<string, string>()
for (const permission of permissions) {
  unbound.set(permission, (await api.createKey({ permission })).token)
}

/** The kinds of things that another domain hides from a key for one domain, as paths name them. */
const kinds = ['emails', 'domains', 'api-keys', 'webhooks', 'jobs']
const idsOf = ({ ids, secret }: Side) => [...kinds.map((kind) => String(ids[kind])), secret]

// Both sides' mail is in one workflow and one execution, and stands behind suppressions.
for (const { ids } of [own, other]) {
  const of = { workflow_id: own.ids['workflows'] ?? '', execution_id: own.ids['executions'] ?? '' }
  await api.db.updateTable('emails').set(of).where('id', '=', String(ids['emails'])).execute()
}
for (const [email, { ids }] of [
  ['gone@example.test', other],
  ['bounced@example.test', own],
] as const) {
  const row = {
    email,
    reason: 'bounce',
    source_id: String(ids['emails']),
    expires_at: null,
  } as const
  await transact(api.deps, ({ db }) => upsertSuppression(db, api.workspaceId, row, new Date()))
}

let calls = 0

/** Calls the operation with valid values, about the things of that side. */
async function call(
  route: TestRoute,
  side: Side,
  token: string | undefined,
): Promise<Answer<object>> {
  calls += 1
  const body = JSON.stringify(bodyOf(route))
    ?.replaceAll('sender.test', side.domain)
    .replaceAll('hello-', `hello-${calls}-`)
  const authorization = `Bearer ${token}`
  if (route.path.startsWith('/v1/jobs/')) await openJob(String(side.ids['jobs']), route)
  else await makeReady(api.db, route.name, String(side.ids['emails']))
  // Its groups name the domains of the mail that it counts.
  const query = route.path === '/v1/stats/emails' ? '?group=domain' : ''
  return api.request(route.method, `${fillPath(route, side)}${query}`, body, { authorization })
}

/** Brings a job into a state from which the operation leads on. */
async function openJob(id: string, { path }: TestRoute): Promise<void> {
  const status = path.endsWith('/resume') ? 'paused' : 'queued'
  await api.db.updateTable('jobs').set({ status }).where('id', '=', id).execute()
}

const restricted = { status: 403, body: { code: 'restricted_api_key' } }
const succeeds = (answer: Answer<object>) => expect(answer.status, answer.text).toBeLessThan(300)
const shown = ({ text }: Answer<object>, side: Side) =>
  idsOf(side).filter((id) => text.includes(id))

/** What a key for one domain makes is its domain's. */
async function makesOwn(route: TestRoute, token: string | undefined): Promise<void> {
  const made = await call(route, own, token)
  succeeds(made)
  const path = `/v1/webhooks/${(made.body as { id: string }).id}`
  const read = (side: Side) => {
    const authorization = `Bearer ${side.tokens.get('read_only')}`
    return api.request('GET', path, undefined, { authorization })
  }
  expect([(await read(own)).status, (await read(other)).status]).toEqual([200, 404])
}

/** What a key for the domain `own` meets of the other's things, by the word of the table. */
const checks: Record<string, (route: TestRoute, token: string | undefined) => Promise<void>> = {
  'the same': async (route, token) => {
    for (const side of route.method === 'GET' ? [own, other] : [own]) {
      const answer = await call(route, side, token)
      succeeds(answer)
      expect(shown(answer, other)).toEqual([])
    }
  },
  "its domain's": async (route, token) => {
    const [, , resource = ''] = route.path.split('/')
    const isOfOne = route.path.includes('/:id') && kinds.includes(resource)
    if (isOfOne || route.path.includes('/secrets/:name')) {
      expect(await call(route, other, token)).toMatchObject({ status: 404 })
      return succeeds(await call(route, own, token))
    }
    if (route.name === 'POST /v1/webhooks') return makesOwn(route, token)
    const [reached, all] = [await call(route, own, token), await call(route, own, api.key)]
    succeeds(reached)
    expect(shown(reached, other)).toEqual([])
    expect(shown(all, other), 'a key for all domains sees the other').not.toEqual([])
    if (route.method === 'GET') expect(shown(reached, own)).not.toEqual([])
  },
  'sends from its domain': async (route, token) => {
    const foreign = await call(route, other, token)
    if (route.path.endsWith('/validate')) expect(foreign.body).toMatchObject({ valid: false })
    else if (route.path.startsWith('/v1/workflows')) {
      expect(foreign).toMatchObject({ status: 400, body: { code: 'invalid_design' } })
    } else if (route.path.endsWith('/batch')) {
      const body = { code: 'batch_refused', errors: [{ index: 0, code: 'domain_not_found' }] }
      expect(foreign).toMatchObject({ status: 400, body })
    } else expect(foreign).toMatchObject({ status: 403, body: { code: 'domain_not_found' } })
    succeeds(await call(route, own, token))
  },
  'makes keys for its domain': async (route, token) => {
    const ask = (domain_id?: string | undefined) =>
      api.request(
        route.method,
        fillPath(route, own),
        { ...bodyOf(route), domain_id },
        {
          authorization: `Bearer ${token}`,
        },
      )
    expect(await ask(other.ids['domains'])).toMatchObject({ status: 404 })
    for (const given of [undefined, own.ids['domains']]) {
      expect(await ask(given)).toMatchObject({
        status: 201,
        body: { domain_id: own.ids['domains'] },
      })
    }
  },
  refused: async (route, token) => {
    for (const side of [own, other])
      expect(await call(route, side, token)).toMatchObject(restricted)
  },
}

/** Reads come first and deletions last; a domain's takes its keys along. */
const turns = ['GET', 'POST', 'PATCH', 'DELETE']
const turnOf = ({ method, path }: TestRoute) =>
  turns.indexOf(method) + (path === '/v1/domains/:id' ? 0.9 : path.includes('/contacts') ? 0 : 0.5)

const rows = readKeyRows()
const guarded = guardedRoutes(api).filter((route) => !lacksAddress(route))
const cases = guarded
  .sort((a, b) => turnOf(a) - turnOf(b))
  .flatMap((route) => {
    const row = rows.find(({ name }) => name === route.name)
    return row ? [{ name: route.name, route, row }] : []
  })

it('the table has one row for each operation', () => {
  expect(rows.map(({ name }) => name).sort()).toEqual(guarded.map(({ name }) => name).sort())
})

describe.each(cases)('$name', ({ route, row }) => {
  // What is allowed comes last, because it changes things.
  const inOrder = [...permissions].sort((a, b) => +row.allowed.has(a) - +row.allowed.has(b))

  it.each(inOrder)('with %s', async (permission) => {
    const mine = own.tokens.get(permission)
    if (!row.allowed.has(permission)) {
      for (const token of [mine, unbound.get(permission)]) {
        expect(await call(route, own, token)).toMatchObject(restricted)
      }
      return
    }
    const check = checks[row.bound]
    if (!check) throw new Error(`the table says "${row.bound}", which is no word of it`)
    // Before the key for all domains, which deletes what this one must not find.
    await check(route, mine)
    succeeds(await call(route, other, unbound.get(permission)))
  })
})
