// Reads one page of executions from three sources: recently started ones, those that Temporal runs, and ended
// ones.

import {
  type ExecutionRow,
  findExecutionsByIds,
  findOldestPendingStart,
  type ListedBy,
  listEndedExecutions,
  listLiveSince,
  type TimePosition,
} from '../../db/executions/reads.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { limits } from '../../rules/limits.ts'
import type { ExecutionStatus } from '../../rules/states.ts'
import type { CursorScope } from '../http/cursor.ts'
import type { ApiDeps } from '../http/env.ts'
import { type ExecutionListItem, toExecutionListItem } from './schemas.ts'

/**
 * Temporal's visibility lags behind by about 60 ms. Executions that started within this time, or since the oldest
 * start that is still in the outbox, are read from Postgres and described one by one. Visibility has the older
 * ones.
 */
const VISIBILITY_TRAILS_MS = 5_000
/**
 * How long executions that were ended in the Web UI are listed from Temporal. By then the sweeper has closed their
 * rows.
 */
const ENDED_OUTSIDE_MS = 24 * 60 * 60 * 1000
/**
 * The most reads for one page, in case a source has only executions that are not shown. The page is short then.
 */
const READS_MAX = 20
const PEEK_ROWS = 10

/**
 * Where a list goes on. `since` separates recently started executions from the others and stays the same for all
 * pages.
 */
type Position =
  | { in: 'recent'; since: number; after: TimePosition | null }
  | { in: 'temporal'; since: number; token: string | null }
  | { in: 'ended'; after: TimePosition | null }

interface Page {
  items: ExecutionListItem[]
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
 * The page at `cursor`: running executions first, then ended ones, newest first. An execution that ends while a
 * client pages may be shown again among the ended ones; none is skipped.
 * @throws ApiError 400 `invalid_cursor`; TemporalUnavailable
 */
export async function readExecutionPage(
  deps: Deps,
  query: Query,
  given: { scope: CursorScope; cursor: string | undefined },
): Promise<{ executions: ExecutionListItem[]; count: number; cursor: string | null }> {
  let position: Position | null =
    deps.cursors.open<Position>(given.scope, given.cursor) ?? (await startOf(deps, query))
  const executions: ExecutionListItem[] = []
  let reads = 0
  while (position && executions.length < limits.pageSize && reads < READS_MAX) {
    const page: Page = await readAt(deps, query, position, limits.pageSize - executions.length)
    executions.push(...page.items)
    position = page.next
    reads += 1
  }
  // A source may have no further row. Reading goes on, so that the cursor is null exactly if nothing follows.
  while (position && !isSure(position) && reads < READS_MAX) {
    const page: Page = await readAt(deps, query, position, PEEK_ROWS)
    if (page.items.length > 0) break
    position = page.next
    reads += 1
  }
  const cursor = position && deps.cursors.seal(given.scope, position)
  return { executions, count: executions.length, cursor }
}

/** The list of ended executions reads one row ahead, so a position inside it has a row after it. */
const isSure = (position: Position): boolean => position.in === 'ended' && position.after !== null

const ended: Position = { in: 'ended', after: null }

async function startOf({ db, now }: Deps, { workspaceId, by, status }: Query): Promise<Position> {
  if (status === 'COMPLETED') return ended
  const trailing = now().getTime() - VISIBILITY_TRAILS_MS
  if (status === 'FAILED' || status === 'CANCELLED') {
    return { in: 'temporal', since: trailing, token: null }
  }
  const pending = await findOldestPendingStart(db, workspaceId, by)
  const since = Math.min(trailing, pending?.getTime() ?? trailing)
  return { in: 'recent', since, after: null }
}

function readAt(deps: Deps, query: Query, position: Position, size: number): Promise<Page> {
  switch (position.in) {
    case 'recent':
      return readRecent(deps, query, position, size)
    case 'temporal':
      return readTemporal(deps, query, position, size)
    case 'ended':
      return readEnded(deps, query, position, size)
  }
}

async function readRecent(
  { db, temporal }: Deps,
  { workspaceId, by, status }: Query,
  { since, after }: Extract<Position, { in: 'recent' }>,
  size: number,
): Promise<Page> {
  // One that waits has a segment. Those whose start is in the outbox have none, and there may be very many of them.
  const begun = status === 'WAITING'
  const page = { since: new Date(since), after, begun, limit: size }
  const rows = await listLiveSince(db, workspaceId, by, page)
  const described = await Promise.all(rows.map((row) => temporal.describe(row.id)))
  const items = rows.flatMap((row, i) => {
    const live = described[i]
    // It ended after the row was read, or from outside: another source shows it.
    if (live && live.closedAt !== null) return []
    const item = toExecutionListItem(row, live)
    return status === null || item.status === status ? [item] : []
  })
  const last = rows.length === size ? rows.at(-1) : undefined
  const next: Position = last
    ? { in: 'recent', since, after: { at_ms: last.created_at.getTime(), id: last.id } }
    : { in: 'temporal', since, token: null }
  return { items, next }
}

async function readTemporal(
  { db, temporal }: Deps,
  { workspaceId, by, status }: Query,
  { since, token }: Extract<Position, { in: 'temporal' }>,
  size: number,
): Promise<Page> {
  const after = status === 'IN_PROGRESS' || status === 'WAITING' ? null : ended
  if (status === 'COMPLETED') return { items: [], next: after }
  const filter = { status, endedSince: new Date(since - ENDED_OUTSIDE_MS) }
  const page = await temporal.list(workspaceId, by, filter, { size, token })
  const ids = page.executions.map((execution) => execution.executionId)
  const rows = await findExecutionsByIds(db, workspaceId, ids)
  const items = page.executions.flatMap((live) => {
    const row = rows.get(live.executionId)
    // An execution has ended when Postgres says so, even before Temporal has closed it.
    if (!row || row.ended_status) return []
    const wasShown = live.closedAt === null && row.created_at.getTime() >= since
    return wasShown ? [] : [toExecutionListItem(row, live)]
  })
  const next: Position | null =
    page.nextPageToken === null ? after : { in: 'temporal', since, token: page.nextPageToken }
  return { items, next }
}

async function readEnded(
  { db }: Deps,
  { workspaceId, by, status }: Query,
  { after }: Extract<Position, { in: 'ended' }>,
  size: number,
): Promise<Page> {
  if (status === 'IN_PROGRESS' || status === 'WAITING') return { items: [], next: null }
  const page = { status, after, limit: size + 1 }
  const found = await listEndedExecutions(db, workspaceId, by, page)
  const rows = found.slice(0, size)
  const last = found.length > size ? rows.at(-1) : undefined
  return {
    items: rows.map((row) => toExecutionListItem(row, undefined)),
    next: last ? { in: 'ended', after: toPosition(last) } : null,
  }
}

function toPosition(row: ExecutionRow): TimePosition {
  return { at_ms: row.completed_at?.getTime() ?? 0, id: row.id }
}
