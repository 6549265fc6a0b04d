// Runs one segment of an execution: everything between two waits, in one Postgres transaction, once.
import { ApplicationFailure } from '@temporalio/activity'
import { recordAutomationEvent } from '../../commands/events/record.ts'
import { lockContact } from '../../db/contacts/writes.ts'
import { insertEmail } from '../../db/emails/insert.ts'
import {
  findSegment,
  findSegmentState,
  insertSegment,
  type SegmentRow,
} from '../../db/executions/segments.ts'
import { closeExecution } from '../../db/executions/writes.ts'
import type { ActivityDeps } from '../../delivery/deps.ts'
import type { Design } from '../../rules/design/types.ts'
import type { SegmentInput, SegmentResult } from '../../workflows/messages.ts'
import { loadFacts } from './facts.ts'
import { createSegmentMail, loadMailSources } from './mail.ts'
import { walk } from './walk.ts'

type Trx = Parameters<typeof insertSegment>[0]

export function segmentActivities(deps: ActivityDeps) {
  const { db, now, wake } = deps
  return {
    /**
     * Runs a segment, or gives the result of the run that a crash kept from being told.
     * Errors: non-retryable `ExecutionGone` when there is no such execution; anything else is tried again.
     */
    async runSegment(input: SegmentInput): Promise<SegmentResult> {
      const execution = await findSegment<SegmentResult>(db, input.executionId, input.segment)
      if (!execution) throw ApplicationFailure.nonRetryable('no such execution', 'ExecutionGone')
      if (execution.result) return execution.result as SegmentResult
      const design = execution.design as Design
      const sources = await loadMailSources(db, execution.workspace_id, design)
      const done = await db
        .transaction()
        .execute((trx) => runInTransaction(deps, trx, { input, execution, design, sources }))
      if (done.wroteMail) wake('dripline_deliveries')
      if (done.wroteOutbox) wake('dripline_outbox')
      return done.result
    },

    /** Closes the row of an execution that was cancelled; repeating it changes nothing. */
    async closeCancelled(input: { executionId: string; reason: string }): Promise<void> {
      const end = { status: 'CANCELLED', reason: input.reason, error: null } as const
      await closeExecution(db, input.executionId, end, now())
    },
  }
}

interface Run {
  input: SegmentInput
  execution: SegmentRow
  design: Design
  sources: Awaited<ReturnType<typeof loadMailSources>>
}

async function runInTransaction(deps: ActivityDeps, trx: Trx, run: Run) {
  const { input, execution, design, sources } = run
  const contact = await lockContact(trx, execution.contact_id)
  const state = await findSegmentState(trx, execution, input.segment)
  const unchanged = { wroteMail: false, wroteOutbox: false }
  // Another try of this segment was faster, or it was cancelled since.
  if (state.result) return { result: state.result as SegmentResult, ...unchanged }
  const previous = execution.previous as SegmentResult | null
  if (state.ended_status || !contact) {
    const step = previous?.step ?? ''
    const next = { kind: 'end', status: 'CANCELLED', error: null } as const
    return { result: { next, step, step_count: previous?.step_count ?? 0 }, ...unchanged }
  }

  const now = deps.now()
  const facts = await loadFacts(trx, { execution, design, contact, state, now, previous })
  const mail = createSegmentMail(deps, { execution, design, sources, state, now })
  const outcome = await walk(trx, { input, execution, design, state, facts, previous, mail })

  let wroteOutbox = false
  for (const email of mail.planned) {
    await insertEmail(trx, email)
    const recorded = await recordAutomationEvent(
      trx,
      { newId: deps.newId, now },
      {
        workspaceId: execution.workspace_id,
        eventId: null,
        eventName: 'email.sent',
        email: contact.email,
        properties: {
          email_id: email.row.id,
          subject: email.row.subject,
          workflow_id: execution.workflow_id,
          execution_id: execution.id,
          node_id: email.row.node_id,
        },
        at: now,
        contactProperties: null,
        createContact: false,
        chainDepth: execution.chain_depth,
      },
    )
    wroteOutbox ||= recorded?.wroteOutbox ?? false
  }
  if (outcome.properties !== contact.properties) {
    await trx
      .updateTable('contacts')
      .set({ properties: JSON.stringify(outcome.properties), updated_at: now })
      .where('id', '=', contact.id)
      .execute()
  }
  await insertSegment(trx, { ...outcome.writes, now })
  return { result: outcome.result, wroteMail: mail.planned.length > 0, wroteOutbox }
}
