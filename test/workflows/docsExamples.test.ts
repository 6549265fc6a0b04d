// Every workflow of docs/workflows.md: valid, active, started as the page says, and run to the end that it shows.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { drawnVariant } from '../../rules/nodes/split.ts'
import { createTestApi, insertTestDomain } from '../setup/api.ts'
import { type Engine, startEngine, testBundle } from '../setup/engine.ts'
import { eventually } from '../setup/eventually.ts'
import { fire } from '../setup/handTimers.ts'
import { createHttpServer, json } from '../setup/httpServer.ts'
import { createTestNamespace } from '../setup/namespace.ts'
import { openMail } from '../setup/openedMail.ts'
import { type PageRun, type PageWorkflow, pageWorkflows } from '../setup/pageExamples.ts'
import { uniqueName } from '../setup/unique.ts'

const temporal = await createTestNamespace()
const api = await createTestApi({ namespace: temporal.namespace })
await insertTestDomain(api, 'demo.test')
/** What the page calls https://crm.example.com. */
const crm = await createHttpServer()
crm.answer('/v1/people', json(200, { score: 82, owner: 'Grace' }))
let engine: Engine

beforeAll(async () => {
  const workflowBundle = await testBundle('handTimers')
  engine = await startEngine(api, { temporal, workflowBundle })
  await ask('PUT', '/v1/automation/secrets/CRM_KEY', { value: 'sk_live_1' })
})
afterAll(() => engine?.stop())

/** One request that must be answered by 2xx. */
async function ask<T>(method: string, path: string, body?: unknown): Promise<T> {
  const answer = await api.request<T>(method, path, body)
  expect(answer.status, `${method} ${path}: ${answer.text}`).toBeLessThan(300)
  engine.wake()
  return answer.body
}

/** Sends what starts a run. @returns the execution that it started */
async function start(workflowId: string, email: string, { requests }: PageRun): Promise<string> {
  const [first] = requests
  if (!first) throw new Error('nothing starts the run')
  const body = { ...first.body, email }
  if (first.kind === 'start') {
    const path = `/v1/workflows/${workflowId}/executions`
    return (await ask<{ execution_id: string }>('POST', path, body)).execution_id
  }
  const { executions } = await ask<{ executions: string[] }>('POST', '/v1/automation/events', body)
  expect(executions, 'executions that the event started').toHaveLength(1)
  return executions[0] ?? ''
}

/** Brings an execution over its waits: posts what the page posts there, and fires the other timers. */
async function drive(id: string, email: string, { steps, requests }: PageRun): Promise<void> {
  const coming = requests.slice(1)
  let seen = 0
  for (;;) {
    const now = await eventually(async () => {
      const { ended_status } = await engine.row(id)
      if (ended_status) return null
      const { status, memo } = await engine.describe(id)
      const count = memo?.step_count ?? 0
      if (status !== 'WAITING' || count <= seen) throw new Error(`${id} is ${status}`)
      return count
    })
    if (now === null) return
    seen = now
    const step = steps[seen - 1]
    if (step?.meanwhile) await openMail(api, { executionId: id, nodeId: step.meanwhile.opens })
    // Time does not end this wait: an event does, or what the contact has just done.
    const isEnded = step?.handle === 'received' || step?.handle === 'met' || step?.handle === null
    if (!isEnded) await engine.client.workflow.getHandle(id).signal(fire)
    else if (!step.meanwhile && coming.length > 0) {
      const body = { ...coming.shift()?.body, email }
      await ask('POST', '/v1/automation/events', body)
    }
  }
}

/** An address whose draws, at each split of the workflow, are those that the page shows. */
function readerOf(workflowId: string, { body }: PageWorkflow, { steps }: PageRun): string {
  for (;;) {
    const key = `${uniqueName('reader')}@example.com`
    const isDrawn = body.design.nodes.every(({ id: nodeId, type, data }) => {
      const step = type === 'split' ? steps.find((one) => one.nodeId === nodeId) : undefined
      const { variants } = data as { variants: { id: string; weight: number }[] }
      return !step || drawnVariant(variants, { workflowId, nodeId, key }) === step.handle
    })
    if (isDrawn) return key
  }
}

interface Step {
  node_id: string
  handle: string | null
  why: string | null
}

const lines = (steps: { nodeId: string; handle: string | null; why: string }[]) =>
  steps.map(({ nodeId, handle, why }) => `${nodeId} ${handle ?? '-'} ${why}`.trim())

const workflows = pageWorkflows()
const cases = workflows.map(
  (workflow) => [`${workflow.title} (${workflow.place})`, workflow] as const,
)

test('the page has at least six workflows, each with a run', () => {
  expect(workflows.length).toBeGreaterThanOrEqual(6)
  expect(workflows.filter(({ runs }) => runs.length === 0).map(({ place }) => place)).toEqual([])
})

interface Made {
  workflow_id: string
  status: string
}

/**
 * Makes what a design names: workflows of the page as `<id of NAME>`, and audiences as `<id of the audience NAME>`.
 * @returns the body with their ids
 */
async function withOthers({ body }: PageWorkflow) {
  let text = JSON.stringify(body).replaceAll('https://crm.example.com', crm.url)
  const placesOf = (pattern: RegExp) => new Map([...text.matchAll(pattern)].map(([a, b]) => [a, b]))
  for (const [place, name] of placesOf(/<id of the audience (.+?)>/g)) {
    const { id } = await ask<{ id: string }>('POST', '/v1/audiences', { name })
    text = text.replaceAll(place, id)
  }
  const ids: string[] = []
  for (const [place, name] of placesOf(/<id of (.+?)>/g)) {
    const other = workflows.find((one) => one.body.name === name)
    if (!other) throw new Error(`the page has no workflow ${name}`)
    const { workflow_id } = await ask<Made>('POST', '/v1/workflows', other.body)
    text = text.replaceAll(place, workflow_id)
    ids.push(workflow_id)
  }
  return { given: JSON.parse(text) as PageWorkflow['body'], others: ids }
}

test.each(cases)('%s runs as the page says', async (_name, workflow: PageWorkflow) => {
  const { given, others } = await withOthers(workflow)
  const made = await ask<Made>('POST', '/v1/workflows', given)
  const path = `/v1/workflows/${made.workflow_id}`
  expect(await ask('POST', `${path}/validate`, {})).toEqual({ valid: true, problems: [] })
  await ask('PATCH', path, { status: 'active' })

  for (const run of workflow.runs) {
    const email = readerOf(made.workflow_id, workflow, run)
    const id = await start(made.workflow_id, email, run)
    await drive(id, email, run)
    type Shown = { status: string; error: string | null }
    const { status, error } = await ask<Shown>('GET', `/v1/executions/${id}`)
    const { steps } = await ask<{ steps: Step[] }>('GET', `/v1/executions/${id}/steps`)
    const took = steps.map(({ node_id: nodeId, handle, why }, i) => {
      // The page need not say every reason.
      return { nodeId, handle, why: run.steps[i]?.why === '' ? '' : (why ?? '') }
    })
    expect(
      { steps: lines(took), status, error, subjects: await engine.subjects(id) },
      `the run at ${run.place}`,
    ).toEqual({
      steps: lines(run.steps),
      status: run.status,
      error: run.error,
      subjects: run.subjects,
    })
  }
  for (const id of [made.workflow_id, ...others]) await ask('DELETE', `/v1/workflows/${id}`)
})
