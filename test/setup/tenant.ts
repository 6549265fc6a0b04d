// A workspace with one of everything, made through the API.

import { findDomainByName } from '../../db/domains/reads.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { JsonObject } from '../../rules/json.ts'
import { insertTestDomain, type TestApi } from './api.ts'
import { welcomeDesign } from './designs.ts'

export interface Tenant {
  key: string
  workspaceId: WorkspaceId
  /** Ids by the name of the resource in paths: `emails`, `api-keys`. */
  ids: Record<string, string>
  /** The address of the automation contact. */
  contact: string
  /** The address of the audience contact. */
  member: string
  /** An address that is suppressed. */
  suppressed: string
  /** The name of a secret. */
  secret: string
  /** The id of a delivery of the webhook. */
  delivery: string
}

/**
 * Makes the workspace of that name with a sending domain, an email, an active workflow, an execution and so on. A
 * second call makes new ones.
 * @param domain the domain from which all of it sends
 * @param eventName what starts the workflow; a second one in the same workspace needs another
 */
export async function seedTenant(
  api: TestApi,
  workspaceName: string,
  { domain = 'sender.test', eventName = 'user.signed_up' } = {},
): Promise<Tenant> {
  const { token: key, workspaceId, userId } = await api.createKey({ workspaceName })
  const { keyId } = await api.createKey({ workspaceName, name: 'spare' })
  const domainId =
    (await findDomainByName(api.db, workspaceId, domain))?.id ??
    (await insertTestDomain({ ...api, workspaceId, userId }, domain))
  const ask = async (path: string, body: object, method = 'POST') => {
    const headers = { authorization: `Bearer ${key}` }
    const answer = await api.request(method, `/v1${path}`, body, headers)
    if (answer.status >= 300) throw new Error(`${path}: ${answer.status} ${answer.text}`)
    return answer.body
  }
  const idOf = (body: JsonObject) => String(body['id'] ?? body['workflow_id'])
  const from = `Shop <hello@${domain}>`
  const design = JSON.parse(
    JSON.stringify(welcomeDesign)
      .replaceAll('sender.test', domain)
      .replaceAll('user.signed_up', eventName),
  )
  const contact = `first@${workspaceName}.test`
  const member = 'member@example.test'
  const suppressed = `suppressed@${workspaceName}.test`
  await ask('/suppressions', { email: suppressed })
  const secret = `KEY_${workspaceName.replace(/\W/g, '_')}`
  await ask(`/automation/secrets/${secret}`, { value: 'sk_live_1' }, 'PUT')
  const webhook = idOf(
    await ask('/webhooks', { url: 'https://hooks.example.test/in', events: ['webhook.disabled'] }),
  )
  const replayed = idOf(
    await ask('/webhooks', { url: 'https://hooks.example.test/again', events: ['webhook.test'] }),
  )
  const job = idOf(await ask(`/webhooks/${replayed}/replay`, { since: 0 }))
  const delivery = idOf(await ask(`/webhooks/${webhook}/test`, {}))
  const audience = idOf(await ask('/audiences', { name: 'All' }))
  await ask(`/audiences/${audience}/contacts`, { email: member })
  const template = idOf(
    await ask('/templates', { name: 'T', from, subject: 'S', html: '<p>H</p>' }),
  )
  await ask(`/templates/${template}/publish`, {})
  const email = idOf(
    await ask('/emails', { from, to: 'you@example.test', subject: 'S', text: 'T' }),
  )
  const workflow = idOf(await ask('/workflows', { name: 'Flow', status: 'active', design }))
  const event = await ask('/automation/events', { event_name: eventName, email: contact })
  const [execution] = event['executions'] as string[]
  return {
    key,
    workspaceId,
    ids: {
      'api-keys': keyId,
      emails: email,
      templates: template,
      audiences: audience,
      domains: domainId,
      workflows: workflow,
      executions: execution ?? '',
      webhooks: webhook,
      jobs: job,
    },
    contact,
    member,
    suppressed,
    secret,
    delivery,
  }
}
