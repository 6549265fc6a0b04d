// Executions that are cancelled and started over the API, with a real engine.
import { describe, expect, it } from 'vitest'
import { createApiWithEngine, waitingDesign } from '../setup/apiEngine.ts'
import { uniqueName } from '../setup/unique.ts'

const { api, engine, flow, newContact, post, withoutStarter } = await createApiWithEngine()

const read = async (id: string) => (await api.request('GET', `/v1/executions/${id}`)).body
const cancel = (id: string, body?: object) =>
  api.request('POST', `/v1/executions/${id}/cancel`, body)

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

describe('cancelling', () => {
  it('is CANCELLED at once, with the reason, and stays so when it is repeated', async () => {
    const { id, email } = await toTheWait('P1D')
    const cancelled = await cancel(id, { reason: 'changed our mind' })
    expect(cancelled).toMatchObject({
      status: 200,
      body: {
        execution_id: id,
        status: 'CANCELLED',
        current_step_id: 'wait',
        context: { email, stepCount: 2 },
        cancellation_reason: 'changed our mind',
        completed_at: expect.any(Number),
        wait_until: null,
      },
    })
    expect(await read(id)).toEqual(cancelled.body)
    const again = await cancel(id, { reason: 'another' })
    expect([again.status, again.body]).toEqual([200, cancelled.body])
    engine().wake()
    await engine().ended(id, 'CANCELLED')
    expect(await read(id)).toEqual(cancelled.body)
  })

  it('works before Temporal has started the execution, which then takes no step', async () => {
    const id = await withoutStarter(async () => {
      const execution = await begin()
      expect((await cancel(execution.id)).body).toMatchObject({
        status: 'CANCELLED',
        cancellation_reason: 'cancelled',
        current_step_id: '',
      })
      return execution.id
    })
    await engine().ended(id, 'CANCELLED')
    expect(await engine().steps(id)).toEqual([])
  })

  it('refuses one that has ended with 409, and a wrong reason with 400', async () => {
    const { id, email } = await toTheWait()
    for (const body of [{ reason: 1 }, { reason: 'x'.repeat(501) }, { reason: '\0' }, []]) {
      expect((await cancel(id, body)).status).toBe(400)
    }
    expect(await read(id)).toMatchObject({ status: 'WAITING' })
    await post('went.on', email)
    await engine().ended(id, 'COMPLETED')
    const refused = await cancel(id)
    expect(refused).toMatchObject({ status: 409, body: { code: 'execution_not_running' } })
    expect(await read(id)).toMatchObject({ status: 'COMPLETED', cancellation_reason: null })
  })

  it('is CANCELLED with the reason terminated after it was terminated in the Web UI', async () => {
    const { id } = await toTheWait()
    await engine().client.workflow.getHandle(id).terminate('by hand')
    expect(await read(id)).toMatchObject({
      status: 'CANCELLED',
      cancellation_reason: 'terminated',
      completed_at: expect.any(Number),
    })
  })
})

describe('a start by hand', () => {
  it('is a 201 with the execution, which runs with its properties for a new contact', async () => {
    const workflowId = await flow(waitingDesign(uniqueName('never')))
    const path = `/v1/workflows/${workflowId}/executions`
    const email = newContact()
    const started = await api.request<{ execution_id: string }>('POST', path, {
      email: email.toUpperCase(),
      properties: { plan: 'pro' },
    })
    expect(started).toMatchObject({
      status: 201,
      body: { workflow_id: workflowId, status: 'IN_PROGRESS', context: { email, stepCount: 0 } },
    })
    engine().wake()
    await engine().waiting(started.body.execution_id, 'wait')
    await api.request('PATCH', `/v1/workflows/${workflowId}`, { status: 'paused' })
    const refused = await api.request('POST', path, { email })
    expect(refused).toMatchObject({ status: 409, body: { code: 'workflow_not_active' } })
    for (const body of [{}, { email: 'x' }, { email, properties: [] }]) {
      expect((await api.request('POST', path, body)).status).toBe(400)
    }
  })
})
