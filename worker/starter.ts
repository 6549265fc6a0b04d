// The starter: hands outbox rows to Temporal, which start, signal or cancel an execution or check a domain. A row
// may be handed over twice and takes effect once.
import { setTimeout as delay } from 'node:timers/promises'
import {
  type Client,
  defaultPayloadConverter,
  isGrpcServiceError,
  WorkflowExecutionAlreadyStartedError,
} from '@temporalio/client'
import { defineSearchAttributeKey, TypedSearchAttributes } from '@temporalio/common'
import { transact } from '../commands/transact.ts'
import type { Db } from '../db/connect.ts'
import { lockOutbox, settleOutbox, type TemporalRow } from '../db/outbox.ts'
import {
  searchAttributes,
  signals,
  taskQueues,
  toCancelCode,
  workflowTypes,
} from '../rules/wire.ts'
import type { Log } from '../runtime/log.ts'
import { createPulse } from '../runtime/pulse.ts'
import type { RunExecutionInput } from '../workflows/messages.ts'
import { tellDomain } from './domains.ts'

const BATCH_MAX = 64
const POLL_MS = 1_000
const RETRY_MS = 2_000
const GRPC_NOT_FOUND = 5

const workspaceKey = defineSearchAttributeKey(searchAttributes.workspace, 'KEYWORD')
const workflowKey = defineSearchAttributeKey(searchAttributes.workflow, 'KEYWORD')
const contactKey = defineSearchAttributeKey(searchAttributes.contact, 'KEYWORD')

export interface StarterDeps {
  db: Db
  client: Client
  namespace: string
  log: Log
  now: () => Date
  /** Listens for committed outbox rows. Returns a function that stops listening. */
  onOutbox: (wake: () => void) => () => Promise<void>
}

/** Starts the loop. `stop` ends it after the running batch. */
export function startStarter(deps: StarterDeps): { stop: () => Promise<void> } {
  const stopping = new AbortController()
  const pulse = createPulse()
  const stopListening = deps.onOutbox(pulse.beat)

  const run = async () => {
    while (!stopping.signal.aborted) {
      try {
        const carried = await carryBatch(deps)
        if (carried < BATCH_MAX) await pulse.next(POLL_MS)
      } catch (err) {
        deps.log.warn({ err }, 'outbox rows could not be handed to Temporal; trying again')
        await delay(POLL_MS, null, { signal: stopping.signal }).catch(() => {})
      }
    }
  }
  const running = run()

  return {
    async stop() {
      stopping.abort()
      pulse.beat()
      await stopListening()
      await running
    },
  }
}

/** Hands over one batch. @returns `BATCH_MAX` if another batch may be due, else 0 */
async function carryBatch(deps: StarterDeps): Promise<number> {
  return transact({ db: deps.db, wake: () => undefined }, async ({ db: trx }) => {
    const rows = await lockOutbox(trx, deps.now(), BATCH_MAX)
    if (rows.length === 0) return 0
    const results = await Promise.all(rows.map((row) => carry(deps, row)))
    const putOff = rows.filter((_, i) => !results[i]).map((row) => row.id)
    const done = rows.filter((_, i) => results[i]).map((row) => row.id)
    await settleOutbox(trx, done, { ids: putOff, until: new Date(deps.now().getTime() + RETRY_MS) })
    // More rows may be due, or may become due now that the rows before them are done: look again at once.
    return done.length > 0 ? BATCH_MAX : 0
  })
}

/** @returns true when the row is done: Temporal took it, or no longer needs it */
async function carry(deps: StarterDeps, row: TemporalRow): Promise<boolean> {
  try {
    if (row.kind === 'start') await start(deps, row)
    else if (row.kind === 'signal') await signalEvent(deps, row)
    else if (row.kind === 'cancel') await cancel(deps, row)
    else await tellDomain(deps.client, row.kind, row.execution_id)
    return true
  } catch (err) {
    if (err instanceof WorkflowExecutionAlreadyStartedError) return true
    // The execution has ended: there is nothing to signal or cancel.
    const needsRunning = row.kind === 'signal' || row.kind === 'cancel'
    if (isGrpcServiceError(err) && err.code === GRPC_NOT_FOUND && needsRunning) return true
    deps.log.warn(
      { err, execution_id: row.execution_id, kind: row.kind, attempts: row.attempts },
      'Temporal did not take an outbox row; trying again',
    )
    return false
  }
}

async function start({ client }: StarterDeps, row: TemporalRow): Promise<void> {
  const input: RunExecutionInput = { executionId: row.execution_id }
  await client.workflow.start(workflowTypes.runExecution, {
    workflowId: row.execution_id,
    taskQueue: taskQueues.executions,
    args: [input],
    workflowIdReusePolicy: 'REJECT_DUPLICATE',
    requestEagerStart: true,
    typedSearchAttributes: new TypedSearchAttributes([
      { key: workspaceKey, value: row.workspace_id },
      { key: workflowKey, value: row.workflow_id },
      { key: contactKey, value: row.contact_id },
    ]),
  })
}

async function signalEvent({ client, namespace }: StarterDeps, row: TemporalRow): Promise<void> {
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

async function cancel({ client, namespace }: StarterDeps, row: TemporalRow): Promise<void> {
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
