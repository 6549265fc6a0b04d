// Starts an execution by hand, in one commit, as if the trigger had fired for the contact.

import { type ExecutionRow, findExecution } from '../../db/executions/reads.ts'
import { insertManualStart } from '../../db/executions/writes.ts'
import { hasLeftWorkflow } from '../../db/opt-outs/reads.ts'
import { findWorkflow, findWorkflowVersion } from '../../db/workflows/reads.ts'
import { triggerByHand } from '../../rules/design/triggers.ts'
import type { Design } from '../../rules/design/types.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { JsonObject } from '../../rules/json.ts'
import type { Reach } from '../../rules/reach.ts'
import { isRefusal, type Refusal, refuse } from '../../rules/refusals.ts'
import type { CommandDeps } from '../deps.ts'
import { recordAutomationEvent } from '../events/record.ts'
import { findEntryRefusal } from '../events/reEntry.ts'
import { transact } from '../transact.ts'
import { findForeignParts } from '../workflows/checkDesign.ts'

export interface StartExecution {
  workflowId: string
  /** In lower case. */
  email: string
  /** Used as the properties of the triggering event. */
  properties: JsonObject
}

/** The event that a manual start records. Like any event it makes a new contact. */
const MANUAL_EVENT = 'workflow.started_manually'

/**
 * Starts at the manual trigger, or at the first trigger if there is no manual one. Its re-entry rule applies, its
 * filter does not.
 */
export async function startExecution(
  deps: Pick<CommandDeps, 'db' | 'newId' | 'now' | 'wake' | 'config' | 'addressMac'>,
  reach: Reach,
  input: StartExecution,
): Promise<
  | ExecutionRow
  | Refusal<
      | 'workflow_not_found'
      | 'workflow_not_active'
      | 'invalid_design'
      | 'contact_unsubscribed'
      | 're_entry_refused'
    >
> {
  const { workspaceId } = reach
  const { workflowId, email, properties } = input
  const workflow = await findWorkflow(deps.db, workspaceId, workflowId)
  if (!workflow) return refuse('workflow_not_found', { id: workflowId })
  const version = workflow.active_version
  const stored = await findWorkflowVersion(deps.db, workspaceId, workflowId, version)
  const { status } = workflow
  if (status !== 'active' || !stored) return refuse('workflow_not_active', { status })
  const foreign = await findForeignParts(deps, reach, stored.design)
  if (foreign.length > 0) return refuse('invalid_design', { problems: foreign })
  const trigger = triggerByHand(stored.design as Design)
  if (!trigger) throw new Error(`active workflow ${workflowId} has no trigger`)

  const at = deps.now()
  return transact({ ...deps, now: () => at }, async (inTrx) => {
    const { db: trx, wake } = inTrx
    const id = inTrx.newId('execution')
    const contactId = await recordStart(inTrx, workspaceId, { id, workflowId, email })
    const hmac = inTrx.addressMac(workspaceId, email)
    if (await hasLeftWorkflow(trx, workspaceId, { workflowId, hmac }))
      return refuse('contact_unsubscribed', {})
    const { re_entry: reEntry, node_id: nodeId } = trigger
    const entry = { workflowId, contactId, now: at, reEntry, properties }
    const refusal = await findEntryRefusal(trx, workspaceId, entry)
    if (refusal) {
      const mode = refusal === 're_entry' ? (reEntry?.mode ?? 'every') : null
      return refuse('re_entry_refused', { nodeId, mode })
    }
    const start = {
      id,
      workflowId,
      contactId,
      version,
      email,
      triggerNodeId: nodeId,
      properties,
      now: at,
    }
    await insertManualStart(trx, workspaceId, start)
    const row = await findExecution(trx, workspaceId, id)
    if (!row) throw new Error('an execution that was started has no row')
    wake('dripline_outbox')
    return row
  })
}

/** Records the start as an event of the contact, and locks the contact. @returns the contact's id */
async function recordStart(
  deps: Parameters<typeof recordAutomationEvent>[0],
  workspaceId: WorkspaceId,
  { id, workflowId, email }: { id: string; workflowId: string; email: string },
): Promise<string> {
  const recorded = await recordAutomationEvent(deps, workspaceId, {
    eventId: null,
    eventName: MANUAL_EVENT,
    email,
    properties: { workflow_id: workflowId, execution_id: id },
    at: deps.now(),
    contactProperties: null,
    createContact: true,
  })
  if (!recorded || isRefusal(recorded)) throw new Error('a contact that may be made was not made')
  return recorded.contactId
}
