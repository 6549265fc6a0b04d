// The routes of the application, and a valid request for each of them.
import { listOperations } from '../../api/http/operation.ts'
import type { JsonObject } from '../../rules/json.ts'
import type { TestApi } from './api.ts'
import { welcomeDesign } from './designs.ts'
import type { Tenant } from './tenant.ts'

export interface TestRoute {
  /** `GET /v1/emails/:id` */
  name: string
  method: string
  path: string
}

const PUBLIC_DESCRIPTION = '/v1/openapi.json'

/** Every route once, by path and method; no middleware. */
export function routesOf({ app }: Pick<TestApi, 'app'>): TestRoute[] {
  const routes = app.routes
    .filter(({ method }) => method !== 'ALL')
    .map(({ method, path }) => ({ name: `${method} ${path}`, method, path }))
  const byName = new Map(routes.map((route) => [route.name, route]))
  return [...byName.values()].sort((a, b) =>
    `${a.path} ${a.method}` < `${b.path} ${b.method}` ? -1 : 1,
  )
}

/** The routes that need a key. */
export const guardedRoutes = (api: Pick<TestApi, 'app'>): TestRoute[] =>
  routesOf(api).filter(({ path }) => path.startsWith('/v1/') && path !== PUBLIC_DESCRIPTION)

/** Every POST, told apart by whether an answer is kept for its Idempotency-Key: those that change nothing keep none. */
export function postsOf(api: Pick<TestApi, 'app'>): { kept: TestRoute[]; unkept: TestRoute[] } {
  const operations = listOperations(api.app).filter(({ changesNothing }) => changesNothing)
  const nothing = new Set(operations.map(({ method, path }) => `${method} ${path}`))
  const posts = guardedRoutes(api).filter(({ method }) => method === 'POST')
  return {
    kept: posts.filter(({ name }) => !nothing.has(name)),
    unkept: posts.filter(({ name }) => nothing.has(name)),
  }
}

export const hasParameter = ({ path }: TestRoute): boolean => path.includes('/:')

/** Three mounts have error shape B; all others have shape A. */
export function errorKey(path: string): 'error' | 'message' {
  return /^\/v1\/(workflows|executions|automation)(\/|$)/.test(path) ? 'error' : 'message'
}

/** The path with a tenant's ids as parameters; `given` takes precedence. */
export function fillPath(
  { path }: TestRoute,
  tenant: Tenant,
  given: Record<string, string> = {},
): string {
  return path.replace(/:(\w+)/g, (_, name: string) => {
    const value = given[name] ?? parameterOf(path, name, tenant)
    if (value === undefined) throw new Error(`no value for :${name} of ${path}`)
    return given[name] ?? encodeURIComponent(value)
  })
}

function parameterOf(path: string, name: string, tenant: Tenant): string | undefined {
  const resource = path.split('/')[2] ?? ''
  if (name === 'email' && resource === 'suppressions') return tenant.suppressed
  if (name === 'email') return resource === 'audiences' ? tenant.member : tenant.contact
  if (name === 'n') return '1'
  if (name === 'name') return tenant.secret
  if (name === 'delivery_id') return tenant.delivery
  if (name === 'audienceId') return tenant.ids['audiences']
  return name === 'id' ? tenant.ids[resource] : undefined
}

const html = '<p>Hello {{ name }}</p>'

/** A valid body for each route that takes one. A new route needs an entry here. */
const bodies: Record<string, JsonObject> = {
  'POST /v1/api-keys': {
    name: 'Web shop',
    permission: 'sending_access',
    expires_at: 4_000_000_000_000,
  },
  'POST /v1/api-keys/:id/rotate': { grace_ms: 60_000 },
  'POST /v1/emails': {
    from: 'Shop <hello@sender.test>',
    to: ['ada@example.test'],
    subject: 'Hi',
    html,
    text: 'Hello',
    variables: { name: 'Ada' },
    cc: ['cc@example.test'],
    bcc: ['bcc@example.test'],
    reply_to: ['reply@sender.test'],
    headers: { 'X-Order': '1' },
    attachments: [
      { filename: 'a.txt', content: 'aGk=', content_type: 'text/plain', content_id: 'a1' },
    ],
    tags: { kind: 'receipt' },
    metadata: { order: 1 },
  },
  'PATCH /v1/emails/:id': { scheduled_at: '2035-03-01T09:00:00Z' },
  'POST /v1/emails/batch': {
    emails: [{ from: 'hello@sender.test', to: 'ada@example.test', subject: 'Hi', text: 'Hello' }],
  },
  'POST /v1/audiences': { name: 'Readers' },
  'PATCH /v1/audiences/:id': { name: 'Readers' },
  'POST /v1/audiences/:audienceId/contacts': {
    email: 'new@example.test',
    first_name: 'Ada',
    last_name: 'Lovelace',
    is_subscribed: true,
    properties: { plan: 'pro' },
  },
  'POST /v1/audiences/:audienceId/contacts/batch': { contacts: [{ email: 'new@example.test' }] },
  'PATCH /v1/audiences/:audienceId/contacts/:email': {
    first_name: 'Ada',
    last_name: 'Lovelace',
    is_subscribed: false,
    properties: { plan: 'pro' },
  },
  'POST /v1/domains': { name: 'mail.example.com' },
  'PATCH /v1/domains/:id': { open_tracking_enabled: true, click_tracking_enabled: true },
  'POST /v1/domains/:id/rotate-dkim': { algorithm: 'rsa' },
  'PUT /v1/automation/secrets/:name': { value: 'sk_live_1' },
  'POST /v1/suppressions': { email: 'gone@example.test' },
  'POST /v1/webhooks': {
    url: 'https://hooks.example.test/in',
    events: ['email.*', 'suppression.created'],
    description: 'All mail',
  },
  'POST /v1/webhooks/:id/replay': { since: 1_700_000_000_000, events: ['email.*'] },
  'PATCH /v1/webhooks/:id': {
    url: 'https://hooks.example.test:8443/in',
    events: ['*'],
    description: 'All',
    status: 'enabled',
  },
  'POST /v1/templates': {
    name: 'Hello',
    alias: 'hello-new',
    subject: 'Hi',
    from: 'hello@sender.test',
    reply_to: 'reply@sender.test',
    preview_text: 'See',
    html,
    text: 'Hello',
  },
  'PATCH /v1/templates/:id': {
    name: 'Hello',
    alias: 'hello-changed',
    subject: 'Hi',
    from: 'hello@sender.test',
    reply_to: 'reply@sender.test',
    preview_text: 'See',
    html,
    text: 'Hello',
  },
  'POST /v1/templates/:id/render': { variables: { name: 'Ada' }, email: 'ada@example.test' },
  'POST /v1/templates/:id/test': { to: ['ada@example.test'], variables: { name: 'Ada' } },
  'POST /v1/workflows': { name: 'Welcome', design: welcomeDesign, status: 'draft' },
  'PATCH /v1/workflows/:id': {
    name: 'Welcome',
    status: 'paused',
    design: welcomeDesign,
    expected_version: 1,
  },
  'POST /v1/workflows/:id/validate': { design: welcomeDesign },
  'POST /v1/workflows/:id/executions': { email: 'ada@example.test', properties: { plan: 'pro' } },
  'POST /v1/executions/:id/cancel': { reason: 'Enough' },
  'POST /v1/automation/events': {
    event_name: 'order.placed',
    email: 'ada@example.test',
    properties: { total: 1 },
    contact_properties: { plan: 'pro' },
    timestamp: 1_700_000_000_000,
    historical: true,
    event_id: 'order-1',
  },
  'POST /v1/automation/events/batch': {
    events: [{ event_name: 'order.placed', email: 'ada@example.test', properties: { total: 1 } }],
  },
  'PATCH /v1/automation/contacts/:email': { properties: { plan: 'pro' } },
}

const withoutBody = new Set([
  'POST /v1/emails/:id/cancel',
  'POST /v1/domains/:id/verify',
  'PATCH /v1/automation/contacts/',
  'PATCH /v1/audiences/:audienceId/contacts/',
  'POST /v1/templates/:id/publish',
  'POST /v1/webhooks/:id/rotate-secret',
  'POST /v1/jobs/:id/pause',
  'POST /v1/jobs/:id/resume',
  'POST /v1/jobs/:id/cancel',
  'POST /v1/webhooks/:id/test',
  'POST /v1/webhooks/:id/deliveries/:delivery_id/replay',
  'POST /v1/templates/:id/duplicate',
  'POST /v1/workflows/:id/duplicate',
  'POST /v1/workflows/:id/versions/:n/restore',
])

/** A valid body of a route; undefined if it takes none. */
export function bodyOf({ name, method }: TestRoute): JsonObject | undefined {
  if (!['POST', 'PATCH', 'PUT'].includes(method) || withoutBody.has(name)) return undefined
  const body = bodies[name]
  if (!body) throw new Error(`add a valid body for ${name} to test/setup/routes.ts`)
  return body
}
