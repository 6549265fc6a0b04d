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
  /** In the design of its workflow. */
  position: number
  /** Of the event, or one of `happenings`. */
  event_name: string
  about: string | null
  filter: Condition | null
  /** How many bytes its JSON is. */
  filter_bytes: number
  re_entry: ReEntry | null
}

/** Several times what one workspace may have at most (`resumedConditionsBytesMax`): none drives out its own, and most workspaces have little. */
const KEPT_BYTES = 16 * 1024 * 1024
/** Of a trigger without its filter, and of a list. */
const ROW_BYTES = 300

/**
 * By key and one name, since many events meet the triggers of a further name, such as that a property changed. Whatever changes triggers
 * makes another key for their workspace, so what is kept here is never out of date.
 */
const kept = new LRUCache<string, readonly TriggerRow[]>({
  maxSize: KEPT_BYTES,
  sizeCalculation: (rows, place) =>
    rows.reduce(
      (sum, { filter_bytes }) => sum + ROW_BYTES + filter_bytes,
      ROW_BYTES + place.length,
    ),
})

const where = (workspaceId: WorkspaceId, names: RawBuilder<unknown>) =>
  sql`t.workspace_id = ${workspaceId} and t.event_name = any(${names})`

/** Of the row `v`: what stands for all triggers of its workspace as they are now. */
const keyOf = sql`v.workspace_id || '/' || v.version`

/**
 * A `select` of one text: what stands for all triggers of the workspace as they are now; null if there are none of these names.
 * @param names an expression of type text[]
 */
export const triggerKey = (
  workspaceId: WorkspaceId,
  names: RawBuilder<unknown>,
): RawBuilder<unknown> => sql`
        select ${keyOf} from workflow_trigger_versions v
        where v.workspace_id = ${workspaceId}
          and exists (select from workflow_triggers t where ${where(workspaceId, names)})`

/** Event names, and what `triggerKey` gave for them in one statement of the same transaction. */
interface AskedTriggers {
  names: readonly string[]
  /** Null if there are no triggers. */
  key: string | null
}

/**
 * The triggers of each of these, in the order of workflows and designs; of one name the same list as long as the key stays the same. Those
 * of names that are not known are read, as they are then: a workflow that was changed meanwhile is seen before the change or after it,
 * never without triggers.
 */
export async function listTriggers(
  trx: Trx,
  workspaceId: WorkspaceId,
  asked: readonly AskedTriggers[],
): Promise<(readonly TriggerRow[])[]> {
  const key = asked.find((one) => one.key !== null)?.key ?? null
  if (key === null) return asked.map(() => [])
  const names = new Set(asked.flatMap((one) => (one.key === null ? [] : one.names)))
  const ofName = await findByName(trx, workspaceId, key, [...names])
  /** Events that arrive together often have the same names. */
  const joined = new Map<string, readonly TriggerRow[]>()
  return asked.map((one) => {
    if (one.key === null) return []
    const place = JSON.stringify(one.names)
    const list = joined.get(place) ?? joinLists(one.names.map((name) => ofName.get(name) ?? []))
    joined.set(place, list)
    return list
  })
}

type ByName = Map<string, readonly TriggerRow[]>

/** The triggers of each name, all of one state: those that are kept, and those that one statement reads. */
async function findByName(
  trx: Trx,
  workspaceId: WorkspaceId,
  key: string,
  names: readonly string[],
): Promise<ByName> {
  const known: ByName = new Map()
  for (const name of names) {
    const rows = kept.get(`${key} ${name}`)
    if (rows) known.set(name, rows)
  }
  const unknown = names.filter((name) => !known.has(name))
  if (unknown.length === 0) return known
  const read = await readByName(trx, workspaceId, unknown)
  if (known.size === 0) return read.ofName
  // They have changed since the key was read. One that has gone from a name to another would be missed under both.
  if (read.key !== key) return (await readByName(trx, workspaceId, names)).ofName
  return new Map([...known, ...read.ofName])
}

/** Reads the triggers of each name, and keeps them. */
async function readByName(
  trx: Trx,
  workspaceId: WorkspaceId,
  names: readonly string[],
): Promise<{ key: string | null; ofName: ByName }> {
  const { rows } = await sql<{ key: string; triggers: TriggerRow[] }>`
    select ${keyOf} as key, coalesce((
        select json_agg(json_build_object('workflow_id', t.workflow_id, 'node_id', t.node_id, 'version', t.version,
          'position', t.position, 'event_name', t.event_name, 'about', t.about, 'filter', t.filter,
          'filter_bytes', coalesce(octet_length(t.filter::text), 0), 're_entry', t.re_entry)
          order by t.workflow_id, t.position)
        from workflow_triggers t where ${where(workspaceId, sql`${[...names]}::text[]`)}
      ), '[]') as triggers
    from workflow_trigger_versions v where v.workspace_id = ${workspaceId}
  `.execute(trx)
  const { key, triggers } = rows[0] ?? { key: null, triggers: [] }
  const ofName: ByName = new Map()
  for (const name of names) {
    const place = `${key} ${name}`
    // Two that read at the same time get the same list.
    const list = kept.get(place) ?? triggers.filter(({ event_name }) => event_name === name)
    kept.set(place, list)
    ofName.set(name, list)
  }
  return { key, ofName }
}

/** One list of all, in the order of workflows and designs. Not kept: it would hold filters that are no longer kept. */
function joinLists(lists: readonly (readonly TriggerRow[])[]): readonly TriggerRow[] {
  const [first = [], ...more] = lists.filter((rows) => rows.length > 0)
  return more.length === 0 ? first : [first, ...more].flat().sort(inOrder)
}

function inOrder(a: TriggerRow, b: TriggerRow): number {
  if (a.workflow_id === b.workflow_id) return a.position - b.position
  return a.workflow_id < b.workflow_id ? -1 : 1
}
