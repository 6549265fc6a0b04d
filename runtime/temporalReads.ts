// Reads executions from Temporal: one by describe (always current), many by visibility (pages, slightly behind).
import { type Connection, defaultPayloadConverter, isGrpcServiceError } from '@temporalio/client'
import proto, { type temporal } from '@temporalio/proto'
import type { ExecutionStatus } from '../rules/states.ts'
import { memoKey, searchAttributes, workflowTypes } from '../rules/wire.ts'
import { type ExecutionMemo, NO_DEADLINE_MS } from '../workflows/messages.ts'

/** Temporal did not answer; the caller may try again. */
export class TemporalUnavailable extends Error {}

/** What Temporal knows of one execution. */
export interface TemporalExecution {
  executionId: string
  status: ExecutionStatus
  /** True if it was terminated in the Web UI: its row in Postgres may not be closed yet. */
  terminated: boolean
  memo: ExecutionMemo | null
  /** ms; null if it does not wait, or waits without a deadline. */
  waitUntil: number | null
  /** ms; null while it runs. */
  closedAt: number | null
}

type ListBy = { workflowId: string } | { contactId: string }

/** Executions that were ended from outside, at the latest at `until`: the latest end first. */
interface EndedOutside {
  status: 'FAILED' | 'CANCELLED'
  since: Date
  /** null: any time. */
  until: Date | null
  size: number
}

export interface TemporalReads {
  /** Whose executions these are: what workers know of it is kept by this name. */
  namespace: string
  /** undefined when Temporal has no such execution. */
  describe(executionId: string): Promise<TemporalExecution | undefined>
  /** Those of some executions of a workspace that visibility shows running; it is slightly behind. */
  listRunning(
    workspaceId: string,
    executionIds: readonly string[],
  ): Promise<Map<string, TemporalExecution>>
  /** Runs that ended otherwise than by themselves. The workspace is part of every query. */
  listEndedOutside(
    workspaceId: string,
    by: ListBy,
    ended: EndedOutside,
  ): Promise<TemporalExecution[]>
  check(): Promise<void>
}

const DEADLINE_MS = 3_000

const { WorkflowExecutionStatus } = proto.temporal.api.enums.v1
type Info = temporal.api.workflow.v1.IWorkflowExecutionInfo

const closedStatuses = new Map<number, ExecutionStatus>([
  [WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_COMPLETED, 'COMPLETED'],
  [WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_FAILED, 'FAILED'],
  [WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_TIMED_OUT, 'FAILED'],
  [WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_CANCELED, 'CANCELLED'],
  [WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_TERMINATED, 'CANCELLED'],
])

/** By the names that queries have. */
const endsOutside = { FAILED: ['TimedOut', 'Failed'], CANCELLED: ['Terminated'] } as const

/** What Temporal gives in one answer. */
const ANSWER_MAX = 1_000

/** Only generated ids may go into a query, because literals of Temporal's queries cannot be escaped reliably. */
function literal(id: string): string {
  if (!/^[a-z]+_[0-9A-Z]{26}$/.test(id)) throw new Error('not an id')
  return `'${id}'`
}

/** One that has continued as new has many runs, of which one runs. */
const runningParts = (ids: readonly string[]) => [
  `WorkflowId IN (${ids.map(literal).join(', ')})`,
  `ExecutionStatus = 'Running'`,
]

function endedParts(by: ListBy, { status, since, until }: EndedOutside): string[] {
  const owner =
    'workflowId' in by
      ? `${searchAttributes.workflow} = ${literal(by.workflowId)}`
      : `${searchAttributes.contact} = ${literal(by.contactId)}`
  const names = endsOutside[status].map((name) => `'${name}'`).join(', ')
  // Temporal counts nanoseconds.
  const before = until && new Date(until.getTime() + 1).toISOString()
  return [
    owner,
    `ExecutionStatus IN (${names})`,
    `CloseTime > '${since.toISOString()}'`,
    ...(before ? [`CloseTime < '${before}'`] : []),
  ]
}

/**
 * Reads executions of one namespace over an open connection, each call with a deadline.
 * Its methods throw `TemporalUnavailable` when Temporal does not answer.
 */
export function createTemporalReads(connection: Connection, namespace: string): TemporalReads {
  const service = connection.workflowService
  const ask = async (workspaceId: string, parts: string[], pageSize: number) => {
    const ofWorkspace = `${searchAttributes.workspace} = ${literal(workspaceId)}`
    const type = `WorkflowType = '${workflowTypes.runExecution}'`
    const query = [type, ofWorkspace, ...parts].join(' AND ')
    const { executions } = await call(() =>
      service.listWorkflowExecutions({ namespace, query, pageSize }),
    )
    return executions.map(toExecution)
  }
  const call = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await connection.withDeadline(Date.now() + DEADLINE_MS, work)
    } catch (err) {
      if (isUnknownExecution(err)) throw err
      throw new TemporalUnavailable('Temporal did not answer', { cause: err })
    }
  }

  return {
    namespace,

    async describe(executionId) {
      try {
        const described = await call(() =>
          service.describeWorkflowExecution({ namespace, execution: { workflowId: executionId } }),
        )
        return described.workflowExecutionInfo
          ? toExecution(described.workflowExecutionInfo)
          : undefined
      } catch (err) {
        if (isUnknownExecution(err)) return undefined
        throw err
      }
    },

    async listRunning(workspaceId, executionIds) {
      const found = new Map<string, TemporalExecution>()
      for (let first = 0; first < executionIds.length; first += ANSWER_MAX) {
        const ids = executionIds.slice(first, first + ANSWER_MAX)
        for (const one of await ask(workspaceId, runningParts(ids), ids.length)) {
          found.set(one.executionId, one)
        }
      }
      return found
    },

    listEndedOutside: (workspaceId, by, ended) =>
      ask(workspaceId, endedParts(by, ended), ended.size),

    async check() {
      await call(() => service.getSystemInfo({}))
    },
  }
}

const GRPC_NOT_FOUND = 5

/**
 * True if Temporal has no such execution. A missing namespace gives the same code, and is a fault of the server.
 */
function isUnknownExecution(err: unknown): boolean {
  return (
    isGrpcServiceError(err) && err.code === GRPC_NOT_FOUND && !/namespace/i.test(err.details ?? '')
  )
}

function toExecution(info: Info): TemporalExecution {
  const { WORKFLOW_EXECUTION_STATUS_TERMINATED } = WorkflowExecutionStatus
  const waitPayload = info.searchAttributes?.indexedFields?.[searchAttributes.waitUntil]
  const waitText = waitPayload ? JSON.parse(Buffer.from(waitPayload.data ?? []).toString()) : null
  const waitMs = typeof waitText === 'string' ? Date.parse(waitText) : null
  const memoPayload = info.memo?.fields?.[memoKey]
  return {
    executionId: info.execution?.workflowId ?? '',
    status: closedStatuses.get(info.status ?? 0) ?? (waitMs === null ? 'IN_PROGRESS' : 'WAITING'),
    terminated: info.status === WORKFLOW_EXECUTION_STATUS_TERMINATED,
    memo: memoPayload ? defaultPayloadConverter.fromPayload<ExecutionMemo>(memoPayload) : null,
    waitUntil: waitMs === null || waitMs >= NO_DEADLINE_MS ? null : waitMs,
    closedAt: info.closeTime ? toMs(info.closeTime) : null,
  }
}

function toMs(time: { seconds?: unknown; nanos?: number | null }): number {
  return Number(time.seconds ?? 0) * 1000 + Math.floor((time.nanos ?? 0) / 1e6)
}
