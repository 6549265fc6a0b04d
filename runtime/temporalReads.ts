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

interface TemporalPage {
  executions: TemporalExecution[]
  /** base64; null on the last page. A full last page may have one too; the page after it is empty. */
  nextPageToken: string | null
}

type ListBy = { workflowId: string } | { contactId: string }

/**
 * The filter of `list`. Executions that ended by themselves are left out, because their last state is in Postgres.
 */
interface TemporalFilter {
  /** null: running in any state, or ended from outside. */
  status: Exclude<ExecutionStatus, 'COMPLETED'> | null
  /** Executions that were ended from outside before this time are left out: their rows have been closed. */
  endedSince: Date
}

export interface TemporalReads {
  /** undefined when Temporal has no such execution. */
  describe(executionId: string): Promise<TemporalExecution | undefined>
  /** Running ones first, then by close time, newest first. The workspace is part of every query. */
  list(
    workspaceId: string,
    by: ListBy,
    filter: TemporalFilter,
    page: { size: number; token: string | null },
  ): Promise<TemporalPage>
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

const running = `ExecutionStatus = 'Running'`

function statusQuery({ status, endedSince }: TemporalFilter): string {
  const endedAs = (name: string) =>
    `(ExecutionStatus = '${name}' AND CloseTime > '${endedSince.toISOString()}')`
  switch (status) {
    case null:
      return `(${running} OR ${endedAs('Terminated')} OR ${endedAs('TimedOut')})`
    case 'IN_PROGRESS':
      return `${running} AND ${searchAttributes.waitUntil} IS NULL`
    case 'WAITING':
      return `${running} AND ${searchAttributes.waitUntil} IS NOT NULL`
    case 'FAILED':
      return endedAs('TimedOut')
    case 'CANCELLED':
      return endedAs('Terminated')
  }
}

/** Only generated ids may go into a query, because literals of Temporal's queries cannot be escaped reliably. */
function literal(id: string): string {
  if (!/^[a-z]+_[0-9A-Z]{26}$/.test(id)) throw new Error('not an id')
  return `'${id}'`
}

/**
 * Reads executions of one namespace over an open connection, each call with a deadline.
 * Its methods throw `TemporalUnavailable` when Temporal does not answer.
 */
export function createTemporalReads(connection: Connection, namespace: string): TemporalReads {
  const service = connection.workflowService
  const call = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await connection.withDeadline(Date.now() + DEADLINE_MS, work)
    } catch (err) {
      if (isUnknownExecution(err)) throw err
      throw new TemporalUnavailable('Temporal did not answer', { cause: err })
    }
  }

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
        if (isUnknownExecution(err)) return undefined
        throw err
      }
    },

    async list(workspaceId, by, filter, { size, token }) {
      const [name, id] =
        'workflowId' in by
          ? [searchAttributes.workflow, by.workflowId]
          : [searchAttributes.contact, by.contactId]
      const query = [
        `WorkflowType = '${workflowTypes.runExecution}'`,
        `${searchAttributes.workspace} = ${literal(workspaceId)}`,
        `${name} = ${literal(id)}`,
        statusQuery(filter),
      ].join(' AND ')
      const page = await call(() =>
        service.listWorkflowExecutions({
          namespace,
          query,
          pageSize: size,
          ...(token ? { nextPageToken: Buffer.from(token, 'base64') } : {}),
        }),
      )
      const next = page.nextPageToken
      return {
        executions: page.executions.map(toExecution),
        nextPageToken: next.length > 0 ? Buffer.from(next).toString('base64') : null,
      }
    },

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
