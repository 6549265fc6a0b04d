// The API and the execution engine over one database and one Temporal namespace.
import { afterAll, beforeAll } from 'vitest'
import { createTestApi, insertTestDomain } from './api.ts'
import { type Engine, type EngineOptions, startEngine } from './engine.ts'
import { createTestNamespace } from './namespace.ts'
import { uniqueName } from './unique.ts'

interface ListedExecution {
  execution_id: string
  workflow_id: string
  status: string
  email: string
  current_step_id: string
  step_count: number
  completed_at: number | null
  cancellation_reason: string | null
  wait_until?: number | null
}

export interface ExecutionPage {
  executions: ListedExecution[]
  count: number
  cursor: string | null
}

/** A design with a trigger and a wait for `went.on`, with an optional timeout. */
export const waitingDesign = (eventName: string, timeout?: string) => ({
  nodes: [
    { id: 'start', type: 'trigger', data: { kind: 'event', event_name: eventName } },
    { id: 'wait', type: 'wait_for_event', data: { event_name: 'went.on', timeout } },
    { id: 'end', type: 'exit', data: { outcome: 'done' } },
  ],
  edges: [
    { id: 'e1', source: 'start', target: 'wait' },
    { id: 'e2', source: 'wait', target: 'end', sourceHandle: 'received' },
    ...(timeout ? [{ id: 'e3', source: 'wait', target: 'end', sourceHandle: 'timeout' }] : []),
  ],
})

/** Call it at the top of a file. The engine runs from `beforeAll` to `afterAll`. */
export async function createApiWithEngine(options: Omit<EngineOptions, 'temporal'> = {}) {
  const temporal = await createTestNamespace()
  const api = await createTestApi({ namespace: temporal.namespace })
  await insertTestDomain(api, 'sender.test')
  const running: { engine: Engine | undefined } = { engine: undefined }
  beforeAll(async () => {
    running.engine = await startEngine(api, { ...options, temporal })
  })
  afterAll(() => running.engine?.stop())

  const engine = (): Engine => {
    if (!running.engine) throw new Error('the engine is not running yet')
    return running.engine
  }
  const newContact = () => `${uniqueName('c')}@example.test`

  /** Reads one page of a list of executions. */
  const page = async (path: string, query = ''): Promise<ExecutionPage> => {
    const answer = await api.request<ExecutionPage>('GET', `${path}/executions${query}`)
    if (answer.status !== 200) throw new Error(answer.text)
    return answer.body
  }

  return {
    api,
    engine,
    newContact,
    /** Makes an active workflow with that design. */
    async flow(design: object): Promise<string> {
      const body = { name: 'Flow', status: 'active', design }
      const made = await api.request<{ workflow_id: string }>('POST', '/v1/workflows', body)
      if (made.status !== 201) throw new Error(made.text)
      return made.body.workflow_id
    },
    /** Posts an event. @returns ids of the executions that it started */
    async post(event_name: string, email: string, properties = {}): Promise<string[]> {
      const body = { event_name, email, properties }
      const path = '/v1/automation/events'
      const accepted = await api.request<{ executions: string[] }>('POST', path, body)
      engine().wake()
      return accepted.body.executions
    },
    /** Merges properties into a contact. */
    async patch(email: string, properties: object): Promise<void> {
      const path = `/v1/automation/contacts/${encodeURIComponent(email)}`
      const answer = await api.request('PATCH', path, { properties })
      if (answer.status !== 200) throw new Error(answer.text)
      engine().wake()
    },
    /** `node handle why` of each step, in order; `-` for the handle of one that has none. */
    async stepLines(executionId: string): Promise<string[]> {
      type Step = { node_id: string; handle: string | null; why: string | null }
      const path = `/v1/executions/${executionId}/steps`
      const { body } = await api.request<{ steps: Step[] }>('GET', path)
      return body.steps.map(({ node_id, handle, why }) =>
        `${node_id} ${handle ?? '-'} ${why ?? ''}`.trim(),
      )
    },
    page,
    /** Runs `work` while the starter is stopped, so that nothing reaches Temporal. */
    async withoutStarter<T>(work: () => Promise<T>): Promise<T> {
      await engine().stopStarter()
      try {
        return await work()
      } finally {
        engine().startStarter()
      }
    },
    /** Reads all pages, each as a list of ids. `between` runs after each page except the last. */
    async pages(
      path: string,
      status = '',
      between: () => Promise<void> = async () => undefined,
    ): Promise<string[][]> {
      const found: string[][] = []
      let cursor: string | null = null
      do {
        if (cursor !== null) await between()
        const filter: string[] = status === '' ? [] : [`status=${status}`]
        const query: string = [...filter, ...(cursor ? [`cursor=${cursor}`] : [])].join('&')
        const read: ExecutionPage = await page(path, query && `?${query}`)
        found.push(read.executions.map((row) => row.execution_id))
        cursor = read.cursor
      } while (cursor !== null)
      return found
    },
    /**
     * Makes executions look a minute old, so that they are listed from visibility and not described one by one.
     */
    async age(ids: string[]): Promise<void> {
      await api.db
        .updateTable('executions')
        .set({ created_at: new Date(Date.now() - 60_000) })
        .where('id', 'in', ids)
        .execute()
    },
  }
}
