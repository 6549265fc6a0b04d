// The triggers of active workflows for an event. An event may meet a thousand of them, so they are read once and kept.

import { type RawBuilder, sql } from 'kysely'
import { LRUCache } from 'lru-cache'
import type { Condition } from '../../rules/conditions/types.ts'
import type { ReEntry } from '../../rules/design/types.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Trx } from '../connect.ts'

export interface TriggerRow {
  workflow_id: string
  node_id: string
  version: number
  /** Of the event, or one of `happenings`. */
  event_name: string
  about: string | null
  filter: Condition | null
  /** How many bytes its JSON is. */
  filter_bytes: number
  re_entry: ReEntry | null
}

/** Several times what one workspace may have (`metConditionsBytesMax`), so that none drives out its own or others'. */
const KEPT_BYTES = 16 * 1024 * 1024
/** Of a trigger without its filter. */
const ROW_BYTES = 300

/** By key and names. Whatever changes triggers makes another key for their workspace, so what is kept here is never out of date. */
const kept = new LRUCache<string, readonly TriggerRow[]>({
  maxSize: KEPT_BYTES,
  sizeCalculation: (rows, place) =>
    rows.reduce((sum, { filter_bytes }) => sum + ROW_BYTES + filter_bytes, place.length),
})

const where = (workspaceId: WorkspaceId, names: RawBuilder<unknown>) =>
  sql`t.workspace_id = ${workspaceId} and t.event_name = any(${names})`

/**
 * A `select` of one text: what stands for all triggers of the workspace as they are now; null if there are none of these names.
 * @param names an expression of type text[]
 */
export const triggerKey = (
  workspaceId: WorkspaceId,
  names: RawBuilder<unknown>,
): RawBuilder<unknown> => sql`
        select v.workspace_id || '/' || v.version from workflow_trigger_versions v
        where v.workspace_id = ${workspaceId}
          and exists (select from workflow_triggers t where ${where(workspaceId, names)})`

/** Event names, and what `triggerKey` gave for them in the same transaction. */
interface AskedTriggers {
  names: readonly string[]
  /** Null if there are no triggers. */
  key: string | null
}

/**
 * The triggers of each of these, in the order of workflows and designs; the same list as long as the key stays the same. Where they are not
 * known, all of such names are read again, as they are then: a workflow that was changed meanwhile is seen before the change or after it,
 * never without triggers.
 */
export async function listTriggers(
  trx: Trx,
  workspaceId: WorkspaceId,
  asked: readonly AskedTriggers[],
): Promise<(readonly TriggerRow[])[]> {
  const known = asked.map((one) => (one.key === null ? [] : kept.get(cacheKeyOf(one))))
  const unknown = new Set(asked.flatMap(({ names }, place) => (known[place] ? [] : names)))
  if (unknown.size === 0) return known.map((rows) => rows ?? [])
  const { rows } = await sql<TriggerRow>`
    select t.workflow_id, t.node_id, t.version, t.event_name, t.about, t.filter, t.re_entry,
      coalesce(octet_length(t.filter::text), 0) as filter_bytes
    from workflow_triggers t where ${where(workspaceId, sql`${[...unknown]}::text[]`)}
    order by t.workflow_id, t.position
  `.execute(trx)
  return asked.map((one, place) => known[place] ?? keep(rows, one))
}

const cacheKeyOf = ({ key, names }: AskedTriggers): string => `${key} ${JSON.stringify(names)}`

/** Those of the names, which are kept. Two events of the same names get the same list. */
function keep(rows: readonly TriggerRow[], asked: AskedTriggers): readonly TriggerRow[] {
  const before = kept.get(cacheKeyOf(asked))
  if (before) return before
  const named = rows.filter((row) => asked.names.includes(row.event_name))
  kept.set(cacheKeyOf(asked), named)
  return named
}
