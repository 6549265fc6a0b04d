// Designs, and a client that makes, reads and changes workflows, for tests.

import { expect } from 'vitest'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { TestApi } from './api.ts'
import { uniqueName } from './unique.ts'

export interface Workflow {
  workflow_id: string
  workspace_id: WorkspaceId
  name: string
  status: string
  data: string
  created: number
  updated: number
  created_by: string
  created_by_type: string
  design: object
  settings: object
  current_version: number
  active_version: number
}

/** A design without a wait. */
export const exitDesign = (eventName: string) => ({
  nodes: [
    { id: 'start', type: 'trigger', data: { kind: 'event', event_name: eventName } },
    { id: 'end', type: 'exit', data: {} },
  ],
  edges: [{ id: 'e', source: 'start', target: 'end' }],
})
/** A design that is valid only as a draft. */
export const unfinished = { nodes: [{ id: 'n', type: 'delay', data: {} }], edges: [] }

export function createWorkflowClient(api: TestApi) {
  return {
    async create(body: object = {}): Promise<Workflow> {
      const given = { name: 'Flow 1', ...body }
      const answer = await api.request<Workflow>('POST', '/v1/workflows', given)
      expect(answer.status).toBe(201)
      return answer.body
    },
    patch: (id: string, body: unknown) =>
      api.request<Workflow>('PATCH', `/v1/workflows/${id}`, body),
    get: (id: string) => api.request<Workflow>('GET', `/v1/workflows/${id}`),
    /** Posts an event of that name for a new contact. @returns the number of started executions */
    async startedBy(eventName: string): Promise<number> {
      const event = { event_name: eventName, email: `${uniqueName('c')}@example.test` }
      const path = '/v1/automation/events'
      const { body } = await api.request<{ executions: string[] }>('POST', path, event)
      return body.executions.length
    },
    /** The fields of a list item of a workflow. */
    listItem: (row: Workflow) => ({
      workflow_id: row.workflow_id,
      workspace_id: api.workspaceId,
      name: row.name,
      status: row.status,
      data: row.data,
      created: row.created,
      updated: row.updated,
      created_by: api.keyId,
      created_by_type: 'apiKey',
    }),
  }
}
