// Conditions, and the list of an execution's mail, count what people did with a mail, and not what machines did.

import { expect, test } from 'vitest'
import { transact } from '../../commands/transact.ts'
import { listExecutionEmails } from '../../db/emails/ofExecutions.ts'
import { listEmailActivity } from '../../db/executions/facts.ts'
import { wholeWorkspace } from '../../rules/reach.ts'
import { createTrackedApi } from '../setup/trackedMail.ts'

const { api, clock, delivered, click, openPixel } = await createTrackedApi()

test('opens and clicks of machines are no activity', async () => {
  const mail = await delivered()
  const execution_id = 'exe_1'
  await api.db
    .updateTable('emails')
    .set({ execution_id, workflow_id: 'wf_1', node_id: 'offer' })
    .where('id', '=', mail.id)
    .execute()
  const activity = () =>
    transact.one(api.deps, ({ db }) => listEmailActivity(db, api.workspaceId, execution_id))
  const shown = async () => {
    const [email] = await listExecutionEmails(api.db, wholeWorkspace(api.workspaceId), execution_id)
    return email?.events.map(({ status }) => status)
  }

  const proxy = { 'user-agent': 'Mozilla/5.0' }
  await openPixel(mail.deliveryId, proxy)
  await click(mail.deliveryId, 0, proxy)
  expect(await activity()).toEqual({ offer: ['sent'] })
  expect(await shown()).toEqual(['sent'])

  clock.time += 60_000
  await openPixel(mail.deliveryId)
  await click(mail.deliveryId, 0)
  expect(await activity()).toEqual({ offer: ['clicked', 'opened', 'sent'] })
  expect(await shown()).toEqual(['sent', 'opened', 'clicked'])
})
