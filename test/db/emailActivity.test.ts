// Conditions, waits, and the lists of mail of an execution and of a workflow count what people did with a mail, and not what
// machines did.

import { expect, test } from 'vitest'
import { transact } from '../../commands/transact.ts'
import { listExecutionEmails, listWorkflowEmails } from '../../db/emails/ofExecutions.ts'
import { listEmailActivity } from '../../db/executions/facts.ts'
import { wholeWorkspace } from '../../rules/reach.ts'
import { createTrackedApi } from '../setup/trackedMail.ts'

const { api, clock, delivered, click, openPixel } = await createTrackedApi()

test('opens and clicks of machines are no activity', async () => {
  const to = 'reader@example.test'
  await api.request('POST', '/v1/automation/events', { event_name: 'seen', email: to })
  const mail = await delivered(undefined, to)
  const execution_id = 'exe_1'
  await api.db
    .updateTable('emails')
    .set({ execution_id, workflow_id: 'wf_1', node_id: 'offer' })
    .where('id', '=', mail.id)
    .execute()
  const activity = () =>
    transact.one(api.deps, async ({ db }) =>
      (await listEmailActivity(db, api.workspaceId, [execution_id])).get(execution_id),
    )
  const reach = wholeWorkspace(api.workspaceId)
  const shown = async () => {
    const [email] = await listExecutionEmails(api.db, reach, execution_id)
    const page = { after: null, limit: 1 }
    const [sameEmail] = await listWorkflowEmails(api.db, reach, 'wf_1', page)
    expect(sameEmail).toEqual(email)
    return email?.events.map(({ status }) => status)
  }
  /** What waits and triggers will hear of. */
  const heard = async () => {
    const rows = await api.db
      .selectFrom('outbox')
      .select('payload')
      .where('kind', '=', 'mail_event')
      .orderBy('id')
      .execute()
    return rows.map(({ payload }) => payload['name']).filter((name) => name !== 'delivered')
  }

  const proxy = { 'user-agent': 'Mozilla/5.0' }
  await openPixel(mail.deliveryId, proxy)
  await click(mail.deliveryId, 0, proxy)
  expect(await activity()).toEqual({ offer: ['sent'] })
  expect(await shown()).toEqual(['sent'])
  expect(await heard()).toEqual([])

  clock.time += 60_000
  await openPixel(mail.deliveryId)
  await click(mail.deliveryId, 0)
  expect(await activity()).toEqual({ offer: ['clicked', 'opened', 'sent'] })
  expect(await shown()).toEqual(['sent', 'opened', 'clicked'])
  expect(await heard()).toEqual(['opened', 'clicked'])
})
