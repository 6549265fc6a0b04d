// Tables of limits.
import type { WorkspaceId } from '../../rules/ids.ts'

/** A limit that is null does not hold. */
export interface RateLimitsTable {
  /** The id of a workspace or of an API key. */
  subject: string
  workspace_id: WorkspaceId
  /** Requests that are refilled each second. */
  per_second: number | null
  /** Requests at once; null: as many as one second refills, but at least one. */
  burst: number | null
  emails_per_day: number | null
  updated_at: Date
}

/** Days of subjects whose emails are limited. They are deleted a week later. */
export interface EmailDaysTable {
  /** The id of a workspace or of an API key. */
  subject: string
  /** `YYYY-MM-DD`, UTC. */
  day: string
  workspace_id: WorkspaceId
  /** Places that processes have taken: at least as many as emails were accepted. */
  emails: number
  /** How many the last one of them was given. */
  granted: number
  /** The limit of a workspace when it came near to it, and was told; null: it has not. */
  near_limit: number | null
}
