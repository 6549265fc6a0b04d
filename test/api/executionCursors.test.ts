// Cursors of lists of executions: where few of very many have the status, and those of an earlier release.
import { expect, test } from 'vitest'
import { ENGINE } from '../../rules/engine.ts'
import { createApiWithEngine, waitingDesign } from '../setup/apiEngine.ts'
import { uniqueName } from '../setup/unique.ts'

const { api, engine, flow, newContact, post, pages, age } = await createApiWithEngine()

const workflow = (id: string) => `/v1/workflows/${id}`

/** Inserts rows of executions that have run a segment and that Temporal does not know. @returns ids, the newest first */
async function insertBegun(workflowId: string, n: number): Promise<string[]> {
  const created_at = new Date(Date.now() - 30_000)
  const rows = Array.from({ length: n }, () => ({
    id: api.deps.newId('execution'),
    workspace_id: api.workspaceId,
    workflow_id: workflowId,
    version: 1,
    contact_id: 'ct_none',
    email: 'x@example.test',
    trigger_node_id: 'start',
    created_at,
    updated_at: created_at,
  }))
  await api.db.insertInto('executions').values(rows).execute()
  const segments = rows.map(({ id }) => ({
    execution_id: id,
    segment: 0,
    result: '{}',
    engine: ENGINE,
    created_at,
  }))
  await api.db.insertInto('execution_segments').values(segments).execute()
  return rows.map(({ id }) => id).reverse()
}

test('a filter by status moves on with its cursor where few of very many have the status', async () => {
  const eventName = uniqueName('begun')
  const id = await flow(waitingDesign(eventName))
  const [waits = ''] = await post(eventName, newContact())
  await engine().waiting(waits, 'wait')
  await age([waits])
  // Their segment is committed, and Temporal does not know them: they do not wait.
  const begun = await insertBegun(id, 600)
  const found = await pages(workflow(id), 'WAITING')
  expect(found.flat()).toEqual([waits])
  expect(found.length).toBeGreaterThan(1)
  expect((await pages(workflow(id), 'IN_PROGRESS')).flat()).toEqual(begun)
}, 120_000)

test('refuses the cursor of a release that kept a page of Temporal in it', async () => {
  const id = await flow(waitingDesign(uniqueName('begun')))
  const { workspaceId, deps } = api
  const scope = { list: 'workflow-executions', workspaceId, filter: { id, status: null } }
  const position = { in: 'temporal', since: Date.now(), token: 'bm9uc2Vuc2U=' }
  const cursor = deps.cursors.seal(scope, position)
  const refused = await api.request('GET', `${workflow(id)}/executions?cursor=${cursor}`)
  expect(refused).toMatchObject({ status: 400, body: { code: 'invalid_cursor' } })
})
