// Reads executions from Temporal: one by describe (strongly consistent), many by visibility with its page token.
import { type Connection, defaultPayloadConverter, isGrpcServiceError } from '@temporalio/client'
import { temporal } from '@temporalio/proto'
import type { ExecutionStatus } from '../domain/states.ts'
import {
  type ExecutionMemo,
  MEMO_KEY,
  NO_DEADLINE_MS,
  runExecutionName,
  searchAttributes,
} from '../workflows/messages.ts'

/** Temporal did not answer; the caller may try again. */
export class TemporalUnavailable extends Error {}

/** What Temporal knows of one execution. */
export interface TemporalExecution {
  executionId: string
  status: ExecutionStatus
  /** True when it was ended from outside (Web UI): its row does not know yet. */
  terminated: boolean
  memo: ExecutionMemo | null
  /** ms; null when it does not wait or waits without end. */
  waitUntil: number | null
  /** ms; null while it runs. */
  closedAt: number | null
}

export interface TemporalPage {
  executions: TemporalExecution[]
  /** base64; null on the last page. */
  nextPageToken: string | null
}

export type ListBy = { workflowId: string } | { contactId: string }

export interface TemporalReads {
  /** undefined when Temporal has no such execution. */
  describe(executionId: string): Promise<TemporalExecution | undefined>
  /** Running first, then by close time, newest first; the workspace is part of every query. */
  list(
    workspaceId: string,
    by: ListBy,
    page: { status: ExecutionStatus | null; size: number; token: string | null },
  ): Promise<TemporalPage>
  /** Those of the ids (at most 200) that Temporal still holds. */
  held(executionIds: string[]): Promise<Set<string>>
  check(): Promise<void>
}

const DEADLINE_MS = 5_000

const { WorkflowExecutionStatus } = temporal.api.enums.v1
type Info = temporal.api.workflow.v1.IWorkflowExecutionInfo

const closedStatuses = new Map<number, ExecutionStatus>([
  [WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_COMPLETED, 'COMPLETED'],
  [WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_FAILED, 'FAILED'],
  [WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_TIMED_OUT, 'FAILED'],
  [WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_CANCELED, 'CANCELLED'],
  [WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_TERMINATED, 'CANCELLED'],
])

const queryOfStatus: Record<ExecutionStatus, string> = {
  IN_PROGRESS: `ExecutionStatus = 'Running' AND ${searchAttributes.waitUntil} IS NULL`,
  WAITING: `ExecutionStatus = 'Running' AND ${searchAttributes.waitUntil} IS NOT NULL`,
  COMPLETED: `ExecutionStatus = 'Completed'`,
  FAILED: `ExecutionStatus IN ('Failed', 'TimedOut')`,
  CANCELLED: `ExecutionStatus IN ('Canceled', 'Terminated')`,
}

/** Only generated ids may enter a query: Temporal's literals cannot be escaped reliably. */
function literal(id: string): string {
  if (!/^[a-z]+_[0-9A-Z]{26}$/.test(id)) throw new Error('not an id')
  return `'${id}'`
}

export function createTemporalReads(connection: Connection, namespace: string): TemporalReads {
  const service = connection.workflowService
  const call = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await connection.withDeadline(Date.now() + DEADLINE_MS, work)
    } catch (err) {
      throw isRefusal(err)
        ? err
        : new TemporalUnavailable('Temporal did not answer', { cause: err })
    }
  }
  const listPage = async (query: string, size: number, token: Uint8Array | null) =>
    call(() =>
      service.listWorkflowExecutions({
        namespace,
        query,
        pageSize: size,
        ...(token ? { nextPageToken: token } : {}),
      }),
    )
  /** A full last page still has a token: one row is looked at to tell. */
  const hasMore = async (query: string, token: Uint8Array) =>
    (await listPage(query, 1, token)).executions.length > 0

  return {
    async describe(executionId) {
      try {
        const described = await call(() =>
          service.describeWorkflowExecution({ namespace, execution: { workflowId: executionId } }),
        )
        return described.workflowExecutionInfo
          ? toExecution(described.workflowExecutionInfo)
          : undefined
      } catch (err) {
        if (isGrpcServiceError(err) && err.code === GRPC_NOT_FOUND) return undefined
        throw err
      }
    },

    async list(workspaceId, by, { status, size, token }) {
      const [name, id] =
        'workflowId' in by
          ? [searchAttributes.workflow, by.workflowId]
          : [searchAttributes.contact, by.contactId]
      const parts = [
        `WorkflowType = '${runExecutionName}'`,
        `ExecutionStatus != 'ContinuedAsNew'`,
        `${searchAttributes.workspace} = ${literal(workspaceId)}`,
        `${name} = ${literal(id)}`,
      ]
      if (status) parts.push(queryOfStatus[status])
      const query = parts.join(' AND ')
      const page = await listPage(query, size, token ? Buffer.from(token, 'base64') : null)
      const next = page.nextPageToken
      const more =
        next.length > 0 && (page.executions.length < size || (await hasMore(query, next)))
      return {
        executions: page.executions.map(toExecution),
        nextPageToken: more ? Buffer.from(next).toString('base64') : null,
      }
    },

    async held(executionIds) {
      if (executionIds.length === 0) return new Set()
      const query = `WorkflowId IN (${executionIds.map(literal).join(', ')})`
      const page = await listPage(query, executionIds.length * 2, null)
      return new Set(page.executions.flatMap((info) => info.execution?.workflowId ?? []))
    },

    async check() {
      await call(() => service.getSystemInfo({}))
    },
  }
}

const GRPC_INVALID_ARGUMENT = 3
const GRPC_NOT_FOUND = 5

/** Temporal answered, and said no: trying again would not help. */
function isRefusal(err: unknown): boolean {
  return (
    isGrpcServiceError(err) && (err.code === GRPC_NOT_FOUND || err.code === GRPC_INVALID_ARGUMENT)
  )
}

function toExecution(info: Info): TemporalExecution {
  const { WORKFLOW_EXECUTION_STATUS_TERMINATED } = WorkflowExecutionStatus
  const waitPayload = info.searchAttributes?.indexedFields?.[searchAttributes.waitUntil]
  const waitText = waitPayload ? JSON.parse(Buffer.from(waitPayload.data ?? []).toString()) : null
  const waitMs = typeof waitText === 'string' ? Date.parse(waitText) : null
  const memoPayload = info.memo?.fields?.[MEMO_KEY]
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
