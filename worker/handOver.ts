// Hands a row of the outbox to Temporal: starts, signals or cancels an execution, checks a domain, or tells a schedule. A row
// may be handed over twice and takes effect once.
import {
  type Client,
  defaultPayloadConverter,
  isGrpcServiceError,
  WorkflowExecutionAlreadyStartedError,
} from '@temporalio/client'
import {
  defineSearchAttributeKey,
  NamespaceNotFoundError,
  TypedSearchAttributes,
} from '@temporalio/common'
import type { TemporalRow } from '../db/outbox.ts'
import {
  memoKey,
  searchAttributes,
  signals,
  taskQueues,
  toCancelCode,
  workflowTypes,
} from '../rules/wire.ts'
import { tellDomain } from './domains.ts'
import { tellSchedule } from './schedules.ts'
import { startOf } from './starts.ts'
import { turnOf } from './turns.ts'

const workspaceKey = defineSearchAttributeKey(searchAttributes.workspace, 'KEYWORD')
const workflowKey = defineSearchAttributeKey(searchAttributes.workflow, 'KEYWORD')
const contactKey = defineSearchAttributeKey(searchAttributes.contact, 'KEYWORD')
const waitUntilKey = defineSearchAttributeKey(searchAttributes.waitUntil, 'DATETIME')

export interface HandOverDeps {
  client: Client
  namespace: string
}

/**
 * `away`: Temporal could not be asked, or not in time; `ofRow` names an answer that other rows need not get, such as one of a
 * busy execution. `refused`: it answered, with a fault of the row by that name.
 */
export type Handed =
  | { kind: 'done' }
  | { kind: 'away'; ofRow: string | null; err: unknown }
  | { kind: 'refused'; refusal: string; err: unknown }

/** @param within_ms how long Temporal may take to answer */
export async function handOver(
  deps: HandOverDeps,
  row: TemporalRow,
  within_ms: number,
): Promise<Handed> {
  // The client tries again inside of a call and may return after its deadline, when the lease of the row has ended.
  let timer: NodeJS.Timeout | undefined
  const over = new Promise<Handed>((resolve) => {
    const err = new Error(`Temporal did not answer within ${within_ms} ms`)
    const handed = { kind: 'away', ofRow: 'DEADLINE_EXCEEDED', err } as const
    timer = setTimeout(() => resolve(handed), within_ms)
  })
  const call = deps.client
    .withDeadline(Date.now() + within_ms, () => tell(deps, row))
    .then((): Handed => ({ kind: 'done' }))
    .catch((err: unknown) => whatFailed(err, row))
  try {
    return await Promise.race([call, over])
  } finally {
    clearTimeout(timer)
  }
}

async function tell(deps: HandOverDeps, row: TemporalRow): Promise<void> {
  if (row.kind === 'start') await start(deps, row)
  else if (row.kind === 'signal') await signalEvent(deps, row)
  else if (row.kind === 'cancel') await cancel(deps, row)
  else if (row.kind === 'schedule') await tellSchedule(deps.client, scheduleOf(row))
  else await tellDomain(deps.client, row.kind, domainOf(row))
}

const scheduleOf = ({ workflow_id, workspace_id, payload }: TemporalRow) => ({
  workflowId: workflow_id,
  workspaceId: workspace_id,
  nodeId: String(payload['node_id']),
})

const domainOf = ({ execution_id, workspace_id }: TemporalRow) => ({
  domainId: execution_id,
  workspaceId: workspace_id,
})

async function start({ client }: HandOverDeps, row: TemporalRow): Promise<void> {
  const { input, memo, waitUntil } = startOf(row)
  await client.workflow.start(workflowTypes.runExecution, {
    workflowId: row.execution_id,
    taskQueue: taskQueues.executions,
    args: [input],
    // Whatever Temporal has by that id, ended or not, stays as it is: an execution is never started beside itself.
    workflowIdReusePolicy: 'REJECT_DUPLICATE',
    requestEagerStart: true,
    ...turnOf(row.workspace_id),
    ...(memo ? { memo: { [memoKey]: memo } } : {}),
    typedSearchAttributes: new TypedSearchAttributes([
      { key: workspaceKey, value: row.workspace_id },
      { key: workflowKey, value: row.workflow_id },
      { key: contactKey, value: row.contact_id },
      ...(waitUntil === undefined ? [] : [{ key: waitUntilKey, value: new Date(waitUntil) }]),
    ]),
  })
}

async function signalEvent({ client, namespace }: HandOverDeps, row: TemporalRow): Promise<void> {
  const { segment } = row.payload
  await client.workflowService.signalWorkflowExecution({
    namespace,
    workflowExecution: { workflowId: row.execution_id },
    signalName: signals.eventArrived,
    input: { payloads: [defaultPayloadConverter.toPayload(segment)] },
    // The same id for every try, so the server applies it once.
    requestId: `outbox-${row.id}`,
  })
}

async function cancel({ client, namespace }: HandOverDeps, row: TemporalRow): Promise<void> {
  const workflowExecution = { workflowId: row.execution_id }
  // Rows of earlier releases hold the caller's own text, which must not leave Postgres: only a known code is
  // passed on.
  const code = toCancelCode(row.payload['reason'])
  // A cancel request cannot hold a reason, so a signal with the reason goes first.
  await client.workflowService.signalWorkflowExecution({
    namespace,
    workflowExecution,
    signalName: signals.cancelReason,
    input: { payloads: [defaultPayloadConverter.toPayload(code)] },
    requestId: `outbox-${row.id}`,
  })
  await client.workflowService.requestCancelWorkflowExecution({
    namespace,
    workflowExecution,
    requestId: `outbox-${row.id}`,
  })
}

const NOT_FOUND = 5

/** Answers that every row would get: an operator who mends the connection changes them. */
const OF_ALL = new Set([
  1, // CANCELLED
  7, // PERMISSION_DENIED
  14, // UNAVAILABLE
  16, // UNAUTHENTICATED
])

/** Answers to what the row asks for. Another try changes them only when something else has changed. */
const REFUSALS = new Map([
  [3, 'INVALID_ARGUMENT'],
  [NOT_FOUND, 'NOT_FOUND'],
  [6, 'ALREADY_EXISTS'],
  [9, 'FAILED_PRECONDITION'],
])

/** Answers that are no fault of the row. They may be those of its execution alone, or of all. */
const OTHERS = new Map([
  [2, 'UNKNOWN'],
  [4, 'DEADLINE_EXCEEDED'],
  [8, 'RESOURCE_EXHAUSTED'],
  [10, 'ABORTED'],
  [11, 'OUT_OF_RANGE'],
  [12, 'UNIMPLEMENTED'],
  [13, 'INTERNAL'],
  [15, 'DATA_LOSS'],
])

function whatFailed(err: unknown, row: TemporalRow): Handed {
  if (err instanceof WorkflowExecutionAlreadyStartedError) return { kind: 'done' }
  const ofAll = { kind: 'away', ofRow: null, err } as const
  if (err instanceof NamespaceNotFoundError) return ofAll
  const answer = answerOf(err)
  // The connection broke, or is being closed.
  if (!answer) return ofAll
  if (OF_ALL.has(answer.code) || isNamespaceMissing(answer)) return ofAll
  // The execution has ended: there is nothing to signal or cancel.
  const needsRunning = row.kind === 'signal' || row.kind === 'cancel'
  if (answer.code === NOT_FOUND && needsRunning) return { kind: 'done' }
  const refusal = REFUSALS.get(answer.code)
  if (refusal !== undefined) return { kind: 'refused', refusal, err }
  return { kind: 'away', ofRow: OTHERS.get(answer.code) ?? `CODE_${answer.code}`, err }
}

interface GrpcAnswer {
  code: number
  metadata: { get(key: string): unknown[] }
}

/** The client wraps some of the answers. */
function answerOf(err: unknown): GrpcAnswer | undefined {
  if (isGrpcServiceError(err)) return err
  const cause = err instanceof Error ? err.cause : undefined
  return isGrpcServiceError(cause) ? cause : undefined
}

/** A missing namespace has the code of a missing execution, and differs in the type of its details. */
function isNamespaceMissing({ metadata }: GrpcAnswer): boolean {
  const [details] = metadata.get('grpc-status-details-bin')
  return Buffer.isBuffer(details) && details.includes('NamespaceNotFoundFailure')
}
