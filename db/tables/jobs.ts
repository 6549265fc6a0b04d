// Tables of jobs.
import type { WorkspaceId } from '../../rules/ids.ts'
import type { JobKind, JobStatus } from '../../rules/jobs.ts'
import type { Defaulted, JsonColumn, JsonObject, NullableJson } from './columns.ts'

export interface JobsTable {
  id: string
  workspace_id: WorkspaceId
  /** The domain of the key that made it; null: it was bound to none. */
  domain_id: string | null
  kind: JobKind
  status: JobStatus
  /** What its kind needs. */
  input: JsonColumn<JsonObject>
  /** The last thing that was done, as its kind orders them; null: none was. */
  place: Defaulted<string | null>
  done: Defaulted<number>
  /** null: it is not known yet. */
  total: Defaulted<number | null>
  counts: JsonColumn<Record<string, number>>
  result: NullableJson<JsonObject>
  error: Defaulted<string | null>
  /** Pages in a row that Postgres has refused for their data. */
  refusals: Defaulted<number>
  created_at: Date
  updated_at: Date
  completed_at: Defaulted<Date | null>
}

/** A line of a job that was not done. */
export interface JobFailuresTable {
  job_id: string
  line: number
  error: string
}
