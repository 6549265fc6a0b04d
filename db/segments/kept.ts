// The segments whose members are kept. Each change of a contact may concern them, so each is read once and remembered.
import { type RawBuilder, type SqlBool, sql } from 'kysely'
import { LRUCache } from 'lru-cache'
import { conditionNeeds } from '../../rules/conditions/needs.ts'
import type { Condition } from '../../rules/conditions/types.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Trx } from '../connect.ts'
import type { Param } from '../prepared.ts'
import { segmentOf } from './reads.ts'

export interface KeptSegment {
  id: string
  generation: number
  /** Whether all contacts were looked at: who has no row is no member then. */
  filled: boolean
  condition: Condition
  /** Conditions of the segments that it names, by way of others too. */
  named: Record<string, Condition>
  /** What its condition reads, that of those that it names included. */
  reads: { fields: boolean; eventNames: string[]; audienceIds: string[] }
}

/** Twice what one workspace may have at most (`resumedConditionsBytesMax`): none drives out its own, and most workspaces have little. */
const KEPT_BYTES = 8 * 1024 * 1024

/** By key. A segment whose condition changes is written anew, and so is each that names it: what is here is never out of date. */
const remembered = new LRUCache<string, KeptSegment>({ maxSize: KEPT_BYTES })

/** The key of a row holds the transaction that wrote it. Neither part has a comma in it. */
const keyOf = sql`s.id || '/' || s.xmin::text`

/** A `select` of one text: the keys of the workspace's kept segments, in order, with a comma between; null if there are none. */
export const keptKeys = (workspaceId: Param<WorkspaceId>): RawBuilder<unknown> => sql`
        select string_agg(${keyOf}, ',' order by s.id)
        from segments s where s.workspace_id = ${workspaceId} and s.kept`

/** SQL: whether the workspace has kept segments. */
export const hasKept = (workspaceId: Param<WorkspaceId>): RawBuilder<SqlBool> =>
  sql`exists (select from segments s where s.workspace_id = ${workspaceId} and s.kept)`

/** The keys, for those who ask for nothing else. */
export async function findKeptKeys(trx: Trx, workspaceId: WorkspaceId): Promise<string | null> {
  const { rows } = await sql<{ keys: string | null }>`
    select (${keptKeys(workspaceId)}) as keys
  `.execute(trx)
  return rows[0]?.keys ?? null
}

type KeptRow = Omit<KeptSegment, 'reads'> & { key: string; bytes: number }

/**
 * The beginning of a `with`: `conditions` has a row for each kept segment that names others, with the conditions of these, by way of others too,
 * and how many bytes they are.
 */
const withNamed = (workspaceId: WorkspaceId) => sql`
    with recursive named (root, id) as (
      select s.id, unnest(s.named_ids) from segments s
      where s.workspace_id = ${workspaceId} and s.kept
      union
      select n.root, unnest(s.named_ids) from named n ${segmentOf(workspaceId)}
    ), conditions as (
      select n.root, json_object_agg(s.id, s.condition) as named, sum(octet_length(s.condition::text))::int as bytes
      from named n ${segmentOf(workspaceId)} group by n.root
    )`

/** Of a kept segment `s` and its row `c` of `conditions`. */
const bytesOf = sql`octet_length(s.condition::text) + coalesce(c.bytes, 0)`

/** How many bytes the conditions of all kept segments are, those that they name included. */
export async function countKeptBytes(trx: Trx, workspaceId: WorkspaceId): Promise<number> {
  const { rows } = await sql<{ bytes: number }>`
    ${withNamed(workspaceId)}
    select coalesce(sum(${bytesOf}), 0)::float8 as bytes
    from segments s left join conditions c on c.root = s.id
    where s.workspace_id = ${workspaceId} and s.kept
  `.execute(trx)
  return rows[0]?.bytes ?? 0
}

/**
 * The kept segments, in the order of `keptKeys`.
 * @param keys as `keptKeys` gave them in the same transaction. If one of them is not known, all are read again, as they are then.
 */
export async function findKept(
  trx: Trx,
  workspaceId: WorkspaceId,
  keys: string | null,
): Promise<KeptSegment[]> {
  if (keys === null) return []
  const found = keys.split(',').map((key) => remembered.get(key))
  if (found.every((row) => row !== undefined)) return found
  const { rows } = await sql<KeptRow>`
    ${withNamed(workspaceId)}
    select ${keyOf} as key, s.id, s.generation, s.filled, s.condition, coalesce(c.named, '{}') as named,
      ${bytesOf} as bytes
    from segments s left join conditions c on c.root = s.id
    where s.workspace_id = ${workspaceId} and s.kept order by s.id
  `.execute(trx)
  return rows.map(({ key, bytes, ...row }) => {
    const segment = { ...row, reads: readsOf(row) }
    remembered.set(key, segment, { size: key.length + bytes })
    return segment
  })
}

function readsOf({ condition, named }: Pick<KeptRow, 'condition' | 'named'>): KeptSegment['reads'] {
  const { fields, eventNames, audienceIds } = conditionNeeds(condition, ...Object.values(named))
  return { fields, eventNames, audienceIds }
}
