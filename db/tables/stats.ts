// Tables of statistics: counts of mail for each hour, what is still to be added to them, and what counts once for a recipient.
import type { Generated } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { StatGroup } from '../../rules/stats.ts'
import type { Defaulted, JsonColumn } from './columns.ts'

/** Recipients, by what happened to them. A change may take something back: it is below zero then. */
interface Counts {
  accepted: Defaulted<number>
  sent: Defaulted<number>
  delivered: Defaulted<number>
  opened: Defaulted<number>
  clicked: Defaulted<number>
  bounced: Defaulted<number>
  complained: Defaulted<number>
  unsubscribed: Defaulted<number>
  suppressed: Defaulted<number>
}

export interface EmailStatsTable extends Counts {
  workspace_id: WorkspaceId
  /** What it is counted by. A row of `domain` has all mail of the domain. */
  kind: StatGroup
  /** Hours since 1970, UTC. */
  hour: number
  domain_id: string
  /** The tag as `key:value`, the id of the workflow or broadcast, the provider; '' with `domain`. */
  value: string
}

/** Written by triggers in the transaction of what it counts, and folded into email_stats by workers. */
export interface EmailStatChangesTable extends Counts {
  id: Generated<number>
  workspace_id: WorkspaceId
  hour: number
  domain_id: string
  workflow_id: string | null
  broadcast_id: string | null
  provider: string
  tags: JsonColumn<Record<string, string>>
}

/** The first time at which a recipient of a mail did something, which is when it counts. */
export interface EmailFirstsTable {
  delivery_id: number
  kind: 'opened' | 'clicked' | 'unsubscribed'
  workspace_id: WorkspaceId
  at: Date
}

/** How far the migration has counted what was there before it. */
export interface EmailStatHistoryTable {
  source: string
  next_id: number
  until_id: number
}
