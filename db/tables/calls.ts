// Tables of the requests that nodes make, and of the secrets that they read.
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Defaulted, JsonObject, NullableJson } from './columns.ts'

/** A request that a node of an execution makes of another service. */
export interface HttpCallsTable {
  execution_id: string
  /** The segment that ended in it. */
  segment: number
  node_id: string
  workspace_id: WorkspaceId
  /** Counts the calls of that node in the execution, from 1. */
  lap: number
  /** The name by which its answer is kept. */
  store_as: string | null
  /** What is sent, encrypted; null once the call or its execution is over. */
  request: Buffer | null
  tries: Defaulted<number>
  /** The handle that it leaves by; null until it is over. */
  outcome: Defaulted<'success' | 'error' | null>
  /** Its status, or a word for what was amiss. */
  why: Defaulted<string | null>
  /** Of the last answer. */
  status: Defaulted<number | null>
  /** How long the last try took. */
  took_ms: Defaulted<number | null>
  /** `{status, headers, body}`; null unless it is kept. */
  answer: NullableJson<JsonObject>
  /** As of a wait. */
  goals_reached: Defaulted<string[]>
  created_at: Date
  ended_at: Defaulted<Date | null>
}

/** What nodes read as `secrets.NAME` in their requests. */
export interface SecretsTable {
  workspace_id: WorkspaceId
  name: string
  /** The domain of the bound key that made it; null: it is the whole workspace's. */
  domain_id: Defaulted<string | null>
  /** Encrypted. */
  value: Buffer
  created_at: Date
  updated_at: Date
}
