// The operations of automation, in an order in which each finds what its example speaks of.
import { expect } from 'vitest'
import {
  exampleAddress,
  exampleIds,
  exampleOwner,
  exampleSender,
  secondAddress,
} from '../../api/http/exampleIds.ts'
import { insertVerifiedDomain } from '../../dev/verifiedDomain.ts'
import { senderDomain } from '../../rules/addresses.ts'
import { createSecrets } from '../../runtime/secrets.ts'
import { eventually } from './eventually.ts'
import type { Step } from './examples.ts'
import { type createHarness, newId, now } from './harness.ts'
import { TEST_SECRET_KEY } from './processes.ts'

type Harness = Awaited<ReturnType<typeof createHarness>>

/** Gives the user of the key the name that the examples show. */
async function nameOwner({ db, userId }: Harness): Promise<void> {
  await db.updateTable('users').set(exampleOwner).where('id', '=', userId).execute()
}

/** The domain of the examples' sender, whose records no DNS has. */
async function verifyDomain({ db, workspaceId, userId }: Harness): Promise<void> {
  const name = senderDomain(exampleSender) ?? ''
  const secrets = createSecrets(Buffer.from(TEST_SECRET_KEY, 'base64'))
  const domain = { workspaceId, userId, name, selector: 'drip' }
  await insertVerifiedDomain({ db, newId, now, secrets }, domain)
}

/** Waits until an execution of the welcome series waits for the first order. */
async function waitsForOrder({ request }: Harness, id: string | undefined): Promise<void> {
  await eventually(async () => {
    const { body } = await request('GET', `/v1/executions/${id}`)
    expect(body).toMatchObject({ status: 'WAITING', current_step_id: 'first_order' })
  })
}

/** Waits until a mail of the series was delivered and the contact has heard of it. */
async function mailArrived({ request }: Harness, email: string): Promise<void> {
  await eventually(async () => {
    const { body } = await request('GET', `/v1/automation/contacts/${email}`)
    expect(body).toMatchObject({ last_event: 'email.delivered' })
  })
}

export const automationStory: Step[] = [
  { name: 'POST /v1/audiences', before: nameOwner },
  { name: 'POST /v1/audiences/{audienceId}/contacts' },
  { name: 'POST /v1/audiences/{audienceId}/contacts/batch' },
  { name: 'GET /v1/audiences/{audienceId}/contacts' },
  { name: 'GET /v1/audiences/{id}' },
  { name: 'GET /v1/audiences' },
  { name: 'PATCH /v1/audiences/{id}' },
  { name: 'PATCH /v1/audiences/{audienceId}/contacts/{email}' },
  { name: 'DELETE /v1/audiences/{audienceId}/contacts/{email}' },

  { name: 'POST /v1/workflows', before: verifyDomain },
  { name: 'GET /v1/workflows' },
  { name: 'GET /v1/workflows/{id}' },
  { name: 'POST /v1/workflows/{id}/validate' },

  { name: 'POST /v1/automation/events' },
  {
    name: 'GET /v1/executions/{id}',
    before: async (h, ids) => {
      await waitsForOrder(h, ids.get(exampleIds.execution))
      await mailArrived(h, exampleAddress)
    },
  },
  { name: 'GET /v1/executions/{id}/steps' },
  { name: 'GET /v1/executions/{id}/emails' },
  { name: 'GET /v1/workflows/{id}/executions' },
  { name: 'GET /v1/workflows/{id}/emails' },

  { name: 'GET /v1/automation/contacts' },
  { name: 'GET /v1/automation/contacts/{email}' },
  { name: 'GET /v1/automation/contacts/{email}/executions' },
  { name: 'GET /v1/automation/contacts/{email}/events' },
  { name: 'PATCH /v1/automation/contacts/{email}' },

  { name: 'PUT /v1/automation/secrets/{name}' },
  { name: 'GET /v1/automation/secrets' },
  { name: 'DELETE /v1/automation/secrets/{name}' },

  { name: 'POST /v1/workflows/{id}/executions' },
  {
    name: 'POST /v1/executions/{id}/cancel',
    before: async (h, ids) => {
      await waitsForOrder(h, ids.get(exampleIds.secondExecution))
      await mailArrived(h, secondAddress)
    },
  },

  { name: 'POST /v1/workflows/{id}/duplicate' },
  { name: 'PATCH /v1/workflows/{id}' },
  { name: 'GET /v1/workflows/{id}/versions' },
  { name: 'GET /v1/workflows/{id}/versions/{n}' },
  { name: 'POST /v1/workflows/{id}/versions/{n}/restore' },
  { name: 'DELETE /v1/workflows/{id}' },
  { name: 'DELETE /v1/audiences/{id}' },
  { name: 'POST /v1/automation/events/batch' },
  { name: 'DELETE /v1/automation/contacts/{email}' },
]
