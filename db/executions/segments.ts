// Reads an execution with the results of its segments, and writes a segment in one statement.

import { sql } from 'kysely'
import { ENGINE } from '../../rules/engine.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Reach } from '../../rules/reach.ts'
import type { CancelCode } from '../../rules/wire.ts'
import type { Db, Trx } from '../connect.ts'
import type { Row } from '../schema.ts'
import { cleared } from '../suspects/writes.ts'
import { type ExecutionEnd, endColumns, forgetRequests } from './end.ts'
import { isFoundLive } from './live.ts'

/**
 * The execution with the results of this segment (if it ran before a crash) and of the one before, and with the latest where that of this segment is
 * kept no more (an earlier release deletes none). With how often it ended a worker alone (`deaths`) at which node; both null if it is no suspect.
 */
export async function findSegment<Result>(db: Db, executionId: string, segment: number) {
  const { rows } = await sql<FoundSegment<Result>>`
    with wanted as (select ${executionId}::text as id, ${segment}::int as segment)
    select e.id, e.workspace_id, e.workflow_id, e.version, e.contact_id, e.trigger_node_id, e.trigger_event_id,
      e.properties, e.chain_depth, e.ended_status, e.cancellation_reason, v.design, v.engine,
      v.bound_domain_id, done.result, before.result as previous,
      case when done.result is null then (
        select l.result from execution_segments l where l.execution_id = e.id and l.segment > wanted.segment
        order by l.segment desc limit 1) end as later,
      s.deaths, s.step as suspect_step
    from wanted join executions e on e.id = wanted.id
    join workflow_versions v on v.workflow_id = e.workflow_id and v.version = e.version
    left join execution_segments done on done.execution_id = e.id and done.segment = wanted.segment
    left join execution_segments before on before.execution_id = e.id and before.segment = wanted.segment - 1
    left join suspects s on s.kind = 'segment' and s.id = e.id
  `.execute(db)
  return rows[0]
}

type FoundSegment<Result> = Pick<
  Row<'executions'>,
  | 'id'
  | 'workspace_id'
  | 'workflow_id'
  | 'version'
  | 'contact_id'
  | 'trigger_node_id'
  | 'trigger_event_id'
  | 'properties'
  | 'chain_depth'
  | 'ended_status'
  | 'cancellation_reason'
> &
  Pick<Row<'workflow_versions'>, 'design' | 'engine' | 'bound_domain_id'> & {
    result: Result | null
    previous: Result | null
    /** The latest result, if that of this segment is kept no more (`SEGMENTS_KEPT`). */
    later: Result | null
    /** Null if it is no suspect. */
    deaths: number | null
    suspect_step: string | null
  }

export type SegmentRow<Result = unknown> = NonNullable<
  Awaited<ReturnType<typeof findSegment<Result>>>
>

/** What the writer of the version that an execution runs reaches: of secrets it reads no others. */
export const reachOfWriter = ({ workspace_id, bound_domain_id }: SegmentRow): Reach => ({
  workspaceId: workspace_id,
  domainId: bound_domain_id,
})

/** How many results of segments an execution keeps, the latest ones: Temporal may ask again for some that it has not recorded. */
export const SEGMENTS_KEPT = 100

export interface NewStep {
  seq: number
  node_id: string
  type: string
  handle: string | null
  why: string | null
}

export interface SegmentWrites {
  executionId: string
  segment: number
  result: object
  steps: NewStep[]
  /** Whether the first of them takes the place of the last step, at which the execution was held. */
  isReleased: boolean
  /** How the node of the wait before was left, and the number of its step; null if it still waits there. */
  left: { seq: number; handle: string | null; why: string | null } | null
  waits: Omit<
    Row<'event_waits'>,
    'execution_id' | 'segment' | 'created_at' | 'ended_by' | 'ended_with' | 'leads_to'
  >[]
  /** How many effects of executions have led to what it did; null: it did nothing. */
  depth: number | null
  end: (ExecutionEnd & { stepId: string; stepCount: number; code: CancelCode | null }) | null
  now: Date
}

/**
 * Writes a segment's steps, waits, end and result, once by its unique key; it is no suspect any more. The execution is locked before its
 * waits, as in a cancellation. What there are many of is found by the id that was given: by that of `live`, or "is null", a plan that was
 * kept from when the tables were small would read all that is live.
 * @returns false if the execution has ended meanwhile: then nothing was written
 */
export async function insertSegment(
  trx: Trx,
  workspaceId: WorkspaceId,
  writes: SegmentWrites,
): Promise<boolean> {
  const { executionId, segment, now, left, end } = writes
  const { numAffectedRows } = await sql`
    with live as (
      select id from executions where workspace_id = ${workspaceId} and id = ${executionId} and ${isFoundLive()} for no key update
    ),
    steps as (
      insert into execution_steps (execution_id, seq, segment, node_id, type, handle, why, at)
      select live.id, s.seq, ${segment}::int, s.node_id, s.type, s.handle, s.why,
        ${now}::timestamptz
      from live, jsonb_to_recordset(${JSON.stringify(writes.steps)}::jsonb)
        as s(seq int, node_id text, type text, handle text, why text)
      ${writes.isReleased ? inPlaceOfHeld : sql``}
    ),
    waits as (
      insert into event_waits (execution_id, segment, node_id, workspace_id, contact_id,
        event_name, filter, deadline, consumed_by, condition, path, watched, goals_reached, held_workflow_id, created_at)
      select live.id, ${segment}::int, w.node_id, w.workspace_id, w.contact_id,
        w.event_name, w.filter, w.deadline, w.consumed_by, w.condition, w.path, w.watched, w.goals_reached,
        w.held_workflow_id, ${now}::timestamptz
      from live, jsonb_to_recordset(${JSON.stringify(writes.waits)}::jsonb)
        as w(node_id text, workspace_id text, contact_id text, event_name text, filter jsonb,
          deadline timestamptz, consumed_by text, condition jsonb, path text, watched boolean, goals_reached text[],
          held_workflow_id text)
      on conflict (execution_id, segment, node_id) do update set consumed_by = excluded.consumed_by
    ),
    left_wait as (
      update execution_steps set handle = ${left?.handle ?? null}, why = coalesce(${left?.why ?? null}, why)
      from live where execution_id = ${executionId} and seq = ${left?.seq ?? -1}
    ),
    past_waits as (
      delete from event_waits using live
      where execution_id = ${executionId} and num_nulls(consumed_by) = 1
        and ${end ? sql`segment < ${segment}` : sql`segment = ${segment - 1} and ended_with is null`}
    ),
    ended as (
      ${end ? endOf(writes, end) : depthOf(executionId, writes.depth)}
    ),
    past_segment as (
      delete from execution_segments using live where execution_id = ${executionId} and segment = ${segment - SEGMENTS_KEPT}
    ),
    ${end ? sql`uncalled as (${forgetRequests(sql`select id from live`)}),` : sql``}
    cleared as (${cleared(sql`select id from live`)})
    insert into execution_segments (execution_id, segment, result, engine, created_at)
    select live.id, ${segment}::int, ${JSON.stringify(writes.result)}::jsonb, ${ENGINE}::smallint, ${now}::timestamptz
    from live
  `.execute(trx)
  return Number(numAffectedRows) > 0
}

/** The step at which it was held, with the same number, becomes what it did there. */
const inPlaceOfHeld = sql`on conflict (execution_id, seq) do update
        set segment = excluded.segment, handle = excluded.handle, why = excluded.why, at = excluded.at`

const depthOf = (id: string, depth: number | null) => sql`
      update executions set chain_depth = ${depth}::smallint from live where executions.id = ${id}
        and executions.chain_depth <> ${depth}::smallint`

/** What becomes of its mail later reads the depth of an execution that has ended. */
function endOf({ executionId, depth, now }: SegmentWrites, end: NonNullable<SegmentWrites['end']>) {
  const last = { stepId: sql<string>`${end.stepId}`, stepCount: sql<number>`${end.stepCount}` }
  return sql`update executions set ${endColumns(end, last, now)},
        chain_depth = coalesce(${depth}::smallint, chain_depth)
      from live where executions.id = ${executionId}`
}
