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
import { listWithoutSegment } from '../db/executions/reads.ts'
import {
  listOutboxLines,
  lockOutbox,
  type OutboxLine,
  settleOutbox,
  type TemporalRow,
} from '../db/outbox.ts'
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
import { createStartWindow, type StartWindow } from './startWindow.ts'

const BATCH_MAX = 64
const POLL_MS = 1_000
/** The first wait for executions to begin, before more of their workspace are started; each further one is longer. */
const SOON_MS = 25
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
  /** Executions of a workspace that are started and have not begun; the usual number when absent. */
  startsAheadMax?: number
  /** Listens for committed outbox rows. Returns a function that stops listening. */
  onOutbox: (wake: () => void) => () => Promise<void>
}

/** Starts the loop. `stop` ends it after the running batch. */
export function startStarter(deps: StarterDeps): { stop: () => Promise<void> } {
  const stopping = new AbortController()
  const pulse = createPulse()
  const stopListening = deps.onOutbox(pulse.beat)
  const window = createStartWindow(
    (workspaceId, ids) => listWithoutSegment(deps.db, workspaceId, ids),
    deps.startsAheadMax === undefined ? {} : { size: deps.startsAheadMax },
  )

  const run = async () => {
    let soon_ms = SOON_MS
    while (!stopping.signal.aborted) {
      try {
        const { carried, isHeldBack } = await carryRound(deps, window, stopping.signal)
        // More rows may be due, or may become due now that the rows before them are done: look again at once.
        if (carried > 0) {
          soon_ms = SOON_MS
          continue
        }
        await pulse.next(isHeldBack ? soon_ms : POLL_MS)
        soon_ms = Math.min(soon_ms * 2, POLL_MS)
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

/**
 * Hands over some rows of every line that has due ones.
 * @returns how many rows are done; `isHeldBack` when starts wait because those before them have not begun
 */
async function carryRound(
  deps: StarterDeps,
  window: StartWindow,
  stop: AbortSignal,
): Promise<{ carried: number; isHeldBack: boolean }> {
  let carried = 0
  let isHeldBack = false
  let after: OutboxLine | null = null
  const freeFor = window.round()
  do {
    const page: Awaited<ReturnType<typeof listOutboxLines>> = await listOutboxLines(
      deps.db,
      after,
      deps.now(),
    )
    for (let first = 0; first < page.due.length && !stop.aborted; first += BATCH_MAX) {
      const lines = page.due.slice(first, first + BATCH_MAX)
      const each = Math.floor(BATCH_MAX / lines.length)
      const taken: (OutboxLine & { most: number })[] = []
      for (const line of lines) {
        const isStart = line.starts_of !== ''
        const free = isStart ? await freeFor(line.workspace_id, line.starts_of) : each
        if (free > 0) taken.push({ ...line, most: Math.min(each, free) })
        else isHeldBack = true
      }
      if (taken.length > 0) carried += await carryBatch(deps, taken, window)
    }
    after = page.next
  } while (after !== null && !stop.aborted)
  return { carried, isHeldBack }
}

/** Hands over one batch. @returns how many rows are done */
async function carryBatch(
  deps: StarterDeps,
  lines: readonly (OutboxLine & { most: number })[],
  window: StartWindow,
): Promise<number> {
  return transact({ db: deps.db, wake: () => undefined }, async ({ db: trx }) => {
    const rows = await lockOutbox(trx, lines, deps.now())
    if (rows.length === 0) return 0
    const results = await Promise.all(rows.map((row) => carry(deps, row)))
    const done = rows.filter((_, i) => results[i])
    const putOff = rows.filter((_, i) => !results[i]).map((row) => row.id)
    for (const row of done) {
      if (row.kind === 'start') window.add(row.workspace_id, row.workflow_id, row.execution_id)
    }
    const until = new Date(deps.now().getTime() + RETRY_MS)
    const doneIds = done.map((row) => row.id)
    await settleOutbox(trx, doneIds, { ids: putOff, until })
    return done.length
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
