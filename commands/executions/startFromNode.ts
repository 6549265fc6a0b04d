// Starts a workflow for the contact of an execution, because a node of it says so.
import { insertManualStart } from '../../db/executions/writes.ts'
import { hasLeftWorkflow } from '../../db/opt-outs/reads.ts'
import { findWorkflow, findWorkflowVersion } from '../../db/workflows/reads.ts'
import { triggerByHand } from '../../rules/design/triggers.ts'
import type { Design } from '../../rules/design/types.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { JsonObject } from '../../rules/json.ts'
import type { CommandDeps } from '../deps.ts'
import { findEntryRefusal } from '../events/reEntry.ts'
import type { InTrx } from '../transact.ts'

export interface StartFromNode {
  workflowId: string
  contactId: string
  /** In lower case. */
  email: string
  /** Used as the properties of the triggering event. */
  properties: JsonObject
  /** How many effects of executions have led to it. */
  depth: number
}

/**
 * Starts at the manual trigger, or at the first one. Its re-entry rule applies, its filter does not. The caller holds the contact's
 * lock.
 * @returns why it was not started; null if it was
 */
export async function startFromNode(
  {
    db: trx,
    newId,
    now,
    wake,
    addressMac,
  }: InTrx<Pick<CommandDeps, 'db' | 'newId' | 'now' | 'wake' | 'addressMac'>>,
  workspaceId: WorkspaceId,
  { workflowId, contactId, email, properties, depth }: StartFromNode,
): Promise<string | null> {
  const workflow = await findWorkflow(trx, workspaceId, workflowId)
  if (!workflow) return 'there is no such workflow'
  const version = workflow.active_version
  const stored = await findWorkflowVersion(trx, workspaceId, workflowId, version)
  if (workflow.status !== 'active' || !stored) return 'the workflow is not active'
  const trigger = triggerByHand(stored.design as Design)
  if (!trigger) return 'the workflow has no trigger'
  const hmac = addressMac(workspaceId, email)
  if (await hasLeftWorkflow(trx, workspaceId, { workflowId, hmac })) return 'unsubscribed'
  const at = now()
  const entry = { contactId, workflowId, now: at, reEntry: trigger.re_entry, properties }
  const refusal = await findEntryRefusal(trx, workspaceId, entry)
  if (refusal === 're_entry') return 're_entry_refused'
  if (refusal) return 'entered too often within an hour'
  await insertManualStart(trx, workspaceId, {
    id: newId('execution'),
    workflowId,
    contactId,
    version,
    email,
    triggerNodeId: trigger.node_id,
    properties,
    depth,
    now: at,
  })
  wake('dripline_outbox')
  return null
}
