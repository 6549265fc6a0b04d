// Reads one page of executions: Postgres has which there are and in what order, Temporal where each of those is that have not
// ended.

import {
  type ExecutionRow,
  findExecutionsByIds,
  type ListedBy,
  type LiveExecutionRow,
  listEndedExecutions,
  listLiveExecutions,
  type TimePosition,
} from '../../db/executions/reads.ts'
import { findNamespace } from '../../db/namespaces/reads.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { limits } from '../../rules/limits.ts'
import type { ExecutionStatus } from '../../rules/states.ts'
import { inParallel } from '../../runtime/parallel.ts'
import type { TemporalExecution } from '../../runtime/temporalReads.ts'
import type { CursorScope } from '../http/cursor.ts'
import type { ApiDeps } from '../http/env.ts'
import { invalidCursor } from '../http/errors.ts'
import { type ExecutionListItem, toExecutionListItem } from './schemas.ts'

/** Temporal's visibility lags behind by about 60 ms. Executions that began within this time are described one by one. */
const VISIBILITY_TRAILS_MS = 5_000
/** Reads for one page. Where few executions have the status that is asked for it may then be short, with a cursor. */
const READS_MAX = 10
/** Rows of a read that looks for a status which few have. */
const SOUGHT_ROWS = 500
/** Executions of a read that are described one by one, and how many at once. */
const DESCRIBED_MAX = 100
const DESCRIBED_AT_ONCE = 16
/** Executions of a read that were ended from outside. */
const OUTSIDE_ROWS = 200
/** How long before the last sweep executions may have ended that are not closed yet. */
const UNSWEPT_MS = 10 * 60 * 1000

/**
 * Where a list goes on: among those that have not ended, among those that were ended in Temporal alone and whose rows the next
 * sweep closes, or among those that have ended.
 */
type Position =
  | { in: 'live'; after: TimePosition | null }
  | { in: 'outside'; after: TimePosition | null }
  | { in: 'ended'; after: TimePosition | null }

interface Found {
  item: ExecutionListItem
  /** The position behind it. */
  at: Position
}

interface Page {
  found: Found[]
  /** null: this is the last page. */
  next: Position | null
}

type Deps = Pick<ApiDeps, 'db' | 'temporal' | 'now' | 'cursors'>

interface Query {
  workspaceId: WorkspaceId
  by: ListedBy
  status: ExecutionStatus | null
}

/**
 * The page at `cursor`: first executions that have not ended, the newest first, then those that have, the latest end first. An
 * execution that ends while a client pages may be shown again among the ended ones; none is skipped, since a position is that of
 * a row and not of a page of Temporal's.
 * @throws ApiError 400 `invalid_cursor`; TemporalUnavailable
 */
export async function readExecutionPage(
  deps: Deps,
  query: Query,
  given: { scope: CursorScope; cursor: string | undefined },
): Promise<{ executions: ExecutionListItem[]; count: number; cursor: string | null }> {
  let position: Position | null = open(deps, given) ?? startOf(query)
  const found: Found[] = []
  // One more than is shown, so that the cursor is null exactly if nothing follows.
  for (let reads = 0; position && found.length <= limits.pageSize && reads < READS_MAX; reads++) {
    const page: Page = await readAt(deps, query, position, limits.pageSize + 1 - found.length)
    found.push(...page.found)
    position = page.next
  }
  const shown = found.slice(0, limits.pageSize)
  if (found.length > shown.length) position = shown.at(-1)?.at ?? position
  const cursor = position && deps.cursors.seal(given.scope, position)
  return { executions: shown.map(({ item }) => item), count: shown.length, cursor }
}

/** A cursor of the release before may stand at a page of Temporal's, which says nothing any more. */
function open(
  { cursors }: Deps,
  { scope, cursor }: { scope: CursorScope; cursor: string | undefined },
): Position | null {
  const position = cursors.open<Position>(scope, cursor)
  if (position && !['live', 'outside', 'ended'].includes(position.in)) {
    throw invalidCursor(cursor ?? '')
  }
  return position
}

function startOf({ status }: Query): Position {
  if (status === 'COMPLETED') return { in: 'ended', after: null }
  // Those of other workflows or contacts that were ended from outside are not looked for one by one.
  if (status === 'FAILED' || status === 'CANCELLED') return { in: 'outside', after: null }
  return { in: 'live', after: null }
}

function readAt(deps: Deps, query: Query, { in: where, after }: Position, most: number) {
  switch (where) {
    case 'live':
      return readLive(deps, query, after, most)
    case 'outside':
      return readOutside(deps, query, after)
    case 'ended':
      return readEnded(deps, query, after, most)
  }
}

async function readLive(
  deps: Deps,
  query: Query,
  after: TimePosition | null,
  most: number,
): Promise<Page> {
  const { workspaceId, by, status } = query
  const limit = status === 'IN_PROGRESS' ? SOUGHT_ROWS : most
  // One that waits has a segment. Those whose start is in the outbox have none, and there may be very many of them.
  const begun = status === 'WAITING'
  const rows = await listLiveExecutions(deps.db, workspaceId, by, { after, begun, limit })
  const { seen, isGone, states } = await statesOf(deps, workspaceId, rows)
  const at = (row: ExecutionRow): Position => ({ in: 'live', after: positionOf(row, 'created_at') })
  const found = seen.flatMap((row) => {
    const item = toExecutionListItem(row, states.get(row.id))
    const isSought = status === null || item.status === status
    return isSought && !isGone(row) ? [{ item, at: at(row) }] : []
  })
  const last = seen.at(-1)
  if (last && (rows.length === limit || seen.length < rows.length)) return { found, next: at(last) }
  return { found, next: status === null ? { in: 'ended', after: null } : null }
}

interface States {
  /** The rows whose state is known: all, or the first of them. */
  seen: LiveExecutionRow[]
  /** Whether it has ended since it was read: it is shown among the ended ones. */
  isGone: (row: LiveExecutionRow) => boolean
  /** Without an entry it has not begun in Temporal. */
  states: Map<string, TemporalExecution>
}

/** Asks visibility for all of them at once, and for each that it does not show, or may not show as it is now, Temporal itself. */
async function statesOf(
  { db, temporal, now }: Deps,
  workspaceId: WorkspaceId,
  rows: LiveExecutionRow[],
): Promise<States> {
  const since = now().getTime() - VISIBILITY_TRAILS_MS
  const asked = rows.filter((row) => !row.is_pending)
  const old = asked.filter((row) => row.created_at.getTime() < since).map(({ id }) => id)
  const states = old.length > 0 ? await temporal.listRunning(workspaceId, old) : new Map()
  const unseen = asked.filter(({ id }) => !states.has(id))
  const described = unseen.slice(0, DESCRIBED_MAX)
  const beyond = unseen[DESCRIBED_MAX]
  const seen = beyond ? rows.slice(0, rows.indexOf(beyond)) : rows
  const closed: string[] = []
  await inParallel(described, DESCRIBED_AT_ONCE, async ({ id }) => {
    const state = await temporal.describe(id)
    if (state) states.set(id, state)
    if (state && state.closedAt !== null) closed.push(id)
  })
  const latest = await findExecutionsByIds(db, workspaceId, closed)
  return { seen, isGone: ({ id }) => (latest.get(id)?.ended_status ?? null) !== null, states }
}

async function readOutside(
  { db, temporal }: Deps,
  { workspaceId, by, status }: Query,
  after: TimePosition | null,
): Promise<Page> {
  const ended: Position = { in: 'ended', after: null }
  if (status !== 'FAILED' && status !== 'CANCELLED') return { found: [], next: ended }
  const swept = (await findNamespace(db, temporal.namespace))?.swept_until?.getTime()
  const since = new Date(swept === undefined ? 0 : swept - UNSWEPT_MS)
  const until = after && new Date(after.at_ms)
  const filter = { status, since, until, size: OUTSIDE_ROWS }
  const listed = await temporal.listEndedOutside(workspaceId, by, filter)
  const { page, next } = cut(
    listed.map(({ executionId, closedAt }) => ({ id: executionId, at_ms: closedAt ?? 0 })),
  )
  const ids = page.filter((one) => after === null || isBeyond(one, after)).map(({ id }) => id)
  const rows = await findExecutionsByIds(db, workspaceId, [...new Set(ids)])
  const open = ids.flatMap((id) => rows.get(id) ?? []).filter((row) => !row.ended_status)
  // Only its latest run says how it is: one that was reset runs on.
  const states = await inParallel(open, DESCRIBED_AT_ONCE, ({ id }) => temporal.describe(id))
  const found = open.flatMap((row, i) => {
    const item = toExecutionListItem(row, states[i])
    const at_ms = states[i]?.closedAt ?? 0
    if (item.status !== status) return []
    return [{ item, at: { in: 'outside', after: { at_ms, id: row.id } } satisfies Position }]
  })
  return { found, next: next ? { in: 'outside', after: next } : ended }
}

/** A position is a time and an id, so a page ends between two times, unless all of it is of one. */
function cut(listed: TimePosition[]): { page: TimePosition[]; next: TimePosition | null } {
  const sorted = listed.toSorted((a, b) => (isBeyond(b, a) ? -1 : 1))
  const last = sorted.at(-1)
  if (!last || sorted.length < OUTSIDE_ROWS) return { page: sorted, next: null }
  const whole = sorted.filter(({ at_ms }) => at_ms > last.at_ms)
  const page = whole.length > 0 ? whole : sorted
  return { page, next: page.at(-1) ?? null }
}

const isBeyond = (one: TimePosition, after: TimePosition) =>
  one.at_ms < after.at_ms || (one.at_ms === after.at_ms && one.id < after.id)

async function readEnded(
  { db }: Deps,
  { workspaceId, by, status }: Query,
  after: TimePosition | null,
  limit: number,
): Promise<Page> {
  if (status === 'IN_PROGRESS' || status === 'WAITING') return { found: [], next: null }
  const rows = await listEndedExecutions(db, workspaceId, by, { status, after, limit })
  const at = (row: ExecutionRow): Position => ({
    in: 'ended',
    after: positionOf(row, 'completed_at'),
  })
  const last = rows.length === limit ? rows.at(-1) : undefined
  return {
    found: rows.map((row) => ({ item: toExecutionListItem(row, undefined), at: at(row) })),
    next: last ? at(last) : null,
  }
}

const positionOf = (row: ExecutionRow, time: 'created_at' | 'completed_at'): TimePosition => ({
  at_ms: row[time]?.getTime() ?? 0,
  id: row.id,
})
