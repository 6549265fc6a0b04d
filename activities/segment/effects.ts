// Carries out the effects of nodes, in the transaction of the segment.
import { audienceEvents, changeMembership } from '../../commands/audiences/byNode.ts'
import { recordAutomationEvent, recordContactChange } from '../../commands/events/record.ts'
import { startFromNode } from '../../commands/executions/startFromNode.ts'
import type { InTrx } from '../../commands/transact.ts'
import { unsubscribeByNode } from '../../commands/unsubscribes/byNode.ts'
import { stopMailOfExecutions } from '../../db/deliveries/stop.ts'
import type { SegmentState } from '../../db/executions/segmentState.ts'
import type { SegmentRow } from '../../db/executions/segments.ts'
import { cancelExecutions } from '../../db/executions/writes.ts'
import type { Row } from '../../db/schema.ts'
import type { Design } from '../../rules/design/types.ts'
import type { Effect, EffectResult, End, SegmentFacts } from '../../rules/interpreterTypes.ts'
import { limits } from '../../rules/limits.ts'
import { withEvent } from '../../rules/ownEvents.ts'
import { isRefusal } from '../../rules/refusals.ts'
import type { ActivityDeps } from '../deps.ts'

export interface EffectContext {
  execution: SegmentRow
  design: Design
  contact: Row<'contacts'>
  state: SegmentState
  /** Ids of the audiences that the transaction locked before the contact. */
  lockedAudiences: ReadonlySet<string>
}

type Deps = InTrx<ActivityDeps>

const cancelled = (code: 'cancelled' | 'unsubscribed', text: string): End => ({
  kind: 'end',
  status: 'CANCELLED',
  outcome: null,
  error: null,
  reason: { code, text },
})

/**
 * Makes what a walk carries out effects with. The contact's changed properties are written before each effect, and by `flush`
 * at the end, so that whatever follows from them sees the same as the nodes. What cannot be done is a result, which fails the
 * step.
 */
export function createEffects(deps: Deps, context: EffectContext) {
  const { contact, execution } = context
  let written = contact.properties

  async function flush({ contact: { properties }, depth }: SegmentFacts): Promise<void> {
    await recordContactChange(deps, contact.workspace_id, {
      contactId: contact.id,
      email: contact.email,
      firstSeen: contact.first_seen,
      before: written,
      after: properties,
      depth: depth + 1,
      byExecution: execution.id,
    })
    written = properties
  }

  return {
    flush,
    async perform(effect: Effect, facts: SegmentFacts): Promise<EffectResult> {
      if (facts.depth >= limits.executionChainMax) return { ok: false, why: 'chain_too_deep' }
      await flush(facts)
      return carryOut(deps, context, effect, facts)
    },
  }
}

async function carryOut(
  deps: Deps,
  { execution, design, contact, state, lockedAudiences }: EffectContext,
  effect: Effect,
  facts: SegmentFacts,
): Promise<EffectResult> {
  const { workspace_id: workspaceId, id: contactId, email } = contact
  switch (effect.kind) {
    case 'send_event': {
      const { eventName, properties } = effect
      const recorded = await recordAutomationEvent(deps, workspaceId, {
        eventId: null,
        eventName,
        email,
        properties,
        at: deps.now(),
        contactProperties: null,
        createContact: false,
        chainDepth: facts.depth,
        byExecution: execution.id,
      })
      if (!recorded || isRefusal(recorded)) return { ok: false, why: 'the event was refused' }
      return { ok: true, why: eventName, facts: withEvent(facts, eventName) }
    }
    case 'start_workflow': {
      const { workflowId, properties } = effect
      const start = { workflowId, contactId, email, properties, depth: facts.depth + 1 }
      return { ok: true, why: await startFromNode(deps, workspaceId, start) }
    }
    case 'cancel_workflow':
      return cancelOthers(deps, execution, effect)
    case 'unsubscribe': {
      const cancels = design.settings?.on_unsubscribe !== 'skip_sends'
      const { scope } = effect
      await unsubscribeByNode(deps, workspaceId, {
        scope,
        workflowId: execution.workflow_id,
        contactId,
        email,
        executionId: execution.id,
        lockedAudiences,
      })
      state.unsubscribed = true
      if (!cancels) return { ok: true, why: scope }
      return { ok: true, why: scope, end: cancelled('unsubscribed', 'unsubscribed') }
    }
    case 'join_audience':
    case 'leave_audience':
      return joinOrLeave(deps, execution, email, effect, facts)
    default:
      return effect satisfies never
  }
}

async function joinOrLeave(
  deps: Deps,
  { id: byExecution, workspace_id }: SegmentRow,
  email: string,
  { kind, audienceId }: Extract<Effect, { kind: 'join_audience' | 'leave_audience' }>,
  facts: SegmentFacts,
): Promise<EffectResult> {
  const change = kind === 'join_audience' ? 'join' : 'leave'
  const membership = { change, audienceId, email, chainDepth: facts.depth, byExecution } as const
  const found = await changeMembership(deps, workspace_id, membership)
  if (found === 'unknown_audience') return { ok: false, why: found }
  const others = facts.audiences.filter((id) => id !== audienceId)
  const audiences = change === 'join' ? [...others, audienceId] : others
  const after = { ...facts, audiences }
  if (found === 'unchanged') return { ok: true, why: found, facts: after }
  return { ok: true, why: null, facts: withEvent(after, audienceEvents[change]) }
}

async function cancelOthers(
  { db: trx, now, wake }: Deps,
  { id, workspace_id, workflow_id, contact_id }: SegmentRow,
  { workflowId, reason }: Extract<Effect, { kind: 'cancel_workflow' }>,
): Promise<EffectResult> {
  const why = { code: 'cancelled', reason: reason ?? 'cancelled' } as const
  const where = { workflowId, contactId: contact_id, butId: id }
  const ids = await cancelExecutions(trx, workspace_id, where, why, now())
  if (ids.length > 0) wake('dripline_outbox')
  await stopMailOfExecutions(trx, workspace_id, ids, now())
  if (workflowId !== workflow_id) return { ok: true, why: `${ids.length} cancelled` }
  return { ok: true, why: `${ids.length + 1} cancelled`, end: cancelled('cancelled', why.reason) }
}
