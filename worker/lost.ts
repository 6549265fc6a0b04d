// Finds what should run in Temporal by Postgres and does not: executions, checks of domains and schedules, page by page. It
// changes nothing.
import { setTimeout as delay } from 'node:timers/promises'
import { type Client, WorkflowNotFoundError } from '@temporalio/client'
import type { ClosedAs } from '../commands/executions/close.ts'
import type { Db } from '../db/connect.ts'
import { type CheckedDomain, listCheckedDomains } from '../db/domains/lost.ts'
import { type LivePosition, type LiveRow, listLiveRows } from '../db/executions/lost.ts'
import {
  type LiveSchedule,
  listLiveSchedules,
  type SchedulePosition,
} from '../db/schedules/reads.ts'
import { workflowIds } from '../rules/wire.ts'
import { inParallel } from '../runtime/parallel.ts'
import { describeNamespace, type Namespace } from './namespace.ts'
import { endOfRun } from './sweeper.ts'

/** Rows that are read, and runs that are asked for, for one page. */
const LOOKED_AT = 500
/** Questions that Temporal is asked at once. */
const ASKED_AT_ONCE = 16
/** Before what Temporal does not know is asked for once more. */
const SECOND_LOOK_MS = 3_000

export interface LookDeps {
  db: Db
  client: Client
  namespace: string
  stop: AbortSignal
  /** For tests. */
  secondLook_ms?: number
}

/** Where a walk goes on: through all live executions, then all domains that are checked, then all schedules with times left. */
export type WalkPosition =
  | { in: 'executions'; after: LivePosition | null }
  | { in: 'domains'; after: string }
  | { in: 'schedules'; after: SchedulePosition | null }

export const walkBegin: WalkPosition = { in: 'executions', after: null }

/** What was found on one page. */
export interface Look {
  /** Those that Temporal does not know, nor did some seconds before. */
  executions: LiveRow[]
  /** Domains whose checks do not run. */
  domains: CheckedDomain[]
  /** Schedules that no workflow function carries out. */
  schedules: LiveSchedule[]
  /** Executions whose run has ended and left the row open. */
  ended: { id: string; as: ClosedAs }[]
  /** null: the walk is over. */
  next: WalkPosition | null
}

/**
 * Looks at one page. What Temporal is still to be told is left out: it is about to know.
 * @param space the namespace as it was before; another one of that name would have lost everything
 * @throws if Temporal does not answer one of the questions: then nothing is known
 */
export function lookAt(deps: LookDeps, at: WalkPosition, space: Namespace): Promise<Look> {
  if (at.in === 'executions') return lookAtExecutions(deps, at.after, space)
  if (at.in === 'domains') return lookAtDomains(deps, at.after, space)
  return lookAtSchedules(deps, at.after, space)
}

async function lookAtExecutions(
  deps: LookDeps,
  after: LivePosition | null,
  space: Namespace,
): Promise<Look> {
  const rows = await listLiveRows(deps.db, after, LOOKED_AT)
  const last = rows.length === LOOKED_AT ? rows.at(-1) : undefined
  const next: WalkPosition = last
    ? {
        in: 'executions',
        after: { contact_id: last.contact_id, workflow_id: last.workflow_id, id: last.id },
      }
    : { in: 'domains', after: '' }
  const asked = rows.filter((row) => !row.is_queued)
  const found = await statusesOf(
    deps.client,
    asked.map(({ id }) => id),
  )
  const ended = asked.flatMap(({ id }) => {
    const as = endOfRun(found.get(id) ?? '')
    return as ? [{ id, as }] : []
  })
  const isLost = (status: string | null) => status === null
  const executions = await lookAgain(deps, asked, found, { idOf: ({ id }) => id, isLost, space })
  return { ...NOTHING, executions, ended, next }
}

async function lookAtDomains(deps: LookDeps, after: string, space: Namespace): Promise<Look> {
  const rows = await listCheckedDomains(deps.db, after, LOOKED_AT)
  const last = rows.length === LOOKED_AT ? rows.at(-1) : undefined
  const idOf = ({ id }: CheckedDomain) => workflowIds.domain(id)
  const asked = rows.filter((row) => !row.is_queued)
  const found = await statusesOf(deps.client, asked.map(idOf))
  const domains = await lookAgain(deps, asked, found, { idOf, isLost: isOver, space })
  const next: WalkPosition = last
    ? { in: 'domains', after: last.id }
    : { in: 'schedules', after: null }
  return { ...NOTHING, domains, next }
}

async function lookAtSchedules(
  deps: LookDeps,
  after: SchedulePosition | null,
  space: Namespace,
): Promise<Look> {
  const rows = await listLiveSchedules(deps.db, after, LOOKED_AT)
  const last = rows.length === LOOKED_AT ? rows.at(-1) : undefined
  const idOf = ({ workflow_id, node_id }: LiveSchedule) =>
    workflowIds.schedule(workflow_id, node_id)
  const asked = rows.filter((row) => !row.is_queued)
  const found = await statusesOf(deps.client, asked.map(idOf))
  const schedules = await lookAgain(deps, asked, found, { idOf, isLost: isOver, space })
  const next: WalkPosition | null = last
    ? { in: 'schedules', after: { workflow_id: last.workflow_id, node_id: last.node_id } }
    : null
  return { ...NOTHING, schedules, next }
}

const NOTHING = { executions: [], domains: [], schedules: [], ended: [] } satisfies Partial<Look>

/** What somebody has terminated goes on, as a lane does. */
const isOver = (status: string | null): boolean => status === null || endOfRun(status) !== undefined

/** Of these rows those whose run is lost by the first look, and by a second one. */
async function lookAgain<R>(
  deps: LookDeps,
  rows: readonly R[],
  found: ReadonlyMap<string, string | null>,
  by: { idOf: (row: R) => string; isLost: (status: string | null) => boolean; space: Namespace },
): Promise<R[]> {
  const { idOf, isLost, space } = by
  const isLostIn = (seen: ReadonlyMap<string, string | null>) => (row: R) => {
    const status = seen.get(idOf(row))
    return status !== undefined && isLost(status)
  }
  const missing = rows.filter(isLostIn(found))
  if (missing.length === 0) return []
  await delay(deps.secondLook_ms ?? SECOND_LOOK_MS, null, { signal: deps.stop })
  const again = await statusesOf(deps.client, missing.map(idOf))
  // A namespace that is away or is another one by now says nothing about what it should hold.
  const now = await describeNamespace(deps.client, deps.namespace)
  if (now.id !== space.id) throw new Error('the namespace was replaced while it was looked at')
  return missing.filter(isLostIn(again))
}

/** The state of the latest run of each, by the client's names; null: Temporal does not know it. */
async function statusesOf(
  client: Client,
  ids: readonly string[],
): Promise<Map<string, string | null>> {
  const statuses = await inParallel(ids, ASKED_AT_ONCE, async (id) => {
    try {
      const { status } = await client.workflow.getHandle(id).describe()
      return status.name
    } catch (err) {
      // A missing namespace is an error of another kind.
      if (err instanceof WorkflowNotFoundError) return null
      throw err
    }
  })
  return new Map(ids.map((id, i) => [id, statuses[i] ?? null]))
}
