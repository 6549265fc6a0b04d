// One execution from its start to its end, over a real engine: state, emails, steps.
import { Connection } from '@temporalio/client'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createApp } from '../../api/http/app.ts'
import { createTemporalReads } from '../../runtime/temporalReads.ts'
import { createApiWithEngine, waitingDesign } from '../setup/apiEngine.ts'
import { welcomeDesign } from '../setup/designs.ts'
import { uniqueName } from '../setup/unique.ts'

const { api, engine, flow, newContact, post, withoutStarter } = await createApiWithEngine()
const other = await api.createKey({ workspaceName: 'other' })

const read = async (id: string) => (await api.request('GET', `/v1/executions/${id}`)).body

async function begin(timeout?: string) {
  const eventName = uniqueName('begun')
  const workflowId = await flow(waitingDesign(eventName, timeout))
  const email = newContact()
  const [id = ''] = await post(eventName, email)
  return { id, email, workflowId }
}

async function toTheWait(timeout?: string) {
  const execution = await begin(timeout)
  await engine().waiting(execution.id, 'wait')
  return execution
}

describe('one execution', () => {
  it('is IN_PROGRESS without a step until Temporal has started it', async () => {
    const { id, email, workflowId, body } = await withoutStarter(async () => {
      const execution = await begin()
      return { ...execution, body: await read(execution.id) }
    })
    expect(body).toEqual({
      execution_id: id,
      workflow_id: workflowId,
      workspace_id: api.workspaceId,
      version_used: 1,
      status: 'IN_PROGRESS',
      current_step_id: '',
      context: { email, stepCount: 0 },
      created_at: expect.any(Number),
      updated_at: body['created_at'],
      completed_at: null,
      error: null,
      cancellation_reason: null,
      wait_until: null,
      schedule_name: '',
    })
    await engine().waiting(id, 'wait')
  })

  it('waits with its deadline and the name of its timer, then completes', async () => {
    const before = Date.now()
    const { id, email } = await toTheWait('P3D')
    const waiting = await read(id)
    expect(waiting).toMatchObject({
      status: 'WAITING',
      current_step_id: 'wait',
      context: { email, stepCount: 2 },
      schedule_name: expect.stringMatching(/./),
    })
    const deadline = Number(waiting['wait_until'])
    expect(deadline - before).toBeGreaterThanOrEqual(3 * 86_400_000)
    expect(deadline - before).toBeLessThan(3 * 86_400_000 + 60_000)
    await post('went.on', email)
    await engine().ended(id, 'COMPLETED')
    expect(await read(id)).toMatchObject({
      status: 'COMPLETED',
      current_step_id: 'end',
      context: { email, stepCount: 3 },
      completed_at: expect.any(Number),
      wait_until: null,
      schedule_name: '',
      error: null,
    })
  })

  it('waits without a deadline: wait_until is null', async () => {
    const { id } = await toTheWait()
    expect(await read(id)).toMatchObject({ status: 'WAITING', wait_until: null, schedule_name: '' })
  })

  it('shows its emails, as does the workflow, with each event in time order', async () => {
    const eventName = uniqueName('signed_up')
    const nodes = welcomeDesign.nodes.map((node) =>
      node.id === 'start' ? { ...node, data: { kind: 'event', event_name: eventName } } : node,
    )
    const workflowId = await flow({ ...welcomeDesign, nodes })
    const email = newContact()
    const [id = ''] = await post(eventName, email, { plan: 'pro' })
    await engine().waiting(id, 'wait')
    const { status, body } = await api.request<{ emails: object[]; count: number }>(
      'GET',
      `/v1/executions/${id}/emails`,
    )
    const mail = {
      email_id: expect.stringMatching(/^em_/),
      subject: 'Welcome',
      created_at: expect.any(Number),
      updated_at: expect.any(Number),
      events: [{ status: 'sent', timestamp: expect.any(Number) }],
      workflow_id: workflowId,
      execution_id: id,
    }
    expect([status, body]).toEqual([200, { emails: [mail], count: 1 }])
    const ofWorkflow = await api.request('GET', `/v1/workflows/${workflowId}/emails`)
    const listed = { ...mail, recipient: email }
    expect(ofWorkflow.body).toEqual({ emails: [listed], count: 1, cursor: null })
  })

  it('shows its steps in order, with the handle that each took', async () => {
    const { id, email } = await toTheWait('P1D')
    await post('went.on', email)
    await engine().ended(id, 'COMPLETED')
    const { body } = await api.request<{ steps: { node_id: string; handle: string }[] }>(
      'GET',
      `/v1/executions/${id}/steps`,
    )
    expect(body).toMatchObject({ count: 3, cursor: null })
    expect(body.steps.map((step) => [step.node_id, step.handle])).toEqual([
      ['start', 'default'],
      ['wait', 'received'],
      ['end', null],
    ])
  })

  it.each(['exe_00000000000000000000000000', 'x', '%00', "'"])(
    "%s is a 404 with the contract's text",
    async (id) => {
      for (const path of ['', '/emails', '/steps']) {
        const answer = await api.request('GET', `/v1/executions/${id}${path}`)
        expect([path, answer.status, answer.body]).toEqual([
          path,
          404,
          { error: 'Execution not found' },
        ])
      }
      const cancelled = await api.request('POST', `/v1/executions/${id}/cancel`)
      expect(cancelled.status).toBe(404)
    },
  )

  it('of another workspace is a 404 and goes on', async () => {
    const { id } = await toTheWait()
    const auth = { authorization: `Bearer ${other.token}` }
    for (const [method, path] of [
      ['GET', ''],
      ['GET', '/emails'],
      ['GET', '/steps'],
      ['POST', '/cancel'],
    ] as const) {
      const answer = await api.request(method, `/v1/executions/${id}${path}`, undefined, auth)
      expect([path, answer.status]).toEqual([path, 404])
    }
    expect(await read(id)).toMatchObject({ status: 'WAITING' })
  })
})

it('answers 503 with Retry-After while Temporal is away, except for ended executions', async () => {
  const connection = Connection.lazy({ address: '127.0.0.1:1', connectTimeout: '2s' })
  onTestFinished(() => connection.close())
  const away = createApp({ ...api.deps, temporal: createTemporalReads(connection, 'default') })
  const { id, workflowId } = await toTheWait()
  const get = (path: string) =>
    away.request(path, { headers: { authorization: `Bearer ${api.key}` } })
  const paths = [`/v1/executions/${id}`, `/v1/workflows/${workflowId}/executions`]
  for (const answer of await Promise.all(paths.map(get))) {
    expect(answer.status).toBe(503)
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(await answer.json()).toMatchObject({ code: 'service_unavailable' })
  }
  await api.request('POST', `/v1/executions/${id}/cancel`)
  expect((await get(`/v1/executions/${id}`)).status).toBe(200)
})
