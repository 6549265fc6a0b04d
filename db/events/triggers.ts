// The triggers of active workflows for an event. An event may meet a thousand of them, so each is read once and kept.

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
  re_entry: ReEntry | null
}

const KEPT_CHARS = 16 * 1024 * 1024

/** By their keys. A row that is written anew has another key, so what is kept here is never out of date. */
const kept = new LRUCache<string, readonly TriggerRow[]>({
  maxSize: KEPT_CHARS,
  sizeCalculation: (rows, keys) => keys.length + JSON.stringify(rows).length,
})

/** The key of a row holds the transaction that wrote it. Neither part has a comma in it. */
const keyOf = sql`t.workflow_id || '/' || t.node_id || '/' || t.xmin::text`

const where = (workspaceId: WorkspaceId, names: RawBuilder<unknown>) =>
  sql`t.workspace_id = ${workspaceId} and t.event_name = any(${names})`

/**
 * A `select` of one text: the keys of the triggers of these names, in order, with a comma between; null if there are none.
 * @param names an expression of type text[]
 */
export const triggerKeys = (
  workspaceId: WorkspaceId,
  names: RawBuilder<unknown>,
): RawBuilder<unknown> => sql`
        select string_agg(${keyOf}, ',' order by t.workflow_id, t.position)
        from workflow_triggers t where ${where(workspaceId, names)}`

/** Event names, and what `triggerKeys` gave for them in the same transaction. */
interface AskedTriggers {
  names: readonly string[]
  /** Null if there are no triggers. */
  keys: string | null
}

/**
 * The triggers of each of these, in the order of `triggerKeys`; the same list as long as they stay the same. Where they are not known, all
 * of such names are read again, as they are then: a workflow that was changed meanwhile is seen before the change or after it, never
 * without triggers.
 */
export async function listTriggers(
  trx: Trx,
  workspaceId: WorkspaceId,
  asked: readonly AskedTriggers[],
): Promise<(readonly TriggerRow[])[]> {
  const known = asked.map(({ keys }) => (keys === null ? [] : kept.get(keys)))
  const unknown = new Set(asked.flatMap(({ names }, place) => (known[place] ? [] : names)))
  if (unknown.size === 0) return known.map((rows) => rows ?? [])
  const { rows } = await sql<TriggerRow & { key: string }>`
    select ${keyOf} as key, t.workflow_id, t.node_id, t.version, t.event_name, t.about, t.filter, t.re_entry
    from workflow_triggers t where ${where(workspaceId, sql`${[...unknown]}::text[]`)}
    order by t.workflow_id, t.position
  `.execute(trx)
  return asked.map(({ names }, place) => known[place] ?? keep(rows, names))
}

/** Those of the names, which are kept by their keys. */
function keep(
  rows: readonly (TriggerRow & { key: string })[],
  names: readonly string[],
): readonly TriggerRow[] {
  const named = rows.filter((row) => names.includes(row.event_name))
  const triggers = named.map(({ key: _, ...row }) => row)
  kept.set(named.map(({ key }) => key).join(','), triggers)
  return triggers
}
