// Lists of executions: all sources in order, while executions start and end.
import { describe, expect, it } from 'vitest'
import { createApp } from '../../api/http/app.ts'
import { createApiWithEngine, type ExecutionPage, waitingDesign } from '../setup/apiEngine.ts'
import { eventually } from '../setup/eventually.ts'
import { uniqueName } from '../setup/unique.ts'

const { api, engine, flow, newContact, post, page, pages, age, withoutStarter } =
  await createApiWithEngine()

const workflow = (id: string) => `/v1/workflows/${id}`
const contact = (email: string) => `/v1/automation/contacts/${email}`

/** Makes a workflow, and a function that starts n executions of it for new contacts. */
async function createFlow() {
  const eventName = uniqueName('begun')
  const id = await flow(waitingDesign(eventName))
  const start = async (n: number, email?: string) => {
    const started: { id: string; email: string }[] = []
    for (let i = 0; i < n; i++) {
      const to = email ?? newContact()
      started.push({ id: (await post(eventName, to))[0] ?? '', email: to })
    }
    return started
  }
  const idsOf = (list: { id: string }[]) => list.map((execution) => execution.id)
  const waiting = async <T extends { id: string }>(list: T[]) => {
    await Promise.all(list.map((execution) => engine().waiting(execution.id, 'wait')))
    return list
  }
  return { id, start, waiting, idsOf }
}

/** Inserts rows of ended executions that Temporal never had, the last one the latest. */
async function insertEnded(workflowId: string, n: number, status: 'COMPLETED' | 'FAILED') {
  const at = Date.now() - 3_600_000
  const rows = Array.from({ length: n }, (_, i) => ({
    id: api.deps.newId('execution'),
    workspace_id: api.workspaceId,
    workflow_id: workflowId,
    version: 1,
    contact_id: 'ct_none',
    email: 'x@example.test',
    trigger_node_id: 'start',
    trigger_event_id: null,
    properties: null,
    ended_status: status,
    outcome: null,
    error: null,
    cancellation_reason: null,
    created_at: new Date(at),
    updated_at: new Date(at + i),
    completed_at: new Date(at + Math.floor(i / 3)),
  }))
  await api.db.insertInto('executions').values(rows).execute()
  return rows.map((row) => row.id).reverse()
}

describe('a list of executions', () => {
  it("shows exactly the contract's fields; wait_until only on a WAITING one", async () => {
    const { id, start, waiting } = await createFlow()
    const [execution] = await waiting(await start(1))
    const item = {
      execution_id: execution?.id,
      workflow_id: id,
      workspace_id: api.workspaceId,
      version_used: 1,
      status: 'WAITING',
      current_step_id: 'wait',
      email: execution?.email,
      step_count: 2,
      created_at: expect.any(Number),
      updated_at: expect.any(Number),
      completed_at: null,
      error: null,
      cancellation_reason: null,
    }
    const one = { executions: [{ ...item, wait_until: null }], count: 1, cursor: null }
    expect(await page(workflow(id))).toEqual(one)
    expect(await page(contact(execution?.email ?? ''))).toEqual(one)
    await post('went.on', execution?.email ?? '')
    await engine().ended(execution?.id ?? '', 'COMPLETED')
    const ended = {
      ...item,
      status: 'COMPLETED',
      current_step_id: 'end',
      step_count: 3,
      completed_at: expect.any(Number),
    }
    expect(await page(workflow(id))).toEqual({ executions: [ended], count: 1, cursor: null })
  })

  it('shows those that have begun, whenever they were written, though visibility does not show them yet', async () => {
    const { id, start, waiting, idsOf } = await createFlow()
    const started = idsOf(await waiting(await start(3)))
    await eventually(async () =>
      expect(await api.db.selectFrom('outbox').select('id').execute()).toEqual([]),
    )
    // As behind a long outbox: it was written some time ago, and begins only now.
    await age(started.slice(0, 1))
    // Visibility, which lags behind by about 60 ms here, may lag behind by any time.
    const trailing = createApp({
      ...api.deps,
      temporal: { ...api.deps.temporal, listRunning: async () => new Map() },
    })
    const list = async (query: string) => {
      const headers = { authorization: `Bearer ${api.key}` }
      const answer = await trailing.request(`${workflow(id)}/executions${query}`, { headers })
      const body = (await answer.json()) as ExecutionPage
      return body.executions.map((row) => row.execution_id)
    }
    expect(await list('')).toEqual(started.toReversed())
    expect(await list('?status=WAITING')).toEqual(started.toReversed())
    expect(await list('?status=IN_PROGRESS')).toEqual([])
  })

  it('shows pending, running and ended executions once each, and ends with a null cursor', async () => {
    const { id, start, waiting, idsOf } = await createFlow()
    const ended = await insertEnded(id, 60, 'COMPLETED')
    const old = idsOf(await waiting(await start(55)))
    await age(old)
    const fresh = idsOf(await waiting(await start(3)))
    const [pending, found] = await withoutStarter(async () => [
      idsOf(await start(4)),
      await pages(workflow(id)),
    ])
    expect(found.map((ids) => ids.length)).toEqual([50, 50, 22])
    const ids = found.flat()
    expect(ids.slice(0, 7)).toEqual([...pending, ...fresh].sort().reverse())
    expect(ids.slice(7, 62).sort()).toEqual([...old].sort())
    expect(ids.slice(62)).toEqual(ended)
  })

  it('skips none that ends or starts while a client pages', async () => {
    const { id, start, waiting, idsOf } = await createFlow()
    const executions = await waiting(await start(120))
    await age(idsOf(executions.slice(0, 80)))
    await eventually(async () => expect((await pages(workflow(id))).flat()).toHaveLength(120))
    const ending = executions.filter((_, i) => i % 4 === 0)
    let round = 0
    const found = await pages(workflow(id), '', async () => {
      const now = ending.slice(round * 10, round * 10 + 10)
      round += 1
      await Promise.all(now.map(({ email }) => post('went.on', email)))
      await Promise.all(now.map((execution) => engine().ended(execution.id, 'COMPLETED')))
      await start(2)
    })
    const ids = found.flat()
    expect(idsOf(executions).filter((execution) => !ids.includes(execution))).toEqual([])
    const twice = ids.filter((execution, i) => ids.indexOf(execution) !== i)
    expect(twice.filter((execution) => !idsOf(ending).includes(execution))).toEqual([])
  }, 120_000)

  it.each([50, 100])('of %i ended ones has a null cursor on its last full page', async (n) => {
    const { id } = await createFlow()
    const ended = await insertEnded(id, n, 'FAILED')
    const found = await pages(workflow(id))
    expect(found.map((ids) => ids.length)).toEqual(Array(n / 50).fill(50))
    expect(found.flat()).toEqual(ended)
  })

  it('of 50 running ones has a null cursor', async () => {
    const { id, start, waiting, idsOf } = await createFlow()
    const ids = idsOf(await waiting(await start(50)))
    await age(ids)
    await eventually(async () => {
      const found = await pages(workflow(id))
      expect(found.map((list) => list.length)).toEqual([50])
      expect([...found.flat()].sort()).toEqual(ids.sort())
    })
  })
})

describe('a filter by status', () => {
  it('shows each execution under the status that it has, and no other', async () => {
    const { id, start, waiting } = await createFlow()
    const [waits, completes, cancels, stops] = await waiting(await start(4))
    const [failed] = await insertEnded(id, 1, 'FAILED')
    await post('went.on', completes?.email ?? '')
    await engine().ended(completes?.id ?? '', 'COMPLETED')
    await api.request('POST', `/v1/executions/${cancels?.id}/cancel`)
    await engine()
      .client.workflow.getHandle(stops?.id ?? '')
      .terminate('by hand')
    await withoutStarter(async () => {
      const [pending] = await start(1)
      await eventually(async () => {
        expect({
          IN_PROGRESS: await pages(workflow(id), 'IN_PROGRESS'),
          WAITING: await pages(workflow(id), 'WAITING'),
          COMPLETED: await pages(workflow(id), 'COMPLETED'),
          FAILED: await pages(workflow(id), 'FAILED'),
          CANCELLED: await pages(workflow(id), 'CANCELLED'),
        }).toEqual({
          IN_PROGRESS: [[pending?.id]],
          WAITING: [[waits?.id]],
          COMPLETED: [[completes?.id]],
          FAILED: [[failed]],
          CANCELLED: [[stops?.id, cancels?.id]],
        })
      })
    })
  })

  it('shows a cancelled one as CANCELLED at once, before Temporal has closed it', async () => {
    const { id, start, waiting } = await createFlow()
    const [execution] = await waiting(await start(1))
    await age([execution?.id ?? ''])
    await withoutStarter(async () => {
      await api.request('POST', `/v1/executions/${execution?.id}/cancel`, { reason: 'why' })
      const item = { execution_id: execution?.id, status: 'CANCELLED', cancellation_reason: 'why' }
      expect((await page(workflow(id))).executions).toEqual([expect.objectContaining(item)])
      expect((await page(workflow(id), '?status=CANCELLED')).executions).toHaveLength(1)
      expect((await page(workflow(id), '?status=WAITING')).executions).toEqual([])
    })
  })

  it('is bound to the cursor, as are the list and the workspace', async () => {
    const { id } = await createFlow()
    const another = await createFlow()
    await insertEnded(id, 51, 'COMPLETED')
    const { cursor } = await page(workflow(id))
    for (const path of [
      `${workflow(id)}/executions?status=COMPLETED&cursor=${cursor}`,
      `${workflow(another.id)}/executions?cursor=${cursor}`,
      `${workflow(id)}/executions?cursor=x`,
    ]) {
      const refused = await api.request('GET', path)
      expect(refused).toMatchObject({ status: 400, body: { code: 'invalid_cursor' } })
    }
    const unknown = await api.request('GET', `${workflow(id)}/executions?status=waiting`)
    expect(unknown.status).toBe(400)
  })
})
