// Lists executions across the places that know them: Postgres for those just decided, Temporal's visibility for
// those that live or were ended from outside, and Postgres for those that have ended.
import {
  type ExecutionRow,
  findExecutionsByIds,
  findOldestPendingStart,
  type ListedBy,
  listEndedExecutions,
  listLiveSince,
  type TimePosition,
} from '../../db/executionReads.ts'
import { limits } from '../../domain/limits.ts'
import type { ExecutionStatus } from '../../domain/states.ts'
import type { ApiDeps } from '../deps.ts'
import { type ExecutionListItem, toExecutionListItem } from '../schemas/executions.ts'

/** Visibility shows a start after some 60 ms; executions younger than this are read from their rows. */
const RECENT_MS = 10_000
/** A row that Temporal ended from outside is closed by a sweep each 30 s; a worker may be away for longer. */
const OUTSIDE_MS = 24 * 60 * 60 * 1000

/** A position in the list, as its cursor carries it. `since_ms` keeps what "recent" means while a list is paged. */
export type ExecutionsPosition =
  | { phase: 'recent'; since_ms: number; after: TimePosition | null }
  | { phase: 'temporal'; since_ms: number; token: string | null }
  | { phase: 'ended'; after: TimePosition | null }

export interface Listing {
  workspaceId: string
  by: ListedBy
  status: ExecutionStatus | null
}

type Deps = Pick<ApiDeps, 'db' | 'temporal' | 'now'>
type Part = { items: ExecutionListItem[]; next: ExecutionsPosition | null }

/**
 * A page of at most fifty, filled across the places, and where the next one begins: null when nothing follows.
 * Running first, then by end, newest first. @throws TemporalUnavailable
 */
export async function listExecutions(
  deps: Deps,
  listing: Listing,
  from: ExecutionsPosition | null,
): Promise<{ executions: ExecutionListItem[]; next: ExecutionsPosition | null }> {
  const executions: ExecutionListItem[] = []
  let next = from ?? (await firstPosition(deps, listing))
  while (next && executions.length < limits.pageSize) {
    const part = await readPart(deps, listing, next, limits.pageSize - executions.length)
    executions.push(...part.items)
    next = part.next
  }
  // The last page says so: whether anything follows is looked up.
  for (let ahead = next; ahead; ) {
    const part = await readPart(deps, listing, ahead, 1)
    if (part.items.length > 0) return { executions, next }
    ahead = part.next
  }
  return { executions, next: null }
}

async function firstPosition(
  { db, now }: Deps,
  { workspaceId, by }: Listing,
): Promise<ExecutionsPosition | null> {
  const pending = await findOldestPendingStart(db, workspaceId, by)
  const recent_ms = now().getTime() - RECENT_MS
  const since_ms = Math.min(recent_ms, pending?.getTime() ?? recent_ms)
  return { phase: 'recent', since_ms, after: null }
}

function readPart(
  deps: Deps,
  listing: Listing,
  position: ExecutionsPosition,
  size: number,
): Promise<Part> {
  switch (position.phase) {
    case 'recent':
      return readRecent(deps, listing, position, size)
    case 'temporal':
      return readTemporal(deps, listing, position, size)
    case 'ended':
      return readEnded(deps, listing, position, size)
  }
}

const fits = ({ status }: Listing) => {
  return (item: ExecutionListItem) => status === null || item.status === status
}

async function readRecent(
  { db, temporal }: Deps,
  listing: Listing,
  { since_ms, after }: Extract<ExecutionsPosition, { phase: 'recent' }>,
  size: number,
): Promise<Part> {
  const next: ExecutionsPosition = { phase: 'temporal', since_ms, token: null }
  if (listing.status === 'COMPLETED') return { items: [], next }
  const page = { since: new Date(since_ms), after, limit: size }
  const rows = await listLiveSince(db, listing.workspaceId, listing.by, page)
  const items = await Promise.all(
    rows.map(async (row) => toExecutionListItem(row, await temporal.describe(row.id))),
  )
  const last = rows.at(-1)
  const follows = last && rows.length === size
  const position = last && { at_ms: last.created_at.getTime(), id: last.id }
  return {
    items: items.filter(fits(listing)),
    next: follows && position ? { phase: 'recent', since_ms, after: position } : next,
  }
}

async function readTemporal(
  { db, temporal, now }: Deps,
  listing: Listing,
  { since_ms, token }: Extract<ExecutionsPosition, { phase: 'temporal' }>,
  size: number,
): Promise<Part> {
  const { workspaceId, by, status } = listing
  const ended: ExecutionsPosition = { phase: 'ended', after: null }
  if (status === 'COMPLETED') return { items: [], next: ended }
  const endedSince = new Date(now().getTime() - OUTSIDE_MS)
  const page = await temporal.list(workspaceId, by, { status, endedSince }, { size, token })
  const ids = page.executions.map((execution) => execution.executionId)
  const rows = await findExecutionsByIds(db, workspaceId, ids)
  const isHere = (row: ExecutionRow) =>
    row.ended_status === null && row.created_at.getTime() < since_ms
  const items = page.executions.flatMap((execution) => {
    const row = rows.get(execution.executionId)
    return row && isHere(row) ? [toExecutionListItem(row, execution)] : []
  })
  return {
    items: items.filter(fits(listing)),
    next: page.nextPageToken ? { phase: 'temporal', since_ms, token: page.nextPageToken } : ended,
  }
}

async function readEnded(
  { db }: Deps,
  { workspaceId, by, status }: Listing,
  { after }: Extract<ExecutionsPosition, { phase: 'ended' }>,
  size: number,
): Promise<Part> {
  if (status === 'IN_PROGRESS' || status === 'WAITING') return { items: [], next: null }
  const rows = await listEndedExecutions(db, workspaceId, by, { status, after, limit: size })
  const last = rows.at(-1)
  return {
    items: rows.map((row) => toExecutionListItem(row, undefined)),
    next:
      last?.completed_at && rows.length === size
        ? { phase: 'ended', after: { at_ms: last.completed_at.getTime(), id: last.id } }
        : null,
  }
}
