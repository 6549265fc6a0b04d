// A workflow that becomes active while somebody deletes the template that it sends: one of the two is refused.

import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { transact } from '../../commands/transact.ts'
import { lockTemplate } from '../../db/templates/writes.ts'
import { createTestApi, insertTestDomain } from '../setup/api.ts'
import { untilWaiting } from '../setup/lockWaits.ts'
import { uniqueName } from '../setup/unique.ts'
import { createWorkflowClient } from '../setup/workflowClient.ts'

const api = await createTestApi()
const { create, patch, get } = createWorkflowClient(api)
const domain = `${uniqueName('templates')}.test`
await insertTestDomain(api, domain)

async function publish(alias: string | null = null): Promise<string> {
  const template = { name: 'T', alias, subject: 'S', from: `a@${domain}`, html: '<p>x</p>' }
  const { id } = (await api.request<{ id: string }>('POST', '/v1/templates', template)).body
  expect((await api.request('POST', `/v1/templates/${id}/publish`)).status).toBe(200)
  return id
}
const remove = (id: string) => api.request('DELETE', `/v1/templates/${id}`)
const sending = (...templates: string[]) => ({
  nodes: [
    { id: 'start', type: 'trigger', data: { kind: 'event', event_name: 'e' } },
    ...templates.map((template_id, i) => ({
      id: `n${i}`,
      type: 'send_email',
      data: { template_id },
    })),
    { id: 'end', type: 'exit', data: {} },
  ],
  edges: ['start', ...templates.map((_, i) => `n${i}`)].map((source, i) => ({
    id: `e${i}`,
    source,
    target: i < templates.length ? `n${i}` : 'end',
  })),
})

/** Deletes templates while an activation, which has checked its design, waits to write its triggers. */
async function deleteDuring<A>(activate: () => Promise<A>, ...ids: string[]) {
  let answers: [Promise<A>, Promise<Awaited<ReturnType<typeof remove>>[]>] | undefined
  await transact({ ...api.deps, wake: () => undefined }, async ({ db }) => {
    await sql`lock table workflow_triggers in share mode`.execute(db)
    const activated = activate()
    await untilWaiting(api.db, 1)
    const removed = Promise.all(ids.map(remove))
    answers = [activated, removed]
    await Promise.race([removed, untilWaiting(api.db, 1 + ids.length)])
  })
  if (!answers) throw new Error('nothing was asked')
  return Promise.all(answers)
}

const inUse = { status: 409, body: { code: 'template_in_use' } }

it.each(['id', 'alias'])('made active: a template that it names by %s stays', async (by) => {
  const alias = uniqueName('made')
  const id = await publish(alias)
  const design = sending(by === 'id' ? id : alias)
  const [made, removed] = await deleteDuring(() => create({ status: 'active', design }), id)
  expect(made).toMatchObject({ active_version: 1 })
  expect(removed).toMatchObject([inUse])
})

it('becoming active: each template that it sends stays', async () => {
  const ids = [await publish(), await publish()]
  const { workflow_id: id } = await create({ design: sending(...ids.toReversed()) })
  const [patched, removed] = await deleteDuring(() => patch(id, { status: 'active' }), ...ids)
  expect([patched, ...removed]).toMatchObject([{ status: 200 }, inUse, inUse])
})

it('a changed design of an active workflow: its new template stays', async () => {
  const [before, after] = [await publish(), await publish()]
  const { workflow_id: id } = await create({ status: 'active', design: sending(before) })
  const [patched, removed] = await deleteDuring(() => patch(id, { design: sending(after) }), after)
  expect([patched, ...removed]).toMatchObject([{ status: 200 }, inUse])
})

it('of a template that is being deleted it learns that it is gone', async () => {
  const id = await publish()
  const { workflow_id } = await create({ design: sending(id) })
  let patched: ReturnType<typeof patch> | undefined
  await transact({ ...api.deps, wake: () => undefined }, async ({ db }) => {
    await lockTemplate(db, api.workspaceId, id)
    patched = patch(workflow_id, { status: 'active' })
    await Promise.race([patched, untilWaiting(api.db, 1)])
    await db.deleteFrom('templates').where('id', '=', id).execute()
  })
  expect(await patched).toMatchObject({ status: 400, body: { code: 'invalid_design' } })
  expect((await get(workflow_id)).body).toMatchObject({ status: 'draft' })
})
