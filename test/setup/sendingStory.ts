// The operations of sending, in an order in which each finds what its example speaks of: Acme registers its domain,
// tells Ada that an order has left, and puts its templates, suppressions and keys in order.
import { expect } from 'vitest'
import { exampleIds, exampleOwner } from '../../api/http/exampleIds.ts'
import { eventually } from './eventually.ts'
import type { Step } from './examples.ts'
import type { NameServer } from './nameServer.ts'

type Harness = Parameters<NonNullable<Step['before']>>[0]

/** The settings of the service that the examples show. */
export const sendingEnv = (names: NameServer) => ({
  DNS_SERVERS: names.address,
  MAIL_HOST: 'mx.example.net',
  SPF_MECHANISM: 'include:_spf.example.net',
  EHLO_NAME: 'mx.example.net',
})

const domainPath = (ids: ReadonlyMap<string, string>) =>
  `/v1/domains/${ids.get(exampleIds.domain)}?expand=details`

/** The workspace as Acme has it: its owner has a name, and it has no domain yet. */
async function enterAcme(h: Harness): Promise<void> {
  await h.db.updateTable('users').set(exampleOwner).where('id', '=', h.userId).execute()
  expect((await h.request('DELETE', `/v1/domains/${h.domainId}`)).status).toBe(204)
}

/** Publishes the records of the domain, as its owner would. */
async function publish(h: Harness, names: NameServer, ids: ReadonlyMap<string, string>) {
  const { body } = await h.request<{ dns_records: DnsRecord[] }>('GET', domainPath(ids))
  await names.change('example.com', body.dns_records.map(zoneLine).join('\n'))
}

interface DnsRecord {
  name: string
  type: string
  value: string
  priority?: number
}

/** A record as a line of a zone file; long texts in chunks of 255. */
function zoneLine({ name, type, value, priority }: DnsRecord): string {
  if (type === 'MX') return `${name} MX ${priority} ${value}.`
  const chunks = value.match(/.{1,255}/g) ?? []
  return `${name} TXT ${chunks.map((chunk) => `"${chunk}"`).join(' ')}`
}

/** The key that asks has the name that the list shows. */
async function nameKey(h: Harness): Promise<void> {
  await h.db
    .updateTable('api_keys')
    .set({ name: 'Backend' })
    .where('workspace_id', '=', h.workspaceId)
    .execute()
}

/** The mail of before is delivered, so the webhook that is made now is told nothing of it. */
const mailHasEnded = (h: Harness): Promise<void> =>
  eventually(async () => {
    const waiting = await h.db
      .selectFrom('deliveries')
      .select('id')
      .where('workspace_id', '=', h.workspaceId)
      .where('settled_at', 'is', null)
      .execute()
    expect(waiting).toEqual([])
  })

/** Nobody is at its endpoint, so nothing is tried while the examples are asked for. */
async function disableWebhook(h: Harness, ids: ReadonlyMap<string, string>): Promise<void> {
  const path = `/v1/webhooks/${ids.get(exampleIds.webhook)}`
  expect((await h.request('PATCH', path, { status: 'disabled' })).status).toBe(200)
}

/** So that the job which the next steps pause, resume and cancel cannot end meanwhile. */
async function stopWorkers(h: Harness): Promise<void> {
  await Promise.all(h.workers.map((worker) => worker.stop()))
}

async function startWorkers(h: Harness): Promise<void> {
  await Promise.all(h.workers.map((worker) => worker.start()))
}

/** @param names the name server that the service asks, with the zone example.com */
export const sendingStory = (names: NameServer): Step[] => [
  { name: 'POST /v1/domains', before: enterAcme },
  {
    name: 'POST /v1/domains/{id}/verify',
    before: (h, ids) => publish(h, names, ids),
  },
  {
    name: 'GET /v1/domains/{id}',
    before: (h, ids) =>
      eventually(async () => {
        expect((await h.request('GET', domainPath(ids))).body).toMatchObject({ status: 'SUCCESS' })
      }),
  },
  { name: 'GET /v1/domains' },
  { name: 'POST /v1/emails' },
  {
    name: 'GET /v1/emails/{id}',
    before: (h, ids) =>
      eventually(async () => {
        const { body } = await h.request('GET', `/v1/emails/${ids.get(exampleIds.email)}`)
        expect(body).toMatchObject({ last_event: { status: 'delivered' } })
      }),
  },
  { name: 'GET /v1/stats/emails' },
  { name: 'GET /v1/emails' },
  { name: 'GET /v1/emails/{id}/attempts' },
  { name: 'POST /v1/templates' },
  { name: 'PATCH /v1/templates/{id}' },
  { name: 'POST /v1/templates/{id}/render' },
  { name: 'POST /v1/templates/{id}/test' },
  { name: 'POST /v1/templates/{id}/publish' },
  { name: 'GET /v1/templates/{id}' },
  { name: 'GET /v1/templates' },
  { name: 'POST /v1/templates/{id}/duplicate' },
  { name: 'DELETE /v1/templates/{id}' },
  { name: 'POST /v1/suppressions' },
  { name: 'GET /v1/suppressions' },
  { name: 'DELETE /v1/suppressions/{email}' },
  { name: 'POST /v1/webhooks', before: mailHasEnded },
  { name: 'GET /v1/webhooks' },
  { name: 'GET /v1/webhooks/{id}' },
  { name: 'PATCH /v1/webhooks/{id}' },
  { name: 'POST /v1/webhooks/{id}/rotate-secret' },
  { name: 'POST /v1/webhooks/{id}/test', before: disableWebhook },
  { name: 'GET /v1/webhooks/{id}/deliveries' },
  { name: 'POST /v1/webhooks/{id}/deliveries/{delivery_id}/replay' },
  { name: 'POST /v1/webhooks/{id}/replay', before: stopWorkers },
  { name: 'POST /v1/jobs/{id}/pause' },
  { name: 'GET /v1/jobs/{id}' },
  { name: 'GET /v1/jobs' },
  { name: 'POST /v1/jobs/{id}/resume' },
  { name: 'POST /v1/jobs/{id}/cancel' },
  { name: 'GET /v1/jobs/{id}/failures' },
  { name: 'DELETE /v1/webhooks/{id}', before: startWorkers },
  { name: 'POST /v1/api-keys', before: nameKey },
  { name: 'POST /v1/api-keys/{id}/rotate' },
  { name: 'GET /v1/api-keys' },
  { name: 'DELETE /v1/api-keys/{id}' },
  { name: 'POST /v1/emails/batch' },
  { name: 'PATCH /v1/emails/{id}' },
  { name: 'POST /v1/emails/{id}/cancel' },
  // Nothing of this story may be under way when the next one looks for its first mail.
  { name: 'PATCH /v1/domains/{id}', before: mailHasEnded },
  { name: 'POST /v1/domains/{id}/rotate-dkim' },
  { name: 'DELETE /v1/domains/{id}' },
]
